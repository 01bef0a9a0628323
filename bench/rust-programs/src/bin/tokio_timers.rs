//! `tokio` on two worker threads: timers and time limits.

use std::time::Duration;

use tokio::time::{sleep, timeout};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let slept = tokio::spawn(async {
        sleep(Duration::from_millis(2)).await;
        1
    });
    let late = timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
    assert!(late.is_err());
    let soon = timeout(Duration::from_secs(100), async { 2 }).await;
    assert_eq!(slept.await.unwrap() + soon.unwrap(), 3);
}
