//! Call stacks of the recorded threads, as sites of the trace.
//!
//! An event's place is `file:line` alone. Its callers are frames, innermost first: `f a.c:7`, the
//! function that the event is in and the line from which that was called, then the function
//! that holds that line, and so on; the last one is a function alone. Inlined functions are
//! frames like others.

use foretell_trace::{SiteId, TraceBuilder};
use rustc_hash::FxHashMap;

use crate::symbols::Symbols;

/// Calls deeper than this are not told apart.
const DEEPEST: usize = 100;

struct Frame {
    pc: u64,
    call: u64,
    block: bool,
    /// The site of this frame, once it was needed.
    site: Option<SiteId>,
}

/// The stacks of all threads.
#[derive(Default)]
pub(crate) struct Stacks {
    threads: FxHashMap<u32, Vec<Frame>>,
    /// Sites that were made: by code address and frame.
    sites: FxHashMap<(u64, Option<SiteId>), SiteId>,
}

impl Stacks {
    /// `thread` entered a function; `block`: which is an atomic block.
    pub(crate) fn enter(&mut self, thread: u32, pc: u64, call: u64, block: bool) {
        self.threads.entry(thread).or_default().push(Frame { pc, call, block, site: None });
    }

    /// `thread` left a function; whether that was an atomic block.
    pub(crate) fn exit(&mut self, thread: u32) -> bool {
        self.threads.get_mut(&thread).and_then(Vec::pop).is_some_and(|f| f.block)
    }

    /// The code address inside the innermost function that `thread` is in.
    pub(crate) fn innermost(&self, thread: u32) -> Option<u64> {
        self.threads.get(&thread).and_then(|s| s.last()).map(|f| f.pc)
    }

    /// The code address that stands for an allocation at `pc`: that one, or, where the call came from a
    /// library or a header of the system, the innermost function around it that is the program's own.
    pub(crate) fn own_code(&self, thread: u32, pc: u64, symbols: &mut Symbols) -> u64 {
        let mut own = |pc| {
            let code = symbols.code(pc);
            code.known && !code.system
        };
        if own(pc) {
            return pc;
        }
        let stack = self.threads.get(&thread).map_or(&[][..], Vec::as_slice);
        let found =
            stack.iter().rev().take(DEEPEST).flat_map(|f| [f.pc, f.call]).find(|&pc| own(pc));
        found.unwrap_or(pc)
    }

    /// The site of an event of `thread` at `pc`; for one in a header of the system, the place
    /// from which that was called.
    pub(crate) fn site(
        &mut self,
        thread: u32,
        pc: u64,
        builder: &mut TraceBuilder,
        symbols: &mut Symbols,
    ) -> SiteId {
        let depth = self.threads.get(&thread).map_or(0, Vec::len).min(DEEPEST);
        let innermost = self.frame_site(thread, depth, builder, symbols);
        if let Some(&site) = self.sites.get(&(pc, innermost)) {
            return site;
        }
        let (mut at, mut depth, mut caller) = (pc, depth, innermost);
        while symbols.code(at).system && depth > 0 {
            let Some(outer) = self.threads.get(&thread).and_then(|s| s.get(depth - 1)) else {
                break;
            };
            if !symbols.code(outer.call).known {
                break;
            }
            at = outer.call;
            depth -= 1;
            caller = self.frame_site(thread, depth, builder, symbols);
        }
        let code = symbols.code(at);
        let outer = match (caller, code.functions.last()) {
            (None, Some((name, _))) => Some(builder.site(name, None)),
            _ => caller,
        };
        let caller_with_inlined = inlined(&code.functions, outer, builder);
        let site = builder.site(&code.place, caller_with_inlined);
        self.sites.insert((pc, innermost), site);
        site
    }

    /// The site of frame number `depth` of `thread`, counted from the outermost, from 1.
    fn frame_site(
        &mut self,
        thread: u32,
        depth: usize,
        builder: &mut TraceBuilder,
        symbols: &mut Symbols,
    ) -> Option<SiteId> {
        let stack = self.threads.get_mut(&thread)?;
        let known = stack[..depth].iter().rposition(|f| f.site.is_some());
        let mut site = known.and_then(|i| stack[i].site);
        for f in &mut stack[known.map_or(0, |i| i + 1)..depth] {
            let name = function_name(f.pc, symbols);
            let call = symbols.code(f.call);
            // Where the outermost function was called from is in the C library.
            let text = frame(&name, (site.is_some() && call.known).then_some(call.place.as_str()));
            let outer = inlined(&call.functions, site, builder);
            site = Some(builder.site(&text, outer));
            f.site = site;
        }
        site
    }
}

/// Adds the frames of inlined functions: all but the last of `functions`.
fn inlined(
    functions: &[(String, String)],
    outer: Option<SiteId>,
    builder: &mut TraceBuilder,
) -> Option<SiteId> {
    let mut site = outer;
    let inlined = functions.split_last().map_or(&[][..], |(_, inlined)| inlined);
    for (name, call) in inlined.iter().rev() {
        site = Some(builder.site(&frame(name, Some(call)), site));
    }
    site
}

/// A function name and where it was called from, for a frame of a call stack.
fn frame(function: &str, call: Option<&str>) -> String {
    match call {
        Some(call) if !call.is_empty() => format!("{function} {call}"),
        _ => function.to_owned(),
    }
}

fn function_name(pc: u64, symbols: &mut Symbols) -> String {
    let code = symbols.code(pc);
    code.functions.last().map_or_else(|| code.place.clone(), |(name, _)| name.clone())
}
