//! A connection between two threads.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
fn main() {
    let l = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = l.local_addr().unwrap();
    let t = thread::spawn(move || {
        let (mut s, _) = l.accept().unwrap();
        let mut b = [0; 5];
        s.read_exact(&mut b).unwrap();
        s.write_all(&b).unwrap();
        b
    });
    let mut s = TcpStream::connect(a).unwrap();
    s.write_all(b"hello").unwrap();
    let mut v = Vec::new();
    s.read_to_end(&mut v).unwrap();
    assert_eq!(v, t.join().unwrap());
}
