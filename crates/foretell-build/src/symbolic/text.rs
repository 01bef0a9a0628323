//! Plain text of the functions of a module in textual LLVM IR.
//!
//! Both sides of a symbolic recording use the same text: the rewriter puts hooks into it, and the
//! rebuild walks along it after the run. They share the *plain text* of a module: the lines of its
//! functions without debug information and metadata, each instruction on one line. The number of a
//! line is the *site* that hooks name.

/// An instruction, a label, or the head of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    /// Text without metadata and comments.
    pub(crate) text: String,
    /// First and last line of the module that it comes from.
    pub(crate) from: (usize, usize),
    /// Debug location: `, !dbg !7`, or empty.
    pub(crate) debug: String,
}

/// Returns the lines of the functions of a module.
pub(crate) fn lines(module: &str) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    let mut inside = false;
    // A `switch` is on several lines.
    let mut open: Option<Line> = None;
    for (number, source) in module.lines().enumerate() {
        if !inside {
            if source.starts_with("define ") {
                inside = source.trim_end().ends_with('{');
                let text = plain(source);
                out.push(Line { text, from: (number, number), debug: String::new() });
            }
            continue;
        }
        let text = plain(source);
        if let Some(mut line) = open.take() {
            line.text.push(' ');
            line.text.push_str(&text);
            line.from.1 = number;
            line.debug = debug(source);
            if text.starts_with(']') {
                out.push(line)
            } else {
                open = Some(line)
            }
            continue;
        }
        if source.starts_with('}') {
            inside = false;
        }
        let note = text.starts_with("#dbg") || text.contains("@llvm.dbg.");
        if text.is_empty() || note {
            continue;
        }
        let line = Line { from: (number, number), debug: debug(source), text };
        if line.text.starts_with("switch ") && !line.text.ends_with(']') {
            open = Some(line);
        } else {
            out.push(line);
        }
    }
    out
}

/// Returns the plain text of a module.
pub(crate) fn join(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

/// Returns the identifier of a module: the FNV-1a hash of its plain text.
pub fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Returns a line without comment, metadata and surrounding white space.
fn plain(source: &str) -> String {
    let mut end = source.len();
    let mut quoted = false;
    let bytes = source.as_bytes();
    for (i, b) in bytes.iter().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            b';' if !quoted => {
                end = i;
                break;
            }
            b'!' if !quoted && i >= 2 && &bytes[i - 2..i] == b", " => {
                end = i - 2;
                break;
            }
            _ => {}
        }
    }
    source[..end].trim().to_owned()
}

/// Returns the debug location at the end of a line.
fn debug(source: &str) -> String {
    let Some(at) = source.rfind(", !dbg !") else { return String::new() };
    let digits = source[at + 8..].bytes().take_while(u8::is_ascii_digit).count();
    source[at..at + 8 + digits].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instruction_is_on_one_line() {
        let module = "@s = constant [2 x i8] c\"a;\"\n\
            define i32 @f(i32 %0) #0 !dbg !4 {\n  \
              %2 = add nsw i32 %0, 1, !dbg !10, !tbaa !3\n    \
              #dbg_declare(ptr %2, !142, !DIExpression(), !143)\n  \
              switch i32 %2, label %4 [\n    i32 1, label %3\n  ], !dbg !12\n\n\
            3:        ; preds = %1\n  ret i32 0, !dbg !9\n}\n";
        let lines = lines(module);
        let text: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            text,
            [
                "define i32 @f(i32 %0) #0 !dbg !4 {",
                "%2 = add nsw i32 %0, 1",
                "switch i32 %2, label %4 [ i32 1, label %3 ]",
                "3:",
                "ret i32 0",
                "}",
            ]
        );
        assert_eq!((lines[2].from, lines[2].debug.as_str()), ((4, 6), ", !dbg !12"));
        assert_eq!(lines[1].debug, ", !dbg !10");
        assert_ne!(hash("a"), hash("b"));
    }
}
