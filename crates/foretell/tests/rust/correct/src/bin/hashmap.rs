//! Hash maps, whose keys are random, and named threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;
fn main() {
    let m: Arc<Mutex<HashMap<String, Vec<u32>>>> = Default::default();
    let hs: Vec<_> = (0..3)
        .map(|i| {
            let m = m.clone();
            thread::Builder::new()
                .name(format!("w{i}"))
                .spawn(move || {
                    let mut own = HashMap::new();
                    for j in 0..20u32 {
                        own.insert(format!("k{}", j % 5), j);
                    }
                    for (k, v) in own {
                        m.lock().unwrap().entry(k).or_default().push(v);
                    }
                })
                .unwrap()
        })
        .collect();
    for h in hs {
        h.join().unwrap();
    }
    println!("{}", m.lock().unwrap().len());
    eprintln!("done {:?}", std::env::var("HOME").is_ok());
}
