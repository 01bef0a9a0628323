//! `flume`: bounded and unbounded channels.

use std::{thread, time::Duration};

fn main() {
    let (numbers, received) = flume::bounded(1);
    let (texts, read) = flume::unbounded();
    let sender = thread::spawn(move || {
        for number in 0..3 {
            numbers.send(Box::new(number)).unwrap();
        }
        texts.send("a".to_owned()).unwrap();
    });
    let other = received.clone();
    let reader = thread::spawn(move || other.iter().map(|number| *number).sum::<i32>());
    let sum: i32 = received.iter().map(|number| *number).sum();
    assert_eq!(read.recv_timeout(Duration::from_secs(100)).unwrap(), "a");
    sender.join().unwrap();
    assert_eq!(reader.join().unwrap() + sum, 3);
}
