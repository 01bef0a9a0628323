//! Two tasks read a number, give way, and write it back: an update is lost.

use std::sync::Arc;
use tokio::runtime::Builder;
use tokio::sync::Mutex;
use tokio::task::yield_now;

async fn add(total: Arc<Mutex<u64>>) {
    let seen = *total.lock().await;
    yield_now().await;
    *total.lock().await = seen + 1;
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
