//! Call stacks of the recorded threads, as sites of the trace.
//!
//! An event's place is `file:line` alone. Its callers are frames, innermost first: `f a.c:7`, the
//! function that the event is in and the line from which that was called, then the function
//! that holds that line, and so on; the last one is a function alone. Inlined functions are
//! frames like others.

use foretell_trace::{SiteId, TraceBuilder};
use rustc_hash::FxHashMap;

use crate::symbols::Symbols;
use foretell_log::{CallId, Calls, OUTSIDE};

/// Calls deeper than this are not told apart.
const DEEPEST: usize = 100;

/// A place in a file: the number of the file and the address there.
pub(crate) type Place = Option<(u32, u64)>;

/// The sites that were made.
#[derive(Default)]
pub(crate) struct Sites {
    /// By code address and stack, with the place of the code address.
    sites: FxHashMap<(u64, CallId), (SiteId, Place)>,
    /// Those that were asked for lately.
    recent: Recent,
    /// By stack.
    frames: FxHashMap<CallId, SiteId>,
    /// The code addresses that stand for allocations, by address and stack.
    own: FxHashMap<(u64, CallId), u64>,
}

/// Sites in the place that code address and stack give.
struct Recent(Box<[Option<RecentSite>; RECENT]>);

type RecentSite = ((u64, CallId), (SiteId, Place));

const RECENT: usize = 512;

impl Default for Recent {
    fn default() -> Self {
        Recent(Box::new([None; RECENT]))
    }
}

impl Recent {
    fn place(&mut self, (pc, stack): (u64, CallId)) -> &mut Option<RecentSite> {
        &mut self.0[(pc ^ (pc >> 9) ^ u64::from(stack).wrapping_mul(5)) as usize % RECENT]
    }
}

impl Sites {
    /// Addresses mean something else from here on.
    pub(crate) fn forget(&mut self) {
        *self = Sites::default();
    }

    /// The code address that stands for an allocation at `pc`: that one, or, where the call came from a
    /// library or a header of the system, the innermost function around it that is the program's own.
    pub(crate) fn own_code(
        &mut self,
        pc: u64,
        stack: CallId,
        calls: &Calls,
        symbols: &mut Symbols,
    ) -> u64 {
        if let Some(&own) = self.own.get(&(pc, stack)) {
            return own;
        }
        let around = calls.outwards(stack).take(DEEPEST).flat_map(|(_, c)| [c.pc, c.call]);
        let own = std::iter::once(pc).chain(around).find(|&pc| {
            let code = symbols.code(pc);
            code.known && !code.system
        });
        let own = own.unwrap_or(pc);
        self.own.insert((pc, stack), own);
        own
    }

    /// The site of an event at `pc` under a stack, and the place of `pc`; for an event in a header of the
    /// system, the site of where that was called from.
    pub(crate) fn site(
        &mut self,
        pc: u64,
        stack: CallId,
        calls: &Calls,
        builder: &mut TraceBuilder,
        symbols: &mut Symbols,
    ) -> (SiteId, Place) {
        let recent = self.recent.place((pc, stack));
        match *recent {
            Some((key, site)) if key == (pc, stack) => return site,
            _ => {}
        }
        if let Some(&site) = self.sites.get(&(pc, stack)) {
            *recent = Some(((pc, stack), site));
            return site;
        }
        // Of a deep stack the outermost calls count.
        let depth = calls.get(stack).map_or(0, |c| c.depth);
        let deeper = depth.saturating_sub(DEEPEST);
        let mut inner = calls.outwards(stack).nth(deeper).map_or(OUTSIDE, |(id, _)| id);
        let mut at = pc;
        while symbols.code(at).system
            && let Some(outer) = calls.get(inner)
            && symbols.code(outer.call).known
        {
            at = outer.call;
            inner = outer.outer;
        }
        let caller = self.frame(inner, calls, builder, symbols);
        let code = symbols.code(at);
        let outer = match (caller, code.functions.last()) {
            (None, Some((name, _))) => Some(builder.site(name, None)),
            _ => caller,
        };
        let caller_with_inlined = inlined(&code.functions, outer, builder);
        let site = builder.site(&code.place, caller_with_inlined);
        let found = (site, symbols.file_offset(pc));
        self.sites.insert((pc, stack), found);
        found
    }

    /// The site of a stack's innermost frame.
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
        let mut site = self.frames.get(&known).copied();
        for (id, call) in new.into_iter().rev() {
            let name = function_name(call.pc, symbols);
            let from = symbols.code(call.call);
            // Where the outermost function was called from is in the C library.
            let text = frame(&name, (site.is_some() && from.known).then_some(from.place.as_str()));
            let outer = inlined(&from.functions, site, builder);
            let made = builder.site(&text, outer);
            site = Some(made);
            self.frames.insert(id, made);
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
