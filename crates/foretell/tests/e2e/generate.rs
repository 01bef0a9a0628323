//! `foretell generate`.

use super::*;

/// Returns the names of all families, from `--list`.
fn families() -> Vec<String> {
    let list = foretell(["generate", "--list"]).quietly(0);
    list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn every_family_is_legal_and_deterministic() {
    let files = Files::new();
    let families = families();
    assert!(families.len() > 5, "{families:?}");
    for family in families {
        let arguments = |out: &Path, seed: &str| {
            let out = text(out).to_owned();
            let options =
                ["--seed", seed, "--threads", "3", "--events", "80", "--vars", "4", "--locks", "2"];
            let mut all = vec!["generate".to_owned(), family.clone(), "-o".to_owned(), out];
            all.extend(options.map(str::to_owned));
            all
        };
        let [one, same, other] = ["one.std", "same.std", "other.std"].map(|name| files.path(name));
        foretell(arguments(&one, "1")).quietly(0);
        foretell(arguments(&same, "1")).quietly(0);
        foretell(arguments(&other, "2")).quietly(0);
        assert_eq!(read(&one), read(&same), "{family}");
        assert_ne!(read(&one), read(&other), "{family}");
        // Reading checks that it is legal.
        foretell([Path::new("stats"), &one]).quietly(0);
    }
}

#[test]
fn huge_size_and_unknown_family_are_rejected() {
    for (arguments, message) in [
        (&["generate"][..], "foretell: the following required arguments were not provided:"),
        (&["generate", "uniform"], "foretell: the following required arguments were not provided:"),
        (
            &["generate", "nothing", "-o", "x"],
            "foretell: invalid value 'nothing' for '[FAMILY]': no family",
        ),
        (
            &["generate", "uniform", "-o", "x", "--threads", "0"],
            "foretell: invalid value '0' for '--threads",
        ),
        (
            &["generate", "uniform", "-o", "x", "--events", "9999999999999"],
            "foretell: invalid value '9999999999999'",
        ),
        (&["generate", "uniform", "-o", "x", "--seed", "-1"], "foretell: "),
    ] {
        let line = foretell(arguments).refused();
        assert!(line.starts_with(message), "{line}");
    }
}

#[test]
fn values_can_be_left_out() {
    let out = foretell(["generate", "uniform", "-o", "-", "--no-values"]).quietly(0);
    let mut events = out.lines().filter(|line| !line.starts_with('#'));
    assert!(out.contains("|r(") && !events.any(|line| line.contains('=')), "{out}");
}
