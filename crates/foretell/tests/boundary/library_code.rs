//! Objects whose code is partly in libstdc++.so: that part is recorded as code of the program.

use crate::workshop::Program;

/// Makes a test for each object: nothing is found with the mutex, and without it a confirmed race
/// at a line of the program.
macro_rules! objects {
    ($($name:ident: [$($option:literal)*];)*) => {$(
        #[test]
        fn $name() {
            let options = &[$($option),*];
            let program = Program { source: "cpp/library_code.cpp", options };
            program.is_correct();
            program.has_race_at("library_code.cpp");
        }
    )*};
}

objects! {
    string: ["-std=c++17" "-DOBJECT=1"];
    clang_string: ["clang" "-std=c++17" "-DOBJECT=1"];
    string_optimised: ["-std=c++17" "-O1" "-DOBJECT=1"];
    set: ["-std=c++17" "-DOBJECT=2"];
    clang_set: ["clang" "-std=c++17" "-DOBJECT=2"];
    map_of_strings: ["-std=c++17" "-DOBJECT=3"];
    list: ["-std=c++17" "-DOBJECT=4"];
    unordered_map: ["-std=c++17" "-DOBJECT=5"];
    clang_unordered_map: ["clang" "-std=c++17" "-DOBJECT=5"];
    assigned_string: ["-std=c++11" "-DOBJECT=6"];
    erasing: ["-std=c++17" "-DOBJECT=7"];
    wide_string: ["-std=c++17" "-DOBJECT=8"];
    spliced_list: ["-std=c++17" "-DOBJECT=9"];
    shared_ptr: ["-std=c++20" "-DOBJECT=10"];
    string_that_is_read: ["-std=c++17" "-DOBJECT=11"];
}
