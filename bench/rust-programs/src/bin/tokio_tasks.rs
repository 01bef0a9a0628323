//! `tokio` on two worker threads: tasks, channels, a lock, a notification.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify, mpsc, oneshot};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let count = Arc::new(Mutex::new(0));
    let notify = Arc::new(Notify::new());
    let (sender, mut receiver) = mpsc::channel(1);
    let (answer, answered) = oneshot::channel();
    let tasks: Vec<_> = (0..2)
        .map(|number| {
            let (count, notify, sender) = (count.clone(), notify.clone(), sender.clone());
            tokio::spawn(async move {
                *count.lock().await += 1;
                sender.send(Box::new(number)).await.unwrap();
                notify.notify_one();
            })
        })
        .collect();
    drop(sender);
    tokio::spawn(async move { answer.send(Box::new(5)).unwrap() });
    let mut sum = 0;
    while let Some(number) = receiver.recv().await {
        sum += *number;
    }
    notify.notified().await;
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!((sum, *count.lock().await, *answered.await.unwrap()), (1, 2, 5));
}
