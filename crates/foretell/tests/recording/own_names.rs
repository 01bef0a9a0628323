//! Programs that define functions with the names of interposed ones.

use crate::workshop::{Workshop, stdout};

/// `send`, `read`, `sem_post` and `pthread_cond_signal` of the program's own, and its own `malloc`.
const OWN: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
int sent, posted, x;
int send(const char *text) { sent += strlen(text); return 7; }
int sem_post(int *counter) { return ++*counter; }
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *f(void *a) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return a; }
int helper(void);
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    f(0);
    pthread_join(t, 0);
    sem_post(&posted);
    int seven = send("four");
    printf("%d %d %d %d %d\n", sent, posted, x, seven, helper());
    return 0;
}
"#;

#[test]
fn own_functions_are_linked_and_used() {
    let w = Workshop::new();
    w.write("a.c", OWN);
    // A second one in an archive, which the linker takes for `helper`; a third one that it takes
    // for its name alone.
    w.write("b.c", "int usleep(int n) { return n + 1; }\n");
    w.write("c.c", "int usleep(int);\nint recv(void) { return 3; }\nint helper(void) { return usleep(4) + recv(); }\n");
    for compiler in ["gcc", "clang"] {
        let chosen = format!("--foretell-compiler={compiler}");
        for name in ["b", "c"] {
            let (source, object) = (format!("{name}.c"), format!("{name}.o"));
            w.expect(0, &["cc", &chosen, "-w", "-c", &source, "-o", &object]);
        }
        w.script("rm -f libh.a; ar rcs libh.a b.o c.o");
        let build = ["cc", &chosen, "-w", "-fno-builtin", "a.c", "libh.a", "-pthread", "-o", "a"];
        w.expect(0, &build);
        let output = w.expect(0, &["record", "-o", "a.std", "--", "./a"]);
        assert_eq!(stdout(&output), "4 1 2 7 8\n", "{compiler}");
        let trace = w.trace("a.std");
        assert!(trace.contains("acq(m)") && trace.contains("w(x=2)"), "{trace}");
    }
}
