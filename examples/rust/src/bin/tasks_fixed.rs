//! `tasks` with the lock held over the whole update.

use std::sync::Arc;
use tokio::runtime::Builder;
use tokio::sync::Mutex;
use tokio::task::yield_now;

async fn add(total: Arc<Mutex<u64>>) {
    let mut total = total.lock().await;
    yield_now().await;
    *total += 1;
}

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let total = Arc::new(Mutex::new(0));
        let tasks = [(); 2].map(|()| tokio::spawn(add(Arc::clone(&total))));
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*total.lock().await, 2);
    });
}
