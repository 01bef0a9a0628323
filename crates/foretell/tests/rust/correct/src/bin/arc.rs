//! Counters of `Arc` and `Weak`, in lock scopes too.

use std::sync::{Arc, Mutex, Weak};
use std::thread;
struct Node {
    v: u32,
    parent: Mutex<Weak<Node>>,
    kids: Mutex<Vec<Arc<Node>>>,
}
impl Drop for Node {
    fn drop(&mut self) {
        self.v = 0;
    }
}
fn main() {
    let root = Arc::new(Node { v: 1, parent: Default::default(), kids: Default::default() });
    let hs: Vec<_> = (0..3)
        .map(|i| {
            let r = root.clone();
            thread::spawn(move || {
                let kid = Arc::new(Node {
                    v: i,
                    parent: Mutex::new(Arc::downgrade(&r)),
                    kids: Default::default(),
                });
                r.kids.lock().unwrap().push(kid.clone());
                let up = kid.parent.lock().unwrap().upgrade();
                assert_eq!(up.unwrap().v, 1);
            })
        })
        .collect();
    let w = Arc::downgrade(&root);
    for h in hs {
        h.join().unwrap();
    }
    assert_eq!(root.kids.lock().unwrap().len(), 3);
    drop(root);
    assert!(w.upgrade().is_none());
}
