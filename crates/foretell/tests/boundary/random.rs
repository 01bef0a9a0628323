//! Random programs that hand data over through objects whose code is not recorded. The generator
//! knows which variables have a race; a twin with recorded objects confirms that.

use std::fmt::Write as _;
use std::path::PathBuf;

use foretell_generate::Rng;

use crate::commands::{findings, finish, foretell, sources, succeed, text};

/// Number of objects of each kind.
const OBJECTS: usize = 8;

/// Number of programs of each test, unless `FORETELL_RANDOM_PROGRAMS` says otherwise.
const PROGRAMS: usize = 5;

/// A program: the code of each thread, and whether it has races.
struct Generated {
    text: String,
    races: bool,
}

/// Parts of a program under construction.
struct Builder {
    rng: Rng,
    /// Code of each thread.
    threads: Vec<String>,
    /// Number of objects used so far, by kind: flags, semaphores, counters, queues, stacks.
    used: [usize; 5],
    /// Number of variables that are handed over.
    passed: usize,
}

impl Builder {
    fn new(seed: u64) -> Builder {
        let mut rng = Rng::new(seed);
        let threads = vec![String::new(); rng.between(2, 4)];
        Builder { rng, threads, used: [0; 5], passed: 0 }
    }

    /// Adds a line to a thread.
    fn line(&mut self, thread: usize, line: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.threads[thread], "    {line}");
    }

    /// Returns the number of a new object of this kind, if one is left.
    fn object(&mut self, kind: usize) -> Option<usize> {
        let number = self.used[kind];
        self.used[kind] += 1;
        (number < OBJECTS).then_some(number)
    }

    /// Returns a new variable to hand over.
    fn variable(&mut self) -> String {
        self.passed += 1;
        format!("passed[{}]", (self.passed - 1) % 64)
    }

    /// Returns two different threads.
    fn pair(&mut self) -> (usize, usize) {
        let first = self.rng.below(self.threads.len());
        let second = (first + self.rng.between(1, self.threads.len() - 1)) % self.threads.len();
        (first, second)
    }

    /// Uses the variables of a lock, or of two locks in ascending order.
    fn section(&mut self) {
        let thread = self.rng.below(self.threads.len());
        let outer = self.rng.below(3);
        let inner = self.rng.chance(30).then(|| self.rng.between(outer + 1, 4));
        self.line(thread, &format!("lock({outer});"));
        if let Some(inner) = inner {
            self.line(thread, &format!("lock({inner});"));
            self.line(thread, &format!("guarded[{inner}] += guarded[{outer}];"));
            self.line(thread, &format!("unlock({inner});"));
        }
        let use_of_it = match self.rng.below(3) {
            0 => format!("mine += guarded[{outer}];"),
            1 => format!("guarded[{outer}]++;"),
            _ => format!("if (guarded[{outer}] % 2 == 0) guarded[{outer}] = mine;"),
        };
        self.line(thread, &use_of_it);
        self.line(thread, &format!("unlock({outer});"));
    }

    /// Hands one variable to all later users of a flag.
    fn flag(&mut self) {
        let Some(flag) = self.object(0) else { return };
        let (from, to) = self.pair();
        let variable = self.variable();
        self.line(from, &format!("{variable} = mine + 1;"));
        self.line(from, &format!("set({flag});"));
        for thread in 0..self.threads.len() {
            if thread != from && (thread == to || self.rng.chance(40)) {
                if self.rng.chance(30) {
                    let poll = format!("while (!is_set({flag})) sched_yield();");
                    self.line(thread, &poll);
                } else if self.rng.chance(20) {
                    self.line(thread, &format!("if (is_set({flag})) mine += {variable};"));
                    continue;
                } else {
                    self.line(thread, &format!("await({flag});"));
                }
                self.line(thread, &format!("mine += {variable};"));
            }
        }
    }

    /// Hands one variable over by a semaphore, and perhaps back.
    fn semaphore(&mut self) {
        let Some(semaphore) = self.object(1) else { return };
        let (from, to) = self.pair();
        let variable = self.variable();
        self.line(from, &format!("{variable} = mine + 1;"));
        self.line(from, &format!("up({semaphore});"));
        self.line(to, &format!("down({semaphore});"));
        self.line(to, &format!("{variable} += mine;"));
        if self.rng.chance(50)
            && let Some(back) = self.object(1)
        {
            self.line(to, &format!("up({back});"));
            self.line(from, &format!("down({back});"));
            self.line(from, &format!("mine += {variable};"));
        }
    }

    /// Gathers a variable of every thread in one of them.
    fn counter(&mut self) {
        let Some(counter) = self.object(2) else { return };
        let variables: Vec<String> = (0..self.threads.len()).map(|_| self.variable()).collect();
        for (thread, variable) in variables.iter().enumerate() {
            self.line(thread, &format!("{variable} = mine + {thread};"));
            self.line(thread, &format!("add({counter});"));
        }
        let gatherer = self.rng.below(self.threads.len());
        self.line(gatherer, &format!("reached({counter}, {});", variables.len()));
        for variable in &variables {
            self.line(gatherer, &format!("mine += {variable};"));
        }
    }

    /// Sends blocks through a queue, or through a stack that is polled.
    fn blocks(&mut self) {
        let (from, to) = self.pair();
        let count = self.rng.between(1, 3);
        let (put, get) = if self.rng.chance(60) {
            let Some(queue) = self.object(3) else { return };
            (format!("put({queue}, block);"), format!("int *block = get({queue});"))
        } else {
            let Some(stack) = self.object(4) else { return };
            let poll = "int *block; while (!(block = pop({})))".replace("{}", &stack.to_string());
            (format!("push({stack}, block);"), format!("{poll} sched_yield();"))
        };
        let make = "int *block = malloc(2 * sizeof *block);";
        let fill = "block[0] = mine + i; block[1] = i;";
        let produce = format!("for (int i = 0; i < {count}; i++) {{ {make} {fill} {put} }}");
        self.line(from, &produce);
        let end = if self.rng.chance(50) { "free(block);" } else { "block[1] = 0;" };
        let consume = format!(
            "for (int i = 0; i < {count}; i++) {{ {get} mine += block[0] + block[1]; {end} }}"
        );
        self.line(to, &consume);
    }

    /// Uses a variable in two threads without order.
    fn race(&mut self) {
        let (first, second) = self.pair();
        self.line(first, "racy++;");
        self.line(second, "racy++;");
    }
}

/// Returns the program of a seed.
///
/// Every wait is for something that stands earlier in the order in which the parts are made, so
/// that no program can come to a halt.
fn generate(seed: u64, races: bool) -> Generated {
    let mut builder = Builder::new(seed);
    let parts = builder.rng.between(4, 9);
    for part in 0..parts {
        match builder.rng.below(6) {
            0 => builder.flag(),
            1 => builder.semaphore(),
            2 => builder.counter(),
            3 => builder.blocks(),
            _ => builder.section(),
        }
        if races && part == parts / 2 {
            builder.race();
        }
    }
    let mut text = "#include \"objects.h\"\n#include <pthread.h>\n#include <sched.h>\n\
                    #include <stdio.h>\n#include <stdlib.h>\n\
                    int guarded[5], passed[64], racy;\n"
        .to_owned();
    for (i, code) in builder.threads.iter().enumerate() {
        let _ = writeln!(text, "static void *thread{i}(void *unused) {{\n    int mine = {i};");
        let _ = writeln!(text, "{code}    return mine ? unused : NULL;\n}}");
    }
    let count = builder.threads.len();
    let _ = writeln!(text, "int main(void) {{\n    pthread_t threads[{count}];");
    for i in 0..count {
        let _ = writeln!(text, "    pthread_create(&threads[{i}], NULL, thread{i}, NULL);");
    }
    let _ = writeln!(text, "    for (int i = 0; i < {count}; i++) pthread_join(threads[i], NULL);");
    text += "    puts(\"done\");\n}\n";
    Generated { text, races }
}

/// Answer of a check of a random program.
struct Answer {
    /// Exit status of the check.
    status: Option<i32>,
    /// Variables of the races that were reported, confirmed or not.
    variables: Vec<String>,
    /// Everything that the check printed.
    text: String,
}

/// Objects of the random programs, built once, recorded and hidden.
struct Objects(tempfile::TempDir);

impl Objects {
    fn new() -> Objects {
        let build = Objects(tempfile::tempdir().expect("a directory"));
        let here = sources().join("c");
        let hidden = here.join("objects_hidden.c").display().to_string();
        let object = build.path("hidden.o").display().to_string();
        succeed("gcc", &["-O1", "-c", &hidden, "-o", &object]);
        let recorded = here.join("objects_recorded.c");
        let mut command = foretell();
        command.args(["cc", "-O0", "-g", "-c"]).arg(recorded);
        let built = finish(command.arg("-o").arg(build.path("recorded.o")));
        assert!(built.status.success(), "{}", text(&built));
        build
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Checks a program with objects that are `recorded` or `hidden`; for races only, or for all
    /// findings.
    fn check(&self, program: &str, objects: &str, races_only: bool) -> Answer {
        let source = self.path("random.c");
        std::fs::write(&source, program).expect("it can be written");
        let mut command = foretell();
        command.args(["check", "--runs", "1", "--limit", "10"]);
        if races_only {
            command.args(["--analyses", "race"]);
        }
        command.arg(format!("--cflag=-I{}", sources().join("c").display()));
        command.arg("--json").arg(self.path("findings.json"));
        let output = finish(command.arg(&source).arg(self.path(&format!("{objects}.o"))));
        let variables = findings(&self.path("findings.json"))
            .into_iter()
            .filter(|f| f["kind"] == "race")
            .filter_map(|f| Some(f["objects"].as_array()?.first()?.as_str()?.to_owned()))
            .collect();
        Answer { status: output.status.code(), variables, text: text(&output) }
    }
}

/// Checks programs of seeds from `first` on.
fn check(first: u64, races: bool) {
    let asked = std::env::var("FORETELL_RANDOM_PROGRAMS").ok();
    let count = asked.map_or(PROGRAMS, |n| n.parse().expect("a number of programs"));
    let build = Objects::new();
    for seed in first..first + count as u64 {
        let program = generate(seed, races);
        let recorded = build.check(&program.text, "recorded", program.races);
        let hidden = build.check(&program.text, "hidden", program.races);
        let said =
            |what: &str, more: &str| format!("seed {seed}: {what}\n{}\n{more}", program.text);
        if program.races {
            assert!(
                recorded.variables.iter().any(|v| v == "racy"),
                "{}",
                said("the recorded twin has no race", &recorded.text)
            );
            for variable in recorded.variables.iter().chain(&hidden.variables) {
                assert_eq!(variable, "racy", "{}{}", said("", &recorded.text), hidden.text);
            }
        } else {
            let clean = Some(0);
            assert_eq!(recorded.status, clean, "{}", said("recorded twin", &recorded.text));
            assert_eq!(hidden.status, clean, "{}", said("false alarm", &hidden.text));
            assert!(hidden.variables.is_empty(), "{}", said("unconfirmed race", &hidden.text));
        }
    }
}

/// Makes a test for each range of seeds.
macro_rules! seeds {
    ($($name:ident: $first:literal, $races:literal;)*) => {
        $(#[test]
        fn $name() {
            check($first, $races);
        })*
    };
}

seeds! {
    correct_programs_from_1000: 1000, false;
    correct_programs_from_2000: 2000, false;
    correct_programs_from_3000: 3000, false;
    correct_programs_from_4000: 4000, false;
    programs_with_races_from_5000: 5000, true;
    programs_with_races_from_6000: 6000, true;
}
