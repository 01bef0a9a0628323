//! The engines, one directory or file each.

pub mod order;
