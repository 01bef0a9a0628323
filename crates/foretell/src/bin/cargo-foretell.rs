//! `cargo-foretell`: `foretell cargo` as the subcommand `cargo foretell`.

#[path = "../driver.rs"]
mod driver;

fn main() -> std::process::ExitCode {
    driver::run("cargo")
}
