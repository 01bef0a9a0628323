//! Sites of the trace: source locations with their call stacks.
//!
//! The location of an event is `file:line` alone. Its callers are frames, innermost first:
//! `f a.c:7`, the function that holds the event and the line from which that function was called,
//! then the function that holds that line, and so on; the last frame is a function alone. Inlined
//! functions are frames too.

use std::rc::Rc;

use foretell_trace::{INSIDE, SiteId, TraceBuilder};
use rustc_hash::FxHashMap;

use crate::symbols::{Code, Symbols};
use foretell_log::{CallId, Calls, OUTSIDE};

/// Depth beyond which call stacks are cut off.
const MAX_DEPTH: usize = 100;

/// Number of a module and an address in its file, if the code address is in a module.
pub(in crate::native) type FileOffset = Option<(u32, u64)>;

/// Sites so far.
#[derive(Default)]
pub(super) struct Sites {
    /// Sites by code address and call stack, with the file offset of the code address.
    sites: FxHashMap<(u64, CallId), (SiteId, FileOffset)>,
    recent: Recent,
    /// Innermost frames, by call stack.
    frames: FxHashMap<CallId, FrameSite>,
    /// Code addresses that stand for allocations, by code address and call stack.
    own: FxHashMap<(u64, CallId), u64>,
}

/// Innermost frame of a call stack. Functions of system headers have none: their callee is called
/// from where the program called the library.
#[derive(Clone, Default)]
struct FrameSite {
    /// Innermost frame of the program itself.
    site: Option<SiteId>,
    /// Code of the program that called the library, if the innermost function is a library's.
    library_call: Option<Rc<Code>>,
}

/// Direct-mapped cache of `Sites::sites`.
struct Recent(Box<[Option<RecentSite>; RECENT]>);

type RecentSite = ((u64, CallId), (SiteId, FileOffset));

const RECENT: usize = 512;

impl Default for Recent {
    fn default() -> Self {
        Recent(Box::new([None; RECENT]))
    }
}

impl Recent {
    fn entry(&mut self, (pc, stack): (u64, CallId)) -> &mut Option<RecentSite> {
        &mut self.0[(pc ^ (pc >> 9) ^ u64::from(stack).wrapping_mul(5)) as usize % RECENT]
    }
}

impl Sites {
    /// Returns the code address that stands for an allocation at `pc`: `pc` itself, or, where the
    /// call came from a library or a system header, the innermost frame in the program's own code.
    pub(super) fn own_code(
        &mut self,
        pc: u64,
        stack: CallId,
        calls: &Calls,
        symbols: &mut Symbols,
    ) -> u64 {
        if let Some(&own) = self.own.get(&(pc, stack)) {
            return own;
        }
        let around = calls.outwards(stack).take(MAX_DEPTH).flat_map(|(_, c)| [c.pc, c.call]);
        let own = std::iter::once(pc).chain(around).find(|&pc| {
            let code = symbols.code(pc);
            code.known && !code.system
        });
        let own = own.unwrap_or(pc);
        self.own.insert((pc, stack), own);
        own
    }

    /// Returns the site of an event at `pc` under a call stack, and the file offset of `pc`. An
    /// event in a system header has the site of the call into that header.
    pub(super) fn site(
        &mut self,
        pc: u64,
        stack: CallId,
        calls: &Calls,
        builder: &mut TraceBuilder,
        symbols: &mut Symbols,
    ) -> (SiteId, FileOffset) {
        let recent = self.recent.entry((pc, stack));
        match *recent {
            Some((key, site)) if key == (pc, stack) => return site,
            _ => {}
        }
        if let Some(&site) = self.sites.get(&(pc, stack)) {
            *recent = Some(((pc, stack), site));
            return site;
        }
        // Of a deep stack the outermost calls are kept.
        let depth = calls.get(stack).map_or(0, |c| c.depth);
        let deeper = depth.saturating_sub(MAX_DEPTH);
        let mut inner = calls.outwards(stack).nth(deeper).map_or(OUTSIDE, |(id, _)| id);
        let mut at = pc;
        let mut library = None;
        if symbols.code(pc).system
            && let Some((call, outer, function)) = called_library(inner, pc, calls, symbols)
        {
            (at, inner, library) = (call, outer, function);
        }
        let caller = self.frame(inner, calls, builder, symbols);
        let code = symbols.code(at);
        let outer = match (caller, code.functions.last()) {
            (None, Some((name, _))) => Some(builder.site(name, None)),
            _ => caller,
        };
        let caller_with_inlined = inlined(&code.functions, outer, builder);
        let site = builder.site(&code.location, caller_with_inlined);
        if let Some(function) = code.library.as_ref().or(library.as_ref()) {
            note_library(builder, &code, function);
        }
        let found = (site, symbols.file_offset(pc));
        self.sites.insert((pc, stack), found);
        found
    }

    /// Returns the site of the innermost frame of a call stack.
    fn frame(
        &mut self,
        stack: CallId,
        calls: &Calls,
        builder: &mut TraceBuilder,
        symbols: &mut Symbols,
    ) -> Option<SiteId> {
        let new: Vec<_> =
            calls.outwards(stack).take_while(|(id, _)| !self.frames.contains_key(id)).collect();
        let known = new.last().map_or(stack, |(_, outermost)| outermost.outer);
        let mut at = self.frames.get(&known).cloned().unwrap_or_default();
        for (id, call) in new.into_iter().rev() {
            let own_call = Some(symbols.code(call.call)).filter(|from| !from.system);
            let from = own_call.or(at.library_call);
            if symbols.code(call.pc).system {
                at = FrameSite { site: at.site, library_call: from };
                self.frames.insert(id, at.clone());
                continue;
            }
            let name = function_name(call.pc, symbols);
            // The outermost function is called from the C library.
            let from = from.filter(|from| at.site.is_some() && from.known);
            let text = frame(&name, from.as_ref().map(|from| from.location.as_str()));
            let outer = match &from {
                Some(from) => inlined(&from.functions, at.site, builder),
                None => at.site,
            };
            at = FrameSite { site: Some(builder.site(&text, outer)), library_call: None };
            self.frames.insert(id, at.clone());
        }
        at.site
    }
}

/// Returns the call of a library from the program's own code under which `pc` is, the call stack
/// around that call, and the library's function; none if no code of the program is on the stack.
fn called_library(
    stack: CallId,
    pc: u64,
    calls: &Calls,
    symbols: &mut Symbols,
) -> Option<(u64, CallId, Option<String>)> {
    let mut at = pc;
    for (_, call) in calls.outwards(stack) {
        let from = symbols.code(call.call);
        if !from.known && !from.system {
            return None;
        }
        if !from.system {
            return Some((call.call, call.outer, symbols.code(at).library_function()));
        }
        at = call.call;
    }
    None
}

/// Notes that an event at a location of the program is inside a library's function, as a property
/// of the trace.
fn note_library(builder: &mut TraceBuilder, code: &Code, function: &str) {
    let Some(around) = code.function() else { return };
    let key = format!("{INSIDE}{around} at {}", code.location);
    let value = match builder.trace().meta().get(&key) {
        Some(known) if known.split(", ").any(|one| one == function) => return,
        Some(known) => format!("{known}, {function}"),
        None => function.to_owned(),
    };
    builder.set_meta(&key, &value);
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

/// Returns the text of a frame: the function's name and the location of its call.
fn frame(function: &str, call: Option<&str>) -> String {
    match call {
        Some(call) if !call.is_empty() => format!("{function} {call}"),
        _ => function.to_owned(),
    }
}

fn function_name(pc: u64, symbols: &mut Symbols) -> String {
    let code = symbols.code(pc);
    code.functions.last().map_or_else(|| code.location.clone(), |(name, _)| name.clone())
}
