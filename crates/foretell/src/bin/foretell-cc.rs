//! `foretell-cc`: `foretell cc` as one word, for build systems that take no command of two.

#[path = "../driver.rs"]
mod driver;

fn main() -> std::process::ExitCode {
    driver::run("cc")
}
