//! The drivers in place of the compilers: projects of cmake and autotools, libraries loaded at run
//! time.

use std::fs;

use crate::workshop::{Workshop, stdout};

const MAIN: &str = "#include <pthread.h>\n#include <stdio.h>\n#include \"config.h\"\nint part(int);\nint total;\n\
    static void *work(void *a) { total = part(1); return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0);\n\
    printf(\"%d %d %d\\n\", total, HAVE_NANOSLEEP, HAVE_STRANGE); return 0; }\n";

/// Records the program and looks for the events of its second thread.
fn records(w: &Workshop, program: &str) {
    let output = w.expect(0, &["record", "-o", "run.std", "--", program]);
    assert_eq!(stdout(&output), "2 1 0\n");
    let trace = w.trace("run.std");
    assert!(trace.contains("T1|w(total=2)|main.c:6|work\n"), "{trace}");
}

/// Feature checks, a static and a shared library, C linked by C++, response files.
#[test]
fn cmake_builds_with_the_drivers() {
    for generator_options in
        ["", "-DCMAKE_NINJA_FORCE_RESPONSE_FILE=1 -DCMAKE_C_USE_RESPONSE_FILE_FOR_OBJECTS=1"]
    {
        let w = Workshop::new();
        w.write(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.13)\nproject(sample C CXX)\n\
             find_package(Threads REQUIRED)\ninclude(CheckFunctionExists)\n\
             include(CheckCSourceCompiles)\ncheck_function_exists(nanosleep HAVE_NANOSLEEP)\n\
             check_function_exists(strange_function HAVE_STRANGE)\n\
             check_c_source_compiles(\"#error no\nint main(void) { return 0; }\" BROKEN)\n\
             if(BROKEN)\n message(FATAL_ERROR \"a check that must fail\")\nendif()\n\
             configure_file(config.h.in config.h)\ninclude_directories(${CMAKE_BINARY_DIR})\n\
             add_library(other SHARED other.cpp)\nadd_library(part STATIC part.c)\n\
             add_executable(program main.c)\n\
             target_link_libraries(program part other Threads::Threads)\n",
        );
        w.write("config.h.in", "#cmakedefine01 HAVE_NANOSLEEP\n#cmakedefine01 HAVE_STRANGE\n");
        w.write("main.c", MAIN);
        w.write("part.c", "int other(int);\nint part(int x) { return other(x) + 1; }\n");
        w.write(
            "other.cpp",
            "#include <vector>\nextern \"C\" int other(int x) { std::vector<int> v(3, x); return v[2]; }\n",
        );
        w.script(&format!("cmake -S . -B build {generator_options} && make -C build"));
        records(&w, "build/program");
    }
}

/// A project built through configure and automake.
#[test]
fn autotools_build_with_the_drivers() {
    let w = Workshop::new();
    w.write(
        "configure.ac",
        "AC_INIT([sample], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_CONFIG_HEADERS([config.h])\n\
         AC_PROG_CC\nAC_PROG_RANLIB\nAM_PROG_AR\nAC_SEARCH_LIBS([pthread_create], [pthread])\n\
         AC_CHECK_FUNC([nanosleep], [have=1], [have=0])\n\
         AC_DEFINE_UNQUOTED([HAVE_NANOSLEEP], [$have], [sleeps])\n\
         AC_CHECK_FUNC([strange_function], [have=1], [have=0])\n\
         AC_DEFINE_UNQUOTED([HAVE_STRANGE], [$have], [strange])\n\
         AC_CHECK_SIZEOF([long])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
    );
    w.write(
        "Makefile.am",
        "noinst_LIBRARIES = libpart.a\nlibpart_a_SOURCES = part.c\nbin_PROGRAMS = program\n\
         program_SOURCES = main.c\nprogram_LDADD = libpart.a\n",
    );
    w.write("main.c", MAIN);
    w.write("part.c", "int part(int x) { return x + 1; }\n");
    // The flags of the user are kept; without any, configure would use -O2.
    w.script("autoreconf -i 2>autoreconf.log && ./configure CFLAGS='-O0 -g' && make");
    let config = fs::read_to_string(w.path("config.h")).expect("what configure found");
    assert!(config.contains("#define SIZEOF_LONG 8"), "{config}");
    let makefile = fs::read_to_string(w.path("Makefile")).expect("a makefile");
    assert!(makefile.contains("CFLAGS = -O0 -g"), "{makefile}");
    records(&w, "./program");
}

/// An instrumented library that is loaded at run time is part of the trace.
#[test]
fn plugin_is_recorded() {
    let w = Workshop::new();
    w.write("plugin.c", "int calls;\nvoid bump(void) {\n  calls++;\n}\n");
    w.write(
        "main.c",
        "#include <dlfcn.h>\n#include <pthread.h>\nstatic void (*bump)(void);\n\
         static void *work(void *a) { bump(); return a; }\n\
         int main(void) { void *l = dlopen(\"./plugin.so\", RTLD_NOW); if (!l) return 3;\n\
         bump = (void (*)(void))dlsym(l, \"bump\"); pthread_t t; pthread_create(&t, 0, work, 0);\n\
         bump(); pthread_join(t, 0); return 0; }\n",
    );
    w.write("objects", "main.o\n-o program\n-ldl");
    w.script("$CC -shared -fPIC plugin.c -o plugin.so && $CC -c main.c && $CC @objects");
    w.expect(0, &["record", "-o", "run.ft", "--", "./program"]);
    let predicted = stdout(&w.expect(1, &["predict", "run.ft"]));
    let places = predicted.contains("race-1: ") && predicted.contains("T1 in bump at plugin.c:3");
    assert!(places, "{predicted}");
}
