//! Channels of `crossbeam-channel`: bounded, unbounded, rendezvous, selection, time limits.

use std::{thread, time::Duration};

use crossbeam_channel::{bounded, select, unbounded};

fn main() {
    let (numbers, received) = bounded::<Box<u32>>(1);
    let (texts, read) = unbounded::<String>();
    let (meet, met) = bounded::<Box<u32>>(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..3 {
                numbers.send(Box::new(number)).unwrap();
            }
            drop(numbers);
        });
        scope.spawn(|| {
            texts.send("a".to_owned()).unwrap();
            meet.send(Box::new(7)).unwrap();
            drop(texts);
        });
        let (mut sum, mut length) = (0, 0);
        for _ in 0..4 {
            select! {
                recv(received) -> number => sum += *number.unwrap(),
                recv(read) -> text => length += text.unwrap().len(),
            }
            if sum == 3 && length == 1 {
                break;
            }
        }
        assert_eq!(*met.recv_timeout(Duration::from_secs(100)).unwrap(), 7);
        assert!(received.iter().map(|number| *number).sum::<u32>() + sum == 3);
    });
}
