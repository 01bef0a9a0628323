//! `foretell-cxx`: `foretell c++` as one word, for build systems that take no command of two. Cargo
//! can give no program the name `foretell-c++`; packages and `foretell doctor` add a link of that
//! name.

#[path = "../driver.rs"]
mod driver;

fn main() -> std::process::ExitCode {
    driver::run("c++")
}
