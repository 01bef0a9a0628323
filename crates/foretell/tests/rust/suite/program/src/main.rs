//! Threads that call C.

extern "C" {
    fn add();
    fn value() -> i32;
}

fn main() {
    assert_eq!(library::one() + macros::seven!(), 8);
    assert_eq!(std::env::args().nth(1).as_deref(), Some("argument"));
    assert!(cfg!(of_the_user), "RUSTFLAGS are kept");
    let threads = [(); 2].map(|()| std::thread::spawn(|| unsafe { add() }));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{}", unsafe { value() });
}
