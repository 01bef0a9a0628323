//! Output files: replaced as a whole or not at all; pipes and devices are written to.

use std::fs;

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

const RACE: &str = "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x = 1; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }\n";

#[test]
fn full_disk_leaves_the_old_files_whole() {
    let w = Workshop::new();
    w.write("a.c", RACE);
    w.expect(0, &["cc", "a.c", "-o", "a"]);
    // A file system of its own, which the old files and a third fill.
    let script = format!(
        "mkdir -p small && mount -t tmpfs -o size=256k none small || exit 99\n\
         export FORETELL={FORETELL}\n\
         $FORETELL record -q -o small/a.ft -- ./a || exit 98\n\
         cd small\n\
         $FORETELL convert a.ft a.std\n\
         $FORETELL predict a.ft --json a.json --html a.html --sarif a.sarif --svg a.svg >/dev/null\n\
         $FORETELL merge -o m.json a.json\n\
         cat a.ft a.ft.steps a.std a.json a.html a.sarif a.svg m.json | md5sum > ../before\n\
         dd if=/dev/zero of=fill bs=1 count=0 2>/dev/null; cat /dev/zero > fill 2>/dev/null\n\
         $FORETELL record -q -o a.ft -- ../a; echo $?\n\
         $FORETELL convert a.ft a.std; echo $?\n\
         for o in json html sarif svg; do $FORETELL predict a.ft --$o a.$o >/dev/null; echo $?; done\n\
         $FORETELL merge -o m.json a.json; echo $?\n\
         $FORETELL generate mixed -o a.std; echo $?\n\
         cat a.ft a.ft.steps a.std a.json a.html a.sarif a.svg m.json | md5sum > ../after\n\
         ls -A"
    );
    let mut output = w.run("unshare", &["-m", "bash", "-c", &script]);
    if !output.status.success() {
        output = w.run("unshare", &["-rm", "bash", "-c", &script]);
    }
    let (told, warned) = (stdout(&output), stderr(&output));
    let expected = "2\n2\n2\n2\n2\n2\n2\n2\na.ft\na.ft.steps\na.html\na.json\na.sarif\na.std\na.svg\nfill\nm.json\n";
    assert_eq!(told, expected, "{warned}");
    let read = |name: &str| fs::read_to_string(w.path(name)).expect("a sum");
    assert_eq!(read("before"), read("after"), "{warned}");
}

#[test]
fn pipes_and_devices_are_written_to() {
    let w = Workshop::new();
    w.write("a.c", RACE);
    w.expect(0, &["cc", "a.c", "-o", "a"]);
    let text = w.script(&format!("{FORETELL} record -q -o /dev/stdout -- ./a | grep -c 'x='"));
    assert_eq!(text, "2\n");
    w.script(&format!("{FORETELL} record -q -o /dev/stdout -- ./a > redirected"));
    assert!(w.trace("redirected").contains("w(x="));
    let text = w.script(&format!(
        "mkfifo pipe; cat pipe > copy & {FORETELL} record -q -o pipe -- ./a; wait; grep -c 'x=' copy"
    ));
    assert_eq!(text, "2\n");
    assert!(!w.path("pipe.steps").exists());
    w.expect(0, &["record", "-q", "-o", "a.ft", "--", "./a"]);
    let told = stderr(&w.expect(2, &["predict", "a.ft", "--json", "/dev/full"]));
    assert!(told.contains("/dev/full: No space left"), "{told}");
    let told = stderr(&w.expect(2, &["record", "-q", "-o", "/dev/full", "--", "./a"]));
    assert!(told.contains("/dev/full: cannot save the trace: No space left"), "{told}");
    let json = stdout(&w.expect(1, &["predict", "a.ft", "--json", "/dev/stdout"]));
    assert!(json.contains("{\"schema\""), "{json}");
}
