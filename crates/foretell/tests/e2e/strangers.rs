//! Files of strangers: nothing of this machine gets into a report, and nothing of the file gets
//! to the terminal or is run.

use super::*;

use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A race whose accesses are at these locations.
fn race_at(first: &str, second: &str) -> String {
    format!(
        "T0|fork(T1)|main.c:1\nT0|fork(T2)|main.c:2\nT1|w(x=1)|{first}|f\nT2|w(x=2)|{second}|g\n"
    )
}

fn run_in(directory: &Path, arguments: &[&str]) -> Ran {
    command(arguments).current_dir(directory).output().expect("the binary starts").into()
}

#[test]
fn source_text_comes_from_below_the_working_directory() {
    let files = Files::new();
    let project = files.path("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    for (name, contents) in [
        ("x.c", "int SECRET_OUTSIDE;\n"),
        ("project/own.c", "int OWN_TEXT;\n"),
        ("project/.git/config", "token = SECRET_HIDDEN\n"),
        ("project/.env", "KEY=SECRET_HIDDEN\n"),
    ] {
        files.add(name, contents);
    }
    symlink("../x.c", project.join("link.c")).unwrap();
    symlink("..", project.join("up")).unwrap();
    let passwd = read(Path::new("/etc/passwd"));
    let secrets = ["SECRET_", "PATH=", passwd.lines().next().expect("a first line")];
    let outside = format!("{}:1", files.path("x.c").display());
    for place in [
        "/etc/passwd:1",
        "/proc/self/environ:1",
        "../x.c:1",
        "x.c:1",
        "up/x.c:1",
        "link.c:1",
        "own.c/../../x.c:1",
        ".git/config:1",
        ".env:1",
        &outside,
    ] {
        fs::write(project.join("t.std"), race_at("own.c:1", place)).unwrap();
        let arguments = ["predict", "t.std", "--html", "t.html", "--sarif", "t.sarif"];
        let ran = run_in(&project, &[&arguments[..], &["--json", "t.json"]].concat());
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        let report = run_in(&project, &["report", "t.json", "--format", "sarif"]);
        let (html, sarif) = (read(&project.join("t.html")), read(&project.join("t.sarif")));
        for output in [&ran.stdout, &ran.stderr, &html, &sarif, &report.stdout] {
            for secret in secrets {
                assert!(!output.contains(secret), "{place}: {output}");
            }
        }
        for output in [&ran.stdout, &html, &sarif] {
            assert!(output.contains("OWN_TEXT"), "{place}");
        }
    }
    // The user may name other directories.
    fs::write(project.join("t.std"), race_at("own.c:1", "x.c:1")).unwrap();
    let ran = run_in(&project, &["predict", "t.std", "--source-root", ".."]);
    assert!(ran.stdout.contains("SECRET_OUTSIDE"), "{}", ran.stdout);
}

#[test]
fn configuration_of_a_stranger_is_not_used() {
    let files = Files::new();
    let trace = files.add("t.std", race_at("a.c:1", "a.c:2"));
    let config = files.add("foretell.toml", "[predict]\nanalyses = [\"deadlock\"]\n");
    let run = || run_in(files.0.path(), &["predict", text(&trace)]);
    let used = run();
    let named = config.canonicalize().unwrap();
    assert_eq!(used.stderr, format!("foretell: options from {}\n", named.display()));
    assert_eq!(used.status, 0);
    fs::set_permissions(&config, fs::Permissions::from_mode(0o666)).unwrap();
    let ran = run();
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("foretell.toml: not used: every user can write"), "{}", ran.stderr);
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    // Only root can make a file another user's.
    if std::os::unix::fs::chown(&config, Some(12345), None).is_ok() {
        let ran = run();
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("not used: it belongs to another user"), "{}", ran.stderr);
        let ran = run_in(files.0.path(), &["predict", "--config", text(&config), text(&trace)]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    }
}

#[test]
fn configuration_that_is_found_may_not_choose_what_is_run_or_written() {
    let files = Files::new();
    let trace = files.add("t.std", race_at("a.c:1", "a.c:2"));
    for option in [
        "[check]\ncompiler = \"./evil\"\n",
        "[check]\ncflag = [\"-fplugin=./evil.so\"]\n",
        "[check]\nstdin = \"/dev/tty\"\n",
        "[check]\noutput = \"victim\"\n",
        "[record]\noutput = \"victim\"\n",
        "[predict]\njson = \"victim\"\n",
        "[predict]\ndump-smt = \"instances\"\nengine = \"z3\"\n",
        "html = \"victim\"\n",
        "sarif = \"victim\"\n",
    ] {
        let config = files.add("foretell.toml", option);
        let line = run_in(files.0.path(), &["predict", text(&trace)]).refused();
        assert!(line.contains("may not choose what is run or written"), "{option}: {line}");
        let named = ["predict", "--config", text(&config), text(&trace)];
        let ran = run_in(files.0.path(), &named);
        assert_eq!(ran.status, 1, "{option}: {}", ran.stderr);
    }
}

#[test]
fn only_regular_files_are_opened() {
    let files = Files::new();
    let pipe = files.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let trace = files.add("t.std", race_at("pipe:1", "a.c:2"));
    for arguments in [
        &["report", text(&pipe)][..],
        &["merge", text(&pipe)],
        &["verify", text(&trace), text(&pipe)],
        &["predict", text(&trace), "--suppressions", text(&pipe)],
        &["predict", text(&trace), "--baseline", text(&pipe)],
        &["predict", text(&trace), "--config", text(&pipe)],
        &["report", "/dev/null"],
    ] {
        let line = foretell(arguments).refused();
        assert!(line.ends_with("not a regular file"), "{arguments:?}: {line}");
    }
    // Source text and the trace that a findings file names.
    let ran = run_in(files.0.path(), &["predict", "t.std", "--json", "t.json"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let json = read(&files.path("t.json"));
    files.add("pipe.json", json.replace("\"t.std\"", "\"pipe\""));
    let ran = run_in(files.0.path(), &["report", "pipe.json"]);
    assert!(ran.stderr.starts_with("pipe: not a regular file (so"), "{}", ran.stderr);
    files.add("passwd.json", json.replace("\"t.std\"", "\"/etc/passwd\""));
    let ran = run_in(files.0.path(), &["report", "passwd.json"]);
    assert!(ran.stderr.starts_with("/etc/passwd: not a trace that can be read"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("root"), "{}", ran.stderr);
    // A trace may come through a pipe.
    let script = format!("cat t.std > pipe & {} stats pipe", env!("CARGO_BIN_EXE_foretell"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(files.0.path()).output();
    assert!(output.unwrap().status.success());
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let files = Files::new();
    let evil = "\u{1b}[2J\u{7}\u{9b}31m\u{7f}\r";
    let clean = |what: &str, ran: &Ran| {
        for output in [&ran.stdout, &ran.stderr] {
            let bad = output.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
            assert_eq!(bad, None, "{what}: {output:?}");
        }
    };
    let name = format!("e{evil}.std");
    let contents = format!(
        "#! meta command={evil}\n#! name T1={evil}x\nT0|fork(T1{evil}y)|{evil}m.c:1\n\
         T0|w(x{evil}z=1)|a{evil}.c:1|f{evil}g\nT1{evil}y|w(x{evil}z=2)|b{evil}.c:2\n"
    );
    let trace = files.add(&name, &contents);
    let json = files.path("t.json");
    let first = foretell(["predict", text(&trace), "--json", text(&json)]);
    assert_eq!(first.status, 1, "{}", first.stderr);
    clean("predict", &first);
    for arguments in [
        &["stats", text(&trace)][..],
        &["predict", text(&trace), "--format", "json"],
        &["predict", text(&trace), "--format", "sarif"],
        &["predict", text(&trace), "--color", "never", "--full"],
        &["convert", text(&trace), "-"],
        &["report", text(&json)],
        &["verify", text(&trace), text(&json)],
        &["stats", &format!("missing{evil}")],
        &["predict", text(&trace), "--analyses", evil],
        &["predict", text(&trace), "--suppressions", &format!("missing{evil}")],
        &["replay", text(&trace), evil, "--", evil],
        &["record", "--", &format!("./missing{evil}")],
        &["explain", evil],
        &[evil],
    ] {
        clean(arguments[0], &foretell(arguments));
    }
    for contents in [
        format!("T1|{evil}(x)|a\n"),
        format!("T1|rel(l{evil})|a\n"),
        format!("#! {evil}\n"),
        format!("T1|w(x={evil})|a\n"),
    ] {
        clean("refused", &foretell(["stats", text(&files.add("bad.std", contents))]));
    }
    let findings = read(&json).replace("\"race-1\"", "\"r\\u001b[2J\\u009b\\u007f\"");
    let findings = files.add("evil.json", findings);
    clean("report", &foretell(["report", text(&findings)]));
    clean("verify", &foretell(["verify", text(&trace), text(&findings)]));
    let broken = files.add("broken.json", format!("{{\"schema\":\"{evil}\"}}"));
    clean("broken", &foretell(["report", text(&broken)]));
    let rules = files.add("rules", format!("{evil}:{evil}\nrace {evil}=1\n"));
    clean("rules", &foretell(["predict", text(&trace), "--suppressions", text(&rules)]));
    let config = files.add("c.toml", "\"\\u001b[2J\" = 1\n");
    clean("config", &foretell(["stats", text(&trace), "--config", text(&config)]));
}

#[test]
fn compressed_input_is_limited() {
    let files = Files::new();
    files.add("zeros", format!("# {}\n", " ".repeat(3 << 20)));
    for (program, name) in [("gzip", "zeros.gz"), ("zstd", "zeros.zst")] {
        let packed = files.path(name);
        let input = fs::File::open(files.path("zeros")).unwrap();
        let output = fs::File::create(&packed).unwrap();
        let run = Command::new(program).arg("-c").stdin(input).stdout(output).status();
        if !run.is_ok_and(|status| status.success()) {
            assert_eq!(program, "zstd", "gzip is everywhere");
            continue;
        }
        let line = foretell(["stats", text(&packed), "--max-decompressed", "2"]).refused();
        assert!(line.contains("unfolds to more than 2097152 bytes"), "{line}");
        assert!(line.contains("--max-decompressed"), "{line}");
        foretell(["stats", text(&packed), "--max-decompressed", "4"]).quietly(0);
        foretell(["stats", text(&packed)]).quietly(0);
    }
    foretell(["stats", "x", "--max-decompressed", "0"]).refused();
}

#[test]
fn symbolic_model_needs_a_symbolic_trace() {
    let trace = repository("examples/traces/bank.std");
    let findings = repository("examples/traces/bank.json");
    for arguments in [
        &["predict", text(&trace), "--model", "symbolic"][..],
        &["verify", text(&trace), text(&findings), "--model", "symbolic"],
    ] {
        let line = foretell(arguments).refused();
        assert!(line.contains("the trace has no symbolic information"), "{line}");
    }
    let files = Files::new();
    let json = read(&findings).replace("\"model\":\"value\"", "\"model\":\"symbolic\"");
    let json = files.add("claims.json", json);
    let line = foretell(["verify", text(&trace), text(&json)]).refused();
    assert!(line.contains("the trace has no symbolic information"), "{line}");
    let symbolic = repository("examples/traces/bank-symbolic.std");
    let ran = foretell(["predict", text(&symbolic), "--model", "symbolic"]);
    assert!(ran.status < 2, "{}", ran.stderr);
}
