//! Test suites below their runners: `foretell test`.

use std::fs;

use serde_json::Value;

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

/// A program with a race on `counter`, in a library that all tests use.
const COUNTER: &str = "#include <pthread.h>\nint counter;\n\
    static void *count(void *a) { counter++; return a; }\n\
    void race(void) { pthread_t t; pthread_create(&t, 0, count, 0); counter++; pthread_join(t, 0); }\n";
/// Takes the name of the test; `short` and `long` show the race.
const MAIN: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\nvoid race(void);\n\
    int sum; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static void add(void) { pthread_mutex_lock(&m); sum++; pthread_mutex_unlock(&m); }\n\
    static void *work(void *a) { for (int i = 0; i < 50; i++) add(); return a; }\n\
    int main(int n, char **a) { const char *test = n > 1 ? a[1] : \"short\";\n\
    printf(\"ran %s\\n\", test);\n\
    if (strcmp(test, \"short\")) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); pthread_join(t, 0); }\n\
    if (strcmp(test, \"good\")) race();\nreturn !strcmp(test, \"bad\"); }\n";

fn documents(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map(|d| d.expect("JSON")).collect()
}

fn build(w: &Workshop) {
    w.write("counter.c", COUNTER);
    w.write("main.c", MAIN);
    w.expect(0, &["cc", "-g", "counter.c", "main.c", "-pthread", "-o", "unit"]);
}

#[test]
fn bug_of_several_tests_is_reported_once_and_confirmed() {
    let w = Workshop::new();
    build(&w);
    w.write("run.sh", "./unit long; ./unit good; ./unit short; /bin/true\n");
    let ran = w.expect(
        1,
        &[
            "test",
            "-o",
            "out",
            "--analyses",
            "race",
            "--json",
            "all.json",
            "--junit",
            "all.xml",
            "--sarif",
            "all.sarif",
            "--jobs",
            "2",
            "--",
            "sh",
            "run.sh",
        ],
    );
    let said = stdout(&ran);
    // The runner's own output comes first, unchanged.
    assert!(said.starts_with("ran long\nran good\nran short\n"), "{said}");
    assert_eq!(said.matches("race-1: ").count(), 1, "{said}");
    assert!(said.contains("  tests     unit, unit #3\n"), "{said}");
    assert!(said.contains("3 processes recorded; "), "{said}");
    let rows: Vec<&str> = said.lines().filter(|line| line.starts_with("unit")).collect();
    assert_eq!(rows.len(), 3, "{said}");
    assert!(rows[0].contains("race-1") && rows[1].ends_with(" -"), "{said}");
    let json = documents(&fs::read_to_string(w.path("all.json")).expect("findings"));
    let findings: Vec<&Value> =
        json.iter().flat_map(|d| d["findings"].as_array().expect("findings")).collect();
    assert!(findings.iter().all(|f| f["confirmation"] == "confirmed"), "{findings:?}");
    assert!(findings.iter().all(|f| f["tests"].as_array().is_some_and(|t| t.len() == 2)));
    // It is shown on the smallest trace.
    let events = |d: &Value| d["trace"]["events"].as_u64().expect("a number");
    assert!(json.iter().all(|d| events(d) < 30), "{json:?}");
    let xml = fs::read_to_string(w.path("all.xml")).expect("a report");
    assert!(xml.contains("tests=\"3\" failures=\"2\""), "{xml}");
    let sarif = fs::read_to_string(w.path("all.sarif")).expect("a report");
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), findings.len());
    // The command of the report replays the bug.
    let line = said.lines().find_map(|line| line.strip_prefix("  replay    ")).expect("a command");
    let replayed = w.run("sh", &["-c", &line.replacen("foretell", FORETELL, 1)]);
    assert!(stdout(&replayed).contains(": confirmed: "), "{line}\n{}", stderr(&replayed));
    // With the file as baseline nothing is new.
    let known = w
        .expect(0, &["test", "--analyses", "race", "--baseline", "all.json", "--", "sh", "run.sh"]);
    assert!(stdout(&known).contains("nothing was predicted"), "{}", stdout(&known));
}

#[test]
fn status_of_the_runner_is_kept() {
    let w = Workshop::new();
    build(&w);
    w.expect(0, &["test", "--", "./unit", "good"]);
    // A suite that fails by itself has its own status, whatever is found.
    w.expect(7, &["test", "--", "sh", "-c", "./unit short; exit 7"]);
    let nothing = w.expect(2, &["test", "--", "true"]);
    assert!(stderr(&nothing).contains("nothing was recorded"), "{}", stderr(&nothing));
    let missing = stderr(&w.expect(2, &["test", "--", "./nonexistent"]));
    assert_eq!(missing.lines().count(), 1, "{missing}");
}

#[test]
fn ctest_gives_the_names_of_tests() {
    let w = Workshop::new();
    build(&w);
    let list = format!(
        "add_test(queue.put {0} short)\nadd_test(queue.get {0} long)\nadd_test(map {0} good)\n",
        w.path("unit").display()
    );
    w.write("CTestTestfile.cmake", &list);
    let ran = w.expect(1, &["test", "--analyses", "race", "--", "ctest", "-j2"]);
    let said = stdout(&ran);
    assert!(said.contains("100% tests passed, 0 tests failed out of 3"), "{said}");
    assert!(said.contains("  tests     queue.get, queue.put\n"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("map ") && line.ends_with(" -")), "{said}");
}

#[test]
fn virtual_machines_below_ant_are_recorded() {
    let w = Workshop::new();
    for directory in ["app", "org/junit"] {
        fs::create_dir_all(w.path(directory)).expect("a directory");
    }
    w.write(
        "app/Racy.java",
        "package app;\npublic class Racy { static int x;\n\
         public static void main(String[] a) throws Exception {\n\
         Thread t = new Thread(() -> x = 1); t.start(); x = 2; t.join(); } }\n",
    );
    // Classes of runners are not recorded, and have no steps in a replay either.
    w.write(
        "org/junit/Launcher.java",
        "package org.junit;\npublic class Launcher { static int runs;\n\
         public static void main(String[] a) throws Exception { runs++; app.Racy.main(a); } }\n",
    );
    w.write(
        "build.xml",
        "<project default=\"test\"><target name=\"test\">\
         <javac srcdir=\".\" debug=\"true\" includeantruntime=\"false\"/>\
         <java classname=\"org.junit.Launcher\" classpath=\".\" fork=\"true\" failonerror=\"true\"/>\
         </target></project>",
    );
    let ran = w.expect(1, &["test", "--analyses", "race", "--", "ant", "-q"]);
    let said = stdout(&ran);
    assert!(said.contains("Racy.x` at the same time"), "{said}");
    // Ant itself is not recorded.
    assert!(said.contains("1 process recorded; 1 bug: 1 confirmed"), "{said}");
}

/// The runner calls the tests by reflection, and its classes are excluded: a field of the test and
/// one of an object that the test holds.
#[test]
fn races_below_junit_are_found_and_confirmed() {
    let w = Workshop::new();
    let path = "/usr/share/java/junit4.jar:/usr/share/java/hamcrest.jar:.";
    let test = |name: &str, modifier: &str, limit: &str| {
        format!(
            "import static org.junit.Assert.assertEquals;\nimport org.junit.Test;\n\
             public class {name} {{\n    private int count;\n    \
             private final Counter counter = new Counter();\n    \
             static class Counter {{\n        int n;\n        \
             {modifier} void inc() {{ n++; }}\n    }}\n    \
             {modifier} void add() {{ count++; }}\n    \
             static void two(Runnable first, Runnable second) throws Exception {{\n        \
             Thread a = new Thread(first), b = new Thread(second);\n        \
             a.start(); b.start(); a.join(); b.join();\n    }}\n    \
             @Test public void fieldOfTest() throws Exception {{\n        \
             two(() -> add(), () -> add());\n        assertEquals(2, count);\n    }}\n    \
             @Test{limit} public void object() throws Exception {{\n        \
             two(counter::inc, counter::inc);\n        assertEquals(2, counter.n);\n    }}\n}}\n"
        )
    };
    w.write("RacyTest.java", &test("RacyTest", "", ""));
    w.write("FixedTest.java", &test("FixedTest", "synchronized", "(timeout = 60000)"));
    let built = w.run("javac", &["-g", "-cp", path, "RacyTest.java", "FixedTest.java"]);
    assert!(built.status.success(), "{}", stderr(&built));
    let runner = ["--", "java", "-cp", path, "org.junit.runner.JUnitCore"];
    let racy = [&["test", "--analyses", "race"], &runner[..], &["RacyTest"]].concat();
    let said = stdout(&w.expect(1, &racy));
    assert!(said.contains("OK (2 tests)"), "{said}");
    assert!(said.contains("`RacyTest#1.count`") || said.contains("`RacyTest#2.count`"), "{said}");
    assert!(said.contains("`RacyTest$Counter@RacyTest.java:5#"), "{said}");
    assert!(said.contains("1 process recorded; 2 bugs: 2 confirmed"), "{said}");
    let fixed = [&["test"], &runner[..], &["FixedTest"]].concat();
    let said = stdout(&w.expect(0, &fixed));
    assert!(said.contains("1 process recorded; nothing was predicted"), "{said}");
}

#[test]
fn library_is_recorded_inside_of_a_program_that_is_not_instrumented() {
    let w = Workshop::new();
    w.write("counter.c", COUNTER);
    w.expect(0, &["cc", "-g", "-shared", "-fPIC", "counter.c", "-o", "counter.so", "-pthread"]);
    w.write("test.py", "import ctypes\nctypes.CDLL('./counter.so').race()\n");
    let run = ["test", "--preload", "--unconfirmed", "--analyses", "race", "--replays", "0", "--"];
    let ran = w.expect(1, &[&run[..], &["/usr/bin/python3", "test.py"]].concat());
    let said = stdout(&ran);
    assert!(said.contains("counter.c:3") && said.contains("`counter`"), "{said}");
}

/// A gtest program below a shell is named after its filter, and its bug is replayed: the steps of
/// the C++ library are those of the recorded run.
#[test]
fn gtest_below_a_shell_is_named_and_replayed() {
    let w = Workshop::new();
    w.write(
        "unit.cpp",
        "#include <gtest/gtest.h>\n#include <thread>\nstatic long total;\n\
         TEST(Counter, Sum) {\n    std::thread a([] { total += 2; }), b([] { total += 3; });\n    \
         a.join();\n    b.join();\n    EXPECT_EQ(total, 5);\n}\nTEST(Counter, One) {}\n",
    );
    w.expect(0, &["c++", "-g", "unit.cpp", "-lgtest", "-lgtest_main", "-pthread", "-o", "unit"]);
    let runner = "./unit --gtest_filter=Counter.Sum; ./unit --gtest_filter=Counter.One";
    let test = ["test", "--analyses", "race", "--", "sh", "-c", runner];
    let said = stdout(&w.expect(1, &test));
    assert!(said.contains("[  PASSED  ] 1 test."), "{said}");
    assert!(said.contains("  tests     unit Counter.Sum\n"), "{said}");
    assert!(said.contains("\nunit Counter.One "), "{said}");
    assert!(said.contains("2 processes recorded; 1 bug: 1 confirmed"), "{said}");
}

/// The object of a test is allocated by a template in GoogleTest's headers, which says its type.
#[test]
fn members_of_a_fixture_have_names() {
    let w = Workshop::new();
    w.write(
        "queue_test.cpp",
        "#include <gtest/gtest.h>\n#include <thread>\nnamespace {\n\
         class QueueTest : public ::testing::Test {\nprotected:\n    \
         std::string name = \"queue\";\n    int count = 0;\n};\n\
         TEST_F(QueueTest, Push) {\n    \
         std::thread a([this] { count++; }), b([this] { count++; });\n    \
         a.join();\n    b.join();\n    EXPECT_EQ(count, 2);\n}\n\
         class SizeTest : public QueueTest, public ::testing::WithParamInterface<int> {};\n\
         TEST_P(SizeTest, Grow) {\n    \
         std::thread a([this] { count += GetParam(); });\n    count += 1;\n    a.join();\n}\n\
         INSTANTIATE_TEST_SUITE_P(Sizes, SizeTest, ::testing::Values(1));\n}\n",
    );
    let link = ["-lgtest", "-lgtest_main", "-pthread", "-o", "unit"];
    for optimised in ["-O0", "-O2"] {
        let build = ["c++", "-g", optimised, "queue_test.cpp"];
        w.expect(0, &[&build[..], &link].concat());
        let said = stdout(&w.expect(1, &["test", "--analyses", "race", "--", "./unit"]));
        for name in [
            "`QueueTest_Push_Test@queue_test.cpp:9#1.count`",
            "`SizeTest_Grow_Test@queue_test.cpp:16#1.count`",
        ] {
            assert!(said.contains(name), "{optimised}: {name}: {said}");
        }
        assert!(said.contains("2 bugs: 2 confirmed"), "{optimised}: {said}");
    }
}
