//! A thread sends into a full channel while it holds the lock that the receiver needs: a deadlock.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (sender, receiver) = sync_channel(1);
    let producer = {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            for job in 0..2 {
                let mut log = log.lock().unwrap();
                log.push(format!("sent {job}"));
                sender.send(job).unwrap();
            }
        })
    };
    let mut sum = 0;
    for _ in 0..2 {
        log.lock().unwrap().push("waiting".to_owned());
        sum += receiver.recv().unwrap();
    }
    producer.join().unwrap();
    assert_eq!(sum, 1);
}
