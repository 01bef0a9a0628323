//! Archives (`.a`): members, the index of symbols, and copies with other members.

use std::path::Path;

/// Beginning of an archive, and of one whose members are files beside it.
const MAGIC: &[u8] = b"!<arch>\n";
const THIN_MAGIC: &[u8] = b"!<thin>\n";
const HEADER_LEN: usize = 60;

/// Member of an archive.
pub(super) struct Member<'a> {
    pub(super) name: Vec<u8>,
    /// Offset of its header.
    offset: usize,
    content: Content<'a>,
}

enum Content<'a> {
    Inside(&'a [u8]),
    /// A file beside a thin archive.
    File(Vec<u8>),
}

impl Member<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Inside(bytes) => bytes,
            Content::File(bytes) => bytes,
        }
    }
}

/// An archive's members, and its index: symbols with the member that defines each.
pub(super) struct Archive<'a> {
    pub(super) members: Vec<Member<'a>>,
    /// Names of symbols, with the index of the member; empty if the archive has no index.
    pub(super) index: Vec<(&'a [u8], usize)>,
}

/// Whether these are the bytes of an archive.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(THIN_MAGIC)
}

fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

fn be<const N: usize>(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(N)?)?;
    Some(field.iter().fold(0, |n, &b| n << 8 | usize::from(b)))
}

impl<'a> Archive<'a> {
    /// Returns the members of the archive at `path`, whose bytes are given.
    pub(super) fn parse(path: &Path, bytes: &'a [u8]) -> Option<Archive<'a>> {
        let thin = bytes.starts_with(THIN_MAGIC);
        let (mut members, mut long_names): (Vec<Member<'a>>, &[u8]) = (Vec::new(), &[]);
        let mut index: &[u8] = &[];
        let mut wide = false;
        let mut at = MAGIC.len();
        while let Some(header) = bytes.get(at..at + HEADER_LEN) {
            let size = number(&header[48..58])?;
            let name = header[..16].trim_ascii_end();
            let start = at + HEADER_LEN;
            let special = matches!(name, b"/" | b"//" | b"/SYM64/");
            let stored = if thin && !special { 0 } else { size };
            let content = bytes.get(start..start.checked_add(stored)?)?;
            match name {
                b"/" | b"/SYM64/" => (index, wide) = (content, name.len() > 1),
                b"//" => long_names = content,
                _ => {
                    let name = long_name(name, long_names)?;
                    let content = if thin {
                        let file = path.parent()?.join(bytes_path(&name));
                        Content::File(std::fs::read(file).ok()?)
                    } else {
                        Content::Inside(content)
                    };
                    members.push(Member { name, offset: at, content });
                }
            }
            at = start + stored + stored % 2;
        }
        let index = read_index(index, wide, &members).unwrap_or_default();
        Some(Archive { members, index })
    }

    /// Returns an archive with these members' contents in place of the archive's own; its index
    /// names the same symbols.
    pub(super) fn with(&self, contents: &[&[u8]]) -> Vec<u8> {
        let mut long_names = Vec::new();
        let names: Vec<String> = self
            .members
            .iter()
            .map(|member| {
                let at = long_names.len();
                let name = member.name.rsplit(|&b| b == b'/').next().unwrap_or_default();
                long_names.extend(name);
                long_names.extend(b"/\n");
                format!("/{at}")
            })
            .collect();
        let symbol_names: usize = self.index.iter().map(|(name, _)| name.len() + 1).sum();
        let index_len = 8 + 8 * self.index.len() + symbol_names;
        let even = |n: usize| n + n % 2;
        let first = MAGIC.len() + 2 * HEADER_LEN + even(index_len) + even(long_names.len());
        let offsets: Vec<usize> = contents
            .iter()
            .scan(first, |at, content| {
                let here = *at;
                *at += HEADER_LEN + even(content.len());
                Some(here)
            })
            .collect();
        let mut index = (self.index.len() as u64).to_be_bytes().to_vec();
        for (_, member) in &self.index {
            let offset = offsets.get(*member).copied().unwrap_or_default() as u64;
            index.extend(offset.to_be_bytes());
        }
        for (name, _) in &self.index {
            index.extend(*name);
            index.push(0);
        }
        let mut out = MAGIC.to_vec();
        put(&mut out, "/SYM64/", &index);
        put(&mut out, "//", &long_names);
        for (name, content) in names.iter().zip(contents) {
            put(&mut out, name, content);
        }
        out
    }
}

fn put(out: &mut Vec<u8>, name: &str, content: &[u8]) {
    let header =
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len());
    out.extend(header.as_bytes());
    out.extend(content);
    if !content.len().is_multiple_of(2) {
        out.push(b'\n');
    }
}

/// Returns the name of a member: in its header up to a slash, or at an offset of the long names.
fn long_name(name: &[u8], long_names: &[u8]) -> Option<Vec<u8>> {
    let Some(offset) = name.strip_prefix(b"/") else {
        return Some(name.strip_suffix(b"/").unwrap_or(name).to_vec());
    };
    let rest = long_names.get(number(offset)?..)?;
    let line = rest.split(|&b| b == b'\n').next()?;
    Some(line.strip_suffix(b"/").unwrap_or(line).to_vec())
}

fn read_index<'a>(
    bytes: &'a [u8],
    wide: bool,
    members: &[Member<'_>],
) -> Option<Vec<(&'a [u8], usize)>> {
    let word = |i: usize| if wide { be::<8>(bytes, 8 * i) } else { be::<4>(bytes, 4 * i) };
    let count = word(0)?;
    let size = if wide { 8 } else { 4 };
    let mut names = bytes.get(count.checked_add(1)?.checked_mul(size)?..)?.split(|&b| b == 0);
    let mut index = Vec::new();
    for i in 0..count {
        let (offset, name) = (word(i + 1)?, names.next()?);
        let member = members.binary_search_by_key(&offset, |m| m.offset).ok()?;
        index.push((name, member));
    }
    Some(index)
}

fn bytes_path(bytes: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
