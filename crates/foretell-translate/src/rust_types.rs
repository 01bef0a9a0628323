//! Types of Rust as a program writes them.

/// Types of the standard library around a value on the heap, which a program does not write.
const BOXES: [&str; 2] = ["ArcInner", "RcInner"];
/// Arguments that a program leaves out.
const DEFAULTS: [&str; 3] = ["Global", "RandomState", "System"];

/// Whether a type is the value of an `Arc` or `Rc` with its counters.
pub(crate) fn is_counted(name: &str) -> bool {
    BOXES.iter().any(|of| name.strip_prefix(of).is_some_and(|rest| rest.starts_with('<')))
}

/// Returns a type as a program writes it: `Mutex<Vec<Job>>` for
/// `Mutex<alloc::vec::Vec<app::Job, alloc::alloc::Global>>`. The counters around a shared value are
/// left out.
pub(crate) fn short_type(name: &str) -> String {
    let mut short = String::new();
    let mut word = String::new();
    for c in name.chars() {
        match c {
            // The path so far is that of a module.
            ':' => word.clear(),
            c if c.is_alphanumeric() || c == '_' => word.push(c),
            c => {
                push(&mut short, &mut word);
                short.push(c);
            }
        }
    }
    push(&mut short, &mut word);
    let unnamed = [("{closure_env", "closure"), ("{async_", "async"), ("{coroutine_", "coroutine")];
    if let Some((_, kind)) = unnamed.iter().find(|(start, _)| name.starts_with(start)) {
        return (*kind).to_owned();
    }
    let inner = BOXES.iter().find_map(|of| {
        short.strip_prefix(of)?.strip_prefix('<')?.strip_suffix('>').map(str::to_owned)
    });
    inner.unwrap_or(short)
}

/// Adds a word, unless it is an argument that is left out.
fn push(short: &mut String, word: &mut String) {
    if DEFAULTS.contains(&word.as_str()) && short.ends_with(", ") {
        short.truncate(short.len() - 2);
    } else {
        short.push_str(word);
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_lose_modules_and_defaults() {
        for (name, short) in [
            ("Mutex<alloc::vec::Vec<app::Job, alloc::alloc::Global>>", "Mutex<Vec<Job>>"),
            ("ArcInner<app::model::Bank>", "Bank"),
            ("RcInner<core::cell::RefCell<(u8, i64)>>", "RefCell<(u8, i64)>"),
            ("[app::Account; 4]", "[Account; 4]"),
            ("&mut [u8]", "&mut [u8]"),
            ("{closure_env#0}<app::F>", "closure"),
            ("i64", "i64"),
            ("", ""),
        ] {
            assert_eq!(short_type(name), short);
        }
    }
}
