//! Names of functions as their users know them: demangled, without parameters and hashes.

/// Returns a symbol's name as in the source. Only mangled names are demangled: `x` alone would be a
/// type.
pub(crate) fn readable(symbol: &str) -> String {
    if symbol.starts_with("_Z") || symbol.starts_with("_R") {
        plain(&addr2line::demangle_auto(symbol.into(), None))
    } else {
        plain(symbol)
    }
}

/// Returns a demangled name without its parameters, and without the suffix of gcc for a clone of a
/// function or a local static (`worker.part.0`, `count.1`).
pub(crate) fn plain(name: &str) -> String {
    let name = match parameters(name) {
        Some(at) if at > 0 && !name[..at].ends_with("operator") => &name[..at],
        _ => name,
    };
    let mut braces = 0usize;
    let cut = name.char_indices().position(|(at, c)| {
        match c {
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        // Rust has functions such as `call_once{{vtable.shim}}`.
        c == '.' && at > 0 && braces == 0
    });
    name.chars().take(cut.unwrap_or(usize::MAX)).collect()
}

/// Returns the position of the parameters: the first bracket outside template arguments.
fn parameters(name: &str) -> Option<usize> {
    let mut depth = 0usize;
    name.char_indices().find_map(|(at, c)| {
        match c {
            '<' if !name[..at].trim_end_matches('<').ends_with("operator") => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => return Some(at),
            _ => {}
        }
        None
    })
}

/// Returns the name of a closure of Rust with the location of the closure, and other names as they
/// are.
pub(crate) fn closure_at(name: String, location: &str) -> String {
    match name.rsplit_once("::") {
        Some((around, last)) if last == "{{closure}}" || last.starts_with("{closure#") => {
            format!("{around}::{{closure@{location}}}")
        }
        _ => name,
    }
}

/// Returns the class or the free function that a function of a C++ library belongs to, without
/// template arguments and inline namespaces: `std::string` for a member of `std::basic_string<…>`.
/// A function of a Rust library keeps its name: `Vec::push`.
pub(crate) fn library_name(function: &str, is_rust: bool) -> String {
    if is_rust {
        return rust_function(function);
    }
    let bare = without_arguments(function);
    let parts = bare.split("::").filter(|part| *part != "__cxx11");
    let parts: Vec<&str> = parts.take(2).map(str::trim).collect();
    parts.join("::").replace("std::basic_string", "std::string")
}

/// Returns a function of Rust by its type and its own name, without modules: `Arc::clone` for
/// `<alloc::sync::Arc<T> as core::clone::Clone>::clone`.
fn rust_function(function: &str) -> String {
    let (of, name) = match function.strip_prefix('<').and_then(closing) {
        Some((inner, rest)) => {
            let implementer = inner.split_once(" as ").map_or(inner, |(of, _)| of);
            (without_arguments(implementer), without_arguments(rest))
        }
        None => (String::new(), without_arguments(function)),
    };
    let path = format!("{of}::{name}");
    let is_name = |part: &&str| !part.is_empty() && !part.starts_with('{');
    let mut parts = path.rsplit("::").filter(is_name);
    let name = parts.next().unwrap_or(function);
    match parts.next() {
        Some(of) if of.starts_with(char::is_uppercase) => format!("{of}::{name}"),
        _ => name.to_owned(),
    }
}

/// Splits a text at the bracket that closes one before it.
fn closing(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

/// Returns a name without its template arguments.
fn without_arguments(name: &str) -> String {
    let mut bare = String::new();
    let mut depth = 0;
    for c in name.chars() {
        match c {
            '<' if !bare.ends_with("operator") && !bare.ends_with("operator<") => depth += 1,
            '>' if depth > 0 => depth -= 1,
            c if depth == 0 => bare.push(c),
            _ => {}
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libraries_are_named_by_class() {
        for (function, name) in [
            ("std::__cxx11::basic_string<char, std::char_traits<char> >::append", "std::string"),
            ("std::vector<int, std::allocator<int> >::push_back", "std::vector"),
            ("std::sort<int*>", "std::sort"),
            ("std::operator<< <char>", "std::operator<<"),
            ("qsort", "qsort"),
            ("a<b", "a"),
        ] {
            assert_eq!(library_name(function, false), name, "{function}");
        }
    }

    #[test]
    fn functions_of_rust_libraries_keep_their_names() {
        for (function, name) in [
            ("<alloc::sync::Arc<T,A> as core::clone::Clone>::clone", "Arc::clone"),
            ("alloc::vec::Vec<T,A>::push", "Vec::push"),
            ("core::sync::atomic::atomic_load", "atomic_load"),
            ("std::thread::lifecycle::spawn_unchecked::{{closure}}", "spawn_unchecked"),
            ("<F as core::ops::FnOnce<fn() -> i32>>::call", "F::call"),
            ("<", "<"),
            ("", ""),
        ] {
            assert_eq!(library_name(function, true), name, "{function}");
        }
    }

    #[test]
    fn closures_have_a_place() {
        let named = |name: &str| closure_at(name.to_owned(), "a.rs:7");
        assert_eq!(named("a::main::{{closure}}"), "a::main::{closure@a.rs:7}");
        assert_eq!(named("a::main::{closure#1}"), "a::main::{closure@a.rs:7}");
        assert_eq!(named("a::main"), "a::main");
    }

    #[test]
    fn names_lose_their_parameters() {
        assert_eq!(plain("bank::Account::add(int, char const*)"), "bank::Account::add");
        assert_eq!(plain("worker.part.0"), "worker");
        assert_eq!(plain("call_once{{vtable.shim}}.llvm.7"), "call_once{{vtable.shim}}");
        assert_eq!((readable("x"), readable("_Z1xi")), ("x".to_owned(), "x".to_owned()));
        assert_eq!(plain("operator()(int)"), "operator()(int)");
        assert_eq!(plain("call<void (*)(int)>(void (*)(int))"), "call<void (*)(int)>");
        assert_eq!(plain("operator<< (int)"), "operator<< ");
    }
}
