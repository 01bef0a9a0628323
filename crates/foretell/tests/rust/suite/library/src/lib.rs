//! A library with tests of every kind.

/// Returns 1 with the feature `one`.
///
/// ```
/// assert!(library::one() < 2);
/// ```
pub fn one() -> u32 {
    u32::from(cfg!(feature = "one"))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    static A: Mutex<u32> = Mutex::new(1);
    static B: Mutex<u32> = Mutex::new(2);

    #[test]
    fn has_one_thread() {
        assert_eq!(super::one(), u32::from(cfg!(feature = "one")));
    }

    #[test]
    #[should_panic(expected = "on purpose")]
    fn panics() {
        panic!("this is on purpose");
    }

    #[test]
    #[ignore = "it fails"]
    fn fails() {
        println!("what it printed");
        panic!("it fails");
    }

    fn sum(first: &Mutex<u32>, second: &Mutex<u32>) -> u32 {
        let (first, second) = (first.lock().unwrap(), second.lock().unwrap());
        *first + *second
    }

    #[test]
    fn inverted_locks() {
        let other = thread::spawn(|| sum(&A, &B));
        assert_eq!(sum(&B, &A), 3);
        assert_eq!(other.join().unwrap(), 3);
    }

    #[test]
    fn inverted_locks_again() {
        let other = thread::spawn(|| sum(&A, &B));
        assert_eq!(sum(&B, &A), 3);
        assert_eq!(other.join().unwrap(), 3);
    }

    #[test]
    fn ordered_locks() {
        let other = thread::spawn(|| sum(&A, &B));
        assert_eq!(sum(&A, &B), 3);
        assert_eq!(other.join().unwrap(), 3);
    }
}
