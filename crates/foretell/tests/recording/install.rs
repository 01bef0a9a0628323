//! The command as it is after an installation: alone, with nothing else of Foretell on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

const RACY: &str = "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x = 1; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }\n";

/// Copies the commands into `bin`, and returns the output of a script that has only these on PATH
/// beside the system's, and a home directory of its own.
fn run_installed(w: &Workshop, script: &str) -> Output {
    fs::create_dir_all(w.path("bin")).expect("a directory");
    for path in [FORETELL, env!("CARGO_BIN_EXE_foretell-cc"), env!("CARGO_BIN_EXE_foretell-cxx")] {
        let name = path.rsplit('/').next().expect("a name");
        if !w.path("bin").join(name).exists() {
            fs::copy(path, w.path("bin").join(name)).expect("a copy");
        }
    }
    let mut command = w.command("bash");
    command.args(["-c", &format!("set -e\n{script}")]).env_remove("FORETELL_RT_DIR");
    command.env_remove("XDG_CACHE_HOME").env("HOME", w.path("home"));
    command.env("PATH", format!("{}:/usr/bin:/bin", w.path("bin").display()));
    command.output().expect("it runs")
}

#[test]
fn command_alone_records_c_and_cpp() {
    let w = Workshop::new();
    w.write("a.c", RACY);
    w.write(
        "CMakeLists.txt",
        "project(p C CXX)\nfind_package(Threads REQUIRED)\n\
        add_executable(p a.c b.cpp)\ntarget_link_libraries(p Threads::Threads)\n",
    );
    w.write("b.cpp", "#include <string>\nstd::string s;\n");
    let ran = run_installed(
        &w,
        "foretell cc a.c -o a -pthread\nforetell record -q -o a.ft -- ./a\n\
         gcc -g -fsanitize=thread a.c -o b\nforetell record -q -o b.ft -- ./b\n\
         foretell doctor >doctor.log\n\
         cmake -B build -DCMAKE_C_COMPILER=foretell-cc -DCMAKE_CXX_COMPILER=foretell-c++ >cmake.log\n\
         make -C build >make.log\nforetell record -q -o c.ft -- build/p\n\
         for t in a b c; do ! foretell predict --analyses race $t.ft; done",
    );
    assert!(ran.status.success(), "{}{}", stdout(&ran), stderr(&ran));
    assert_eq!(stdout(&ran).matches("race-1: ").count(), 3, "{}", stdout(&ran));
    // The runtime is unpacked once, for this user only.
    let cache = w.path("home/.cache/foretell");
    assert_eq!(fs::metadata(&cache).expect("a cache").permissions().mode() & 0o777, 0o700);
    let unpacked = fs::read_dir(&cache)
        .expect("a cache")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("rt-"));
    assert_eq!(unpacked.count(), 1);
}

#[test]
fn doctor_tells_what_is_missing_and_what_mends_it() {
    let w = Workshop::new();
    let ran = run_installed(&w, "foretell doctor");
    let said = stdout(&ran);
    assert!(ran.status.success(), "{said}{}", stderr(&ran));
    for line in ["ok      recording C ", "ok      recording C++ ", "ok      runtime "] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(said.contains("compiler drivers  foretell-cc, foretell-cxx, foretell-c++\n"), "{said}");
    let bare = run_installed(&w, "PATH=$PWD/bin; foretell doctor");
    let said = stdout(&bare);
    assert_eq!(bare.status.code(), Some(1), "{said}");
    assert!(said.contains("broken  C compiler        no gcc on PATH\n"), "{said}");
    assert!(said.contains("mend: apt-get install gcc\n"), "{said}");
    assert!(said.contains("absent  Java              no java on PATH\n"), "{said}");
}
