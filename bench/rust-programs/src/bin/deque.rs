//! `crossbeam_deque`: an owner and two thieves.

use std::thread;

use crossbeam_deque::{Injector, Steal, Worker};

fn main() {
    let owner = Worker::new_lifo();
    let injector = Injector::new();
    (0..3).for_each(|number| owner.push(Box::new(number)));
    injector.push(Box::new(10));
    let stealers = [owner.stealer(), owner.stealer()];
    let injector = &injector;
    let stolen: i32 = thread::scope(|scope| {
        let thieves = stealers.map(|stealer| {
            scope.spawn(move || {
                let mut sum = 0;
                for _ in 0..2 {
                    if let Steal::Success(number) = stealer.steal() {
                        sum += *number;
                    }
                }
                if let Steal::Success(number) = injector.steal() {
                    sum += *number;
                }
                sum
            })
        });
        let own: i32 = std::iter::from_fn(|| owner.pop()).map(|number| *number).sum();
        thieves.into_iter().map(|thief| thief.join().unwrap()).sum::<i32>() + own
    });
    let rest: i32 = std::iter::from_fn(|| owner.pop()).map(|number| *number).sum();
    let last = injector.steal().success().map_or(0, |number| *number);
    assert_eq!(stolen + rest + last, 13);
}
