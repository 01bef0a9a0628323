//! Names of memory and values by type, from debug information.

use crate::workshop::{Workshop, stdout};

const MEMBERS: &str = r#"
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
enum class Mode { Idle, Busy };
struct Stats { long executed; double load; unsigned bits : 3; unsigned more : 5; };
template <class T> struct Base { T inherited; };
struct Node { Node *next; int value; };
struct Pool : Base<short> {
    std::mutex guard;
    Stats stats_;
    Mode mode;
    bool ready;
    char tag;
    union { int whole; float part; };
    static int instances;
};
int Pool::instances;
namespace app { Pool pool; }
Node arr[5];
int grid[3][4];
std::array<Node, 4> fixed;
std::atomic<int> count;
namespace app { thread_local Stats mine; }
static thread_local int depth;
static Stats *of_main;
static std::atomic<int *> lent;
static std::atomic<bool> done;
static void lend() {
    depth = 5;
    lent = &depth;
    while (!done) std::this_thread::yield();
}
static void worker(Node *node, Stats *local, std::mutex *own, Pool *shared) {
    app::pool.stats_.executed++;
    app::pool.stats_.load += 1.5;
    app::pool.stats_.bits = 2;
    app::pool.mode = Mode::Busy;
    app::pool.ready = true;
    app::pool.tag = 'x';
    app::pool.part = 2.5f;
    app::pool.inherited = 3;
    Pool::instances++;
    arr[3].next = &arr[2];
    grid[1][2]++;
    fixed[2].value++;
    count++;
    node->value++;
    local->executed++;
    { std::lock_guard<std::mutex> hold(*own); }
    { std::lock_guard<std::mutex> hold(app::pool.guard); }
    shared->stats_.executed++;
    of_main->load++;
}
int main() {
    of_main = &app::mine;
    Node *node = new Node{nullptr, 1};
    Stats local{};
    std::mutex own;
    auto shared = std::make_shared<Pool>();
    std::thread a(worker, node, &local, &own, shared.get());
    std::thread b(worker, node, &local, &own, shared.get());
    a.join();
    b.join();
    delete node;
    std::thread lender(lend);
    while (!lent) std::this_thread::yield();
    (*lent)++;
    done = true;
    lender.join();
    return 0;
}
"#;

/// Every part of a C++ object has the name that the source has for it.
fn members(compiler: &str, flags: &[&str]) {
    let w = Workshop::new();
    w.write("a.cpp", MEMBERS);
    let compiler = format!("--foretell-compiler={compiler}");
    let mut command = vec!["c++", &compiler, "a.cpp", "-pthread", "-o", "a"];
    command.extend(flags);
    w.expect(0, &command);
    w.expect(0, &["record", "-o", "a.std", "--", "./a"]);
    let trace = w.trace("a.std");
    for name in [
        "w(app::pool.stats_.executed=",
        "w(app::pool.stats_.load=",
        "w(app::pool.stats_.{bits/more}=",
        "w(app::pool.mode=",
        "w(app::pool.tag=",
        "w(app::pool.{whole/part}=",
        "w(app::pool.inherited=",
        "w(Pool::instances=",
        "w(arr[3].next=",
        "w(grid[1][2]=",
        "w(fixed[2].value=",
        "au(count=",
        "w(Node@a.cpp:59#1.value=",
        "w(main::local.executed=",
        "acq(main::own)",
        "acq(app::pool.guard)",
        "w(Pool@a.cpp:62#1.stats_.executed=",
        "w(app::mine@T0.load=",
        "w(depth@T3=",
    ] {
        assert!(trace.contains(name), "{compiler} {flags:?}: {name} in {trace}");
    }
}

#[test]
fn members_have_their_names_with_gcc() {
    members("gcc", &["-O0", "-gdwarf-5"]);
    members("gcc", &["-O1", "-gdwarf-4"]);
}

#[test]
fn members_have_their_names_with_clang() {
    members("clang", &["-O0", "-gdwarf-4"]);
    members("clang", &["-O1", "-gdwarf-5"]);
}

/// Values are written by type, `free` is called by its name, and a program without debug
/// information has offsets.
#[test]
fn values_are_written_by_type() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\n#include <stdlib.h>\nenum state { IDLE, BUSY };\n\
         struct item { char tag; float load; enum state state; unsigned mask; struct item *next; };\n\
         struct item item;\nstatic struct item *block;\n\
         static void *f(void *a) {\n    item.tag = 'q';\n    item.load = 0.5f;\n    item.state = BUSY;\n    \
         item.mask = ~0u;\n    item.next = &item;\n    block->tag = 'z';\n    return a;\n}\n\
         int main(void) {\n    pthread_t t;\n    block = malloc(sizeof *block);\n    \
         pthread_create(&t, 0, f, 0);\n    f(0);\n    free(block);\n    pthread_join(t, 0);\n    \
         return 0;\n}\n",
    );
    w.expect(0, &["cc", "-g", "a.c", "-pthread", "-o", "a"]);
    w.expect(0, &["record", "-o", "a.ft", "--", "./a"]);
    let predict = ["predict", "--analyses", "race", "--full", "a.ft"];
    let found = stdout(&w.expect(1, &predict));
    for text in [
        "w(item.tag='q')",
        "w(item.load=0.5)",
        "w(item.state=BUSY)",
        "w(item.mask=4294967295)",
        "w(item.next=0x",
        "can free `item@a.c:18#1.tag`",
        "T0 frees item@a.c:18#1\n",
    ] {
        assert!(found.contains(text), "{text} in {found}");
    }
    w.expect(0, &["cc", "-g0", "a.c", "-pthread", "-o", "bare"]);
    w.expect(0, &["record", "-o", "bare.std", "--", "./bare"]);
    let trace = w.trace("bare.std");
    assert!(trace.contains("w(item+4=") && !trace.contains("item.load"), "{trace}");
}

/// Two frames that have different variables at one address leave the address without a name.
#[test]
fn a_local_variable_never_has_the_name_of_another() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\nstatic void *f(void *a) { ++*(int *)a; return a; }\n\
         static void run(int *p) { pthread_t t; pthread_create(&t, 0, f, p); ++*p; pthread_join(t, 0); }\n\
         static void one(void) { int first = 0; run(&first); }\n\
         static void two(void) { int second = 0; run(&second); }\n\
         int main(void) { one(); two(); return 0; }\n",
    );
    w.expect(0, &["cc", "-O0", "-g", "a.c", "-pthread", "-o", "a"]);
    w.expect(0, &["record", "-o", "a.std", "--", "./a"]);
    let trace = w.trace("a.std");
    assert!(trace.contains("(stack of T0+"), "{trace}");
    assert!(!trace.contains("first") && !trace.contains("second"), "{trace}");
}

/// An access inside a library's class has the location of the program's call, and says so.
#[test]
fn a_library_is_shown_by_the_nearest_own_frame() {
    let w = Workshop::new();
    w.write(
        "mailbox.cpp",
        "#include <string>\n#include <thread>\nstruct Mailbox {\n    std::string last;\n    \
         void put(char c) {\n        last.push_back(c);\n    }\n};\nstatic Mailbox box;\nint main() {\n    \
         std::thread t([] { box.put('a'); });\n    box.put('b');\n    t.join();\n    return 0;\n}\n",
    );
    w.expect(0, &["c++", "-g", "-O0", "mailbox.cpp", "-pthread", "-o", "mailbox"]);
    w.expect(0, &["record", "-o", "a.ft", "--", "./mailbox"]);
    let predict =
        ["predict", "--analyses", "race", "--sarif", "a.sarif", "--html", "a.html", "a.ft"];
    let found = stdout(&w.expect(1, &predict));
    let frame = "Mailbox::put at mailbox.cpp:6, inside std::string";
    assert!(found.replace("\n    ", " ").contains(frame), "{found}");
    assert!(found.contains("`box.last._M_string_length`"), "{found}");
    assert!(w.trace("a.sarif").contains("inside std::string"));
    assert!(w.trace("a.html").contains("Mailbox::put, inside std::string"));
}

/// A function that was inlined with its hooks enters and leaves at the stack pointer of the
/// function around it, as in optimised libraries of Rust.
const INLINED_HOOKS: &str = r#"
#include <pthread.h>
void __tsan_func_entry(void *);
void __tsan_func_exit(void);
int x;
static void *worker(void *a) { x = 1; return a; }
static void start(pthread_t *t) {
    __tsan_func_entry(__builtin_return_address(0));
    __tsan_func_exit();
    pthread_create(t, 0, worker, 0);
}
static int report(void) { return x; }
static int both(void) { pthread_t t; start(&t); int r = report(); pthread_join(t, 0); return r; }
int main(void) { return both() * 0; }
"#;

#[test]
fn inlined_hooks_leave_the_callers_on_the_stack() {
    let w = Workshop::new();
    w.write("a.c", INLINED_HOOKS);
    w.expect(0, &["cc", "-g", "-O0", "-w", "a.c", "-o", "a"]);
    w.expect(0, &["record", "-o", "a.ft", "--", "./a"]);
    let text = stdout(&w.expect(1, &["predict", "a.ft", "--analyses", "race"]));
    assert!(
        text.contains("in report at a.c:12, called from both at a.c:13, called from main"),
        "{text}"
    );
}
