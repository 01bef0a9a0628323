//! Type of an allocation, from the source line that allocates.
//!
//! Debug information does not say which type a call of `malloc` or `new` is for. The source line
//! says it: `new Node(…)`, `make_shared<Node>(…)`, `malloc(sizeof(struct node))`,
//! `calloc(n, sizeof *p)`. A line with more than one such expression says nothing, and the size of
//! the type must fit the size of the allocation.

/// Type of an allocation, from its source line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Allocated {
    /// One object of the named type.
    Object(String),
    /// One object, or an array, of the named type.
    Objects(String),
    /// Elements of an array `new`.
    Array(String),
    /// An object behind the counters of a `shared_ptr`.
    Shared(String),
    /// One object, or an array, of what this variable points to.
    Pointee(String),
}

/// Returns what a source line allocates, if it says so once.
pub(crate) fn allocated(line: &str) -> Option<Allocated> {
    let line = without_literals(line);
    let mut found: Vec<Allocated> = Vec::new();
    for (at, word) in words(&line) {
        let rest = line[at + word.len()..].trim_start();
        let one = match word {
            "new" => new_expression(rest),
            "make_unique" => template_argument(rest).map(Allocated::Objects),
            "make_shared" => template_argument(rest).map(Allocated::Shared),
            "sizeof" => sizeof_expression(rest),
            _ => continue,
        };
        found.push(one?);
    }
    found.dedup();
    if found.len() == 1 { found.pop() } else { None }
}

/// Returns a line with its comment removed and its literals emptied.
fn without_literals(line: &str) -> String {
    let mut text = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => break,
            '"' => {
                text.push_str("\"\"");
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            c => text.push(c),
        }
    }
    text
}

/// Returns the identifiers of a line with their positions.
fn words(line: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut at = 0;
    for piece in line.split(|c| !is_word(c)) {
        if !piece.is_empty() {
            found.push((at, piece));
        }
        at += piece.len();
        at += line[at..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

/// Returns the type after `new`, which may have arguments in front: `new (std::nothrow) T`.
fn new_expression(rest: &str) -> Option<Allocated> {
    let rest = match rest.strip_prefix('(') {
        Some(arguments) => {
            let (arguments, rest) = arguments.split_once(')')?;
            // A placement `new` allocates nothing.
            arguments.contains("nothrow").then_some(rest.trim_start())?
        }
        None => rest,
    };
    let (name, rest) = type_name(rest)?;
    Some(match rest.trim_start().starts_with('[') {
        true => Allocated::Array(name),
        false if rest.trim_start().starts_with('*') => return None,
        false => Allocated::Object(name),
    })
}

fn template_argument(rest: &str) -> Option<String> {
    let (name, rest) = type_name(rest.strip_prefix('<')?)?;
    rest.trim_start().starts_with('>').then_some(name)
}

fn sizeof_expression(rest: &str) -> Option<Allocated> {
    let inner = match rest.strip_prefix('(') {
        Some(inner) => inner.split_once(')')?.0.trim(),
        None => rest,
    };
    if let Some(pointer) = inner.strip_prefix('*') {
        let (name, rest) = identifier(pointer.trim_start())?;
        let alone = !["->", ".", "[", "("].iter().any(|more| rest.trim_start().starts_with(more));
        return alone.then(|| Allocated::Pointee(name.to_owned()));
    }
    let (name, rest) = type_name(inner)?;
    let rest = rest.trim_start();
    match rest.strip_prefix("[0]") {
        Some(_) => Some(Allocated::Pointee(name)),
        None if rest.starts_with(['*', '[', '.', '-']) => None,
        None => Some(Allocated::Objects(name)),
    }
}

fn identifier(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let starts_well = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (end > 0 && starts_well).then(|| text.split_at(end))
}

/// Returns the type name at the start of a text, without `struct` and qualifiers, and the rest.
fn type_name(text: &str) -> Option<(String, &str)> {
    let mut text = text.trim_start();
    while let Some((word, rest)) = identifier(text)
        && ["struct", "class", "union", "enum", "const", "volatile", "typename"].contains(&word)
    {
        text = rest.trim_start();
    }
    let mut name = String::new();
    let mut rest = text.strip_prefix("::").unwrap_or(text);
    loop {
        let (word, after) = identifier(rest)?;
        name.push_str(word);
        rest = after;
        if rest.starts_with('<') {
            let end = closing_bracket(rest)?;
            name.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        match rest.strip_prefix("::") {
            Some(more) => {
                name.push_str("::");
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

/// Returns the position after the bracket that closes the one in front.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_they_allocate() {
        use Allocated::*;
        let is = |line: &str, what: Allocated| assert_eq!(allocated(line), Some(what), "{line}");
        is("  auto *n = new Node(head, \"new X\"); // new Y", Object("Node".into()));
        is("head = new (std::nothrow) ns::Node{1};", Object("ns::Node".into()));
        is("slots = new Slot[n];", Array("Slot".into()));
        is("p = std::make_shared<Cache<int, 3>>(7);", Shared("Cache<int, 3>".into()));
        is("p = std::make_unique<Pool>();", Objects("Pool".into()));
        is("struct node *n = malloc(sizeof(struct node));", Objects("node".into()));
        is("n = malloc(sizeof *n);", Pointee("n".into()));
        is("n = calloc(8, sizeof(*n));", Pointee("n".into()));
        is("n = calloc(8, sizeof(n[0]));", Pointee("n".into()));
    }

    #[test]
    fn lines_that_are_not_clear_say_nothing() {
        for line in [
            "a = new A; b = new B;",
            "p = malloc(n);",
            "new (buffer) Node();",
            "n = malloc(sizeof *a->b);",
            "n = malloc(sizeof(int *));",
            "t = new Node*[4];",
            "v.push_back(3);",
            "n = malloc(sizeof(",
            "x = sizeof",
        ] {
            assert_eq!(allocated(line), None, "{line}");
        }
    }
}
