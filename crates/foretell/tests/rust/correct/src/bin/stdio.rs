//! Standard output, files, sleeping.

use std::io::{BufRead, Read, Write};
use std::thread;
fn main() {
    let hs: Vec<_> = (0..3)
        .map(|i| {
            thread::spawn(move || {
                for j in 0..3 {
                    println!("{i} {j}");
                }
                let p = std::env::temp_dir().join(format!("ok-{}-{i}", std::process::id()));
                std::fs::write(&p, b"hello\nworld\n").unwrap();
                let mut s = String::new();
                std::fs::File::open(&p).unwrap().read_to_string(&mut s).unwrap();
                assert_eq!(std::io::BufReader::new(s.as_bytes()).lines().count(), 2);
                std::fs::remove_file(&p).unwrap();
                let mut e = std::io::stderr().lock();
                writeln!(e, "x").unwrap();
            })
        })
        .collect();
    for h in hs {
        h.join().unwrap();
    }
    let now = std::time::Instant::now();
    thread::sleep(std::time::Duration::from_millis(2));
    assert!(now.elapsed().as_millis() >= 2);
}
