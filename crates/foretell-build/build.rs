//! Builds the runtime, so that the crate can embed its libraries: a command that was installed by
//! itself records programs. A build of its own, because the runtime is always optimised, and because
//! cargo gives the libraries of a dependency no stable path.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Crates that the runtime is made of.
const CRATES: [&str; 4] =
    ["foretell-rt", "foretell-rt-format", "foretell-ownership", "foretell-varint"];
/// Libraries of the runtime.
const LIBRARIES: [&str; 2] = ["libforetell_rt.a", "libforetell_rt.so"];
/// Settings of the outer build that do not hold for the runtime.
const NOT_INHERITED: [&str; 6] = [
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
];

fn main() {
    if let Err(why) = build() {
        println!("cargo::error=the runtime cannot be built: {why}");
    }
}

fn build() -> Result<(), String> {
    let crates = variable("CARGO_MANIFEST_DIR")?.join("..");
    for name in CRATES {
        println!("cargo::rerun-if-changed={}", crates.join(name).join("src").display());
        println!("cargo::rerun-if-changed={}", crates.join(name).join("Cargo.toml").display());
    }
    println!("cargo::rerun-if-changed={}", crates.join("../Cargo.toml").display());
    let out = variable("OUT_DIR")?;
    let target = out.join("runtime");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.args(["build", "--release", "--quiet", "--config", "profile.release.debug=false"]);
    cargo.arg("--manifest-path").arg(crates.join("foretell-rt/Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    let mut libraries = target.clone();
    if env::var_os("TARGET") != env::var_os("HOST") {
        cargo.arg("--target").arg(variable("TARGET")?);
        libraries.push(variable("TARGET")?);
    }
    NOT_INHERITED.iter().for_each(|name| {
        cargo.env_remove(name);
    });
    let output = cargo.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.trim().replace('\n', " "));
    }
    let mut hasher = DefaultHasher::new();
    for name in LIBRARIES {
        let to = out.join(name);
        let from = libraries.join("release").join(name);
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
        strip(&to);
        fs::read(&to).map_err(|error| format!("{}: {error}", to.display()))?.hash(&mut hasher);
    }
    println!("cargo::rustc-env=FORETELL_RT_HASH={:016x}", hasher.finish());
    Ok(())
}

/// Removes the debug information of the standard library, two thirds of a library. Without a program
/// for that the library is embedded as it is.
fn strip(library: &Path) {
    let _ = Command::new("strip").arg("-g").arg(library).output();
}

fn variable(name: &str) -> Result<PathBuf, String> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("{name} is not set"))
}
