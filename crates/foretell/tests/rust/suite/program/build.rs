//! Compiles C, and sees the sanitizer as with the compiler's own flag.

fn main() {
    assert_eq!(std::env::var("CARGO_CFG_SANITIZE").as_deref(), Ok("thread"));
    cc::Build::new().file("c/count.c").compile("count");
}
