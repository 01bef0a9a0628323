//! Random small programs: the checker accepts the recorded order of their traces, and the findings
//! happen in the real program.

use std::fmt::Write as _;

use crate::workshop::Workshop;

/// A generator of numbers that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Returns an expression without side effects.
fn expression(dice: &mut Dice, depth: u32) -> String {
    if depth == 0 || dice.below(4) == 0 {
        return match dice.below(11) {
            0 => format!("{}", dice.below(9) as i64 - 4),
            3 => "((unsigned char *)&x)[1]".to_owned(),
            4 => "*(short *)&y".to_owned(),
            5 => "copy(cell).n".to_owned(),
            6 => format!("(*function)({})", dice.pick(&["a", "x", "2"])),
            1 => format!("g[{} & 3]", dice.pick(&["a", "b", "s"])),
            2 => "p->n".to_owned(),
            _ => dice.pick(&["a", "b", "c", "s", "u", "x", "y", "z", "f", "v", "w[1]"]).to_owned(),
        };
    }
    let (l, r) = (expression(dice, depth - 1), expression(dice, depth - 1));
    match dice.below(14) {
        12 => format!("through(&b, {l})"),
        13 => format!("text({l})"),
        0 => format!("({l} ? {r} : {l})"),
        1 => format!("help({l}, {r})"),
        2 => format!("(char)({l} + {r})"),
        3 => format!("(unsigned){l} / (({r} & 7) + 1u)"),
        4 => format!("({l} << ({r} & 7))"),
        5 => format!("({l} > {r} && {r} != 2)"),
        6 => format!("(int)({l} * 0.5)"),
        _ => format!("({l} {} {r})", dice.pick(&["+", "-", "*", "&", "|", "^", "<", "=="])),
    }
}

fn statement(dice: &mut Dice, depth: u32, out: &mut String) {
    let e = expression(dice, 2);
    // Writing to a string does not fail.
    let _ = match dice.below(if depth == 0 { 6 } else { 13 }) {
        10 => writeln!(
            out,
            "w[{} & 1] = {e}; memcpy(big + 8, w, sizeof w); a += big[9];",
            dice.pick(&["a", "x"])
        ),
        11 => writeln!(out, "{{ struct cell k = cell; k.n += {e}; cell = k; v = k.n; }}"),
        12 => writeln!(
            out,
            "((char *)&x)[{} & 3] = {e}; memset(big, a, sizeof big); b ^= big[50];",
            dice.pick(&["a", "y"])
        ),
        0 => writeln!(out, "a = {e};"),
        1 => writeln!(out, "b += {e};"),
        2 | 3 => {
            let targets = ["x", "y", "z", "f", "s", "c", "u", "p->n", "v", "function"];
            let target = dice.pick(&targets);
            let choice = if target == "function" { " ? first : second" } else { "" };
            writeln!(out, "{target} = {e}{choice};")
        }
        4 => writeln!(out, "g[{e} & 3] = a;"),
        5 => writeln!(out, "atomic_fetch_add(&n, {e});"),
        6 => {
            let _ = writeln!(out, "if ({e}) {{");
            statement(dice, depth - 1, out);
            let _ = writeln!(out, "}} else {{");
            statement(dice, depth - 1, out);
            writeln!(out, "}}")
        }
        7 => {
            let _ = writeln!(out, "for (int i = 0; i < ({e} & 3); i++) {{");
            statement(dice, depth - 1, out);
            writeln!(out, "}}")
        }
        8 => {
            let _ = writeln!(out, "pthread_mutex_lock(&m);");
            let _ = writeln!(out, "x += {e};");
            writeln!(out, "pthread_mutex_unlock(&m);")
        }
        _ => {
            let _ = writeln!(out, "switch ({e}) {{ case 0: case 2:");
            statement(dice, depth - 1, out);
            let _ = writeln!(out, "break; default:");
            statement(dice, depth - 1, out);
            writeln!(out, "}}")
        }
    };
}

fn program(seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = String::from(
        "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n#include <string.h>\nstruct cell { char tag; int n; };\n\
         static int first(int n) { return n + 1; } static int second(int n) { return -n; } int (*function)(int) = first;\n\
         volatile int v; int w[2], big[100];\n\
         int x, y = 1, z = 2; short s = 3; signed char c = -1; unsigned u; _Bool f; int g[4]; atomic_int n;\n\
         struct cell cell, *p = &cell; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static int help(int v, int w) { if (v > w) return v - w; return w; }\n\
         static struct cell copy(struct cell c) { c.n++; return c; }\n\
         static int through(int *p, int n) { *p += n; return *p - 1; }\n\
         static int text(int n) { char s[20]; snprintf(s, sizeof s, \"%d\", n); return s[0]; }\n",
    );
    for thread in ["one", "two"] {
        let _ = writeln!(text, "void *{thread}(void *q) {{ int a = 0, b = 1;");
        for _ in 0..3 {
            statement(&mut dice, 2, &mut text);
        }
        let _ = writeln!(text, "return b > a ? q : 0; }}");
    }
    text.push_str(
        "int main(void) { pthread_t a, b; pthread_create(&a, 0, one, 0); pthread_create(&b, 0, two, 0);\n\
         pthread_join(a, 0); pthread_join(b, 0); return 0; }\n",
    );
    text
}

/// Returns the seeds to run, from `FORETELL_SEEDS=100..200` if that is set.
fn seeds() -> std::ops::Range<u64> {
    let text = std::env::var("FORETELL_SEEDS").unwrap_or_default();
    let range = text.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    range.unwrap_or(0..10)
}

#[test]
fn recorded_orders_are_accepted_and_findings_happen() {
    let mut findings = 0;
    for seed in seeds() {
        let w = Workshop::new();
        let source = program(seed);
        w.write("a.c", &source);
        let compiler = if seed % 2 == 0 { "clang-19" } else { "clang-16" };
        let quantum = if seed % 3 == 0 { "3" } else { "1000" };
        let options =
            ["check", "--symbolic", "--cflag=-w", "--compiler", compiler, "--quantum", quantum];
        let output = ["--replays", "12", "--json", "f.json", "-o", "f.ft", "a.c"];
        let done = w.foretell(&[&options[..], &output].concat());
        let said = format!("{source}\n{}", String::from_utf8_lossy(&done.stderr));
        assert!(matches!(done.status.code(), Some(0 | 1)), "{said}");
        w.accepted("f.ft", &said);
        assert_eq!(crate::workshop::differences(&said), 0, "{said}");
        for finding in w.findings("f.json").iter().filter(|f| !f["replay"].is_null()) {
            assert_ne!(finding["replay"]["verdict"], "departed", "{finding}\n{said}");
            findings += 1;
        }
    }
    assert!(findings > 10, "{findings}");
}
