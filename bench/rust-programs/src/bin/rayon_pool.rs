//! `rayon`: a pool of two threads.

use rayon::prelude::*;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let sum: u64 = pool.install(|| (0..20u64).into_par_iter().map(|number| number * 2).sum());
    assert_eq!(sum, 380);
    let mut numbers: Vec<u32> = (0..16).rev().collect();
    pool.install(|| numbers.par_sort_unstable());
    assert!(numbers.is_sorted());
    let (left, right) = pool.join(|| numbers[0], || numbers[1]);
    assert_eq!(left + right, 1);
}
