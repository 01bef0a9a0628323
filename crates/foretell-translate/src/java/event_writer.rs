//! Writes events of a Java run: each with its step and its call stack.

use std::collections::BTreeMap;

use foretell_rt_format::Step;
use foretell_trace::{EventKind, MemoryOrder, SiteId, TraceBuilder};
use rustc_hash::FxHashMap;

use super::log::Entry;
use super::tables::Tables;
use crate::trace_writer::TraceWriter;

/// A trace under construction, with the calls and steps of its threads.
pub(super) struct EventWriter<'a> {
    pub(super) trace: TraceWriter,
    pub(super) tables: &'a Tables,
    pub(super) calls: CallTree,
    /// The last step of each thread so far.
    last_steps: FxHashMap<u32, Step>,
    /// Number of events of each thread so far.
    counts: BTreeMap<u32, u64>,
    /// Numbers of classes among the modules of the steps, by name.
    modules: FxHashMap<String, u32>,
}

impl<'a> EventWriter<'a> {
    pub(super) fn new(tables: &'a Tables) -> Self {
        EventWriter {
            trace: TraceWriter::new(false),
            tables,
            calls: CallTree::default(),
            last_steps: FxHashMap::default(),
            counts: BTreeMap::new(),
            modules: FxHashMap::default(),
        }
    }

    /// Notes the step that an entry is, if it is one.
    pub(super) fn note_step(&mut self, entry: &Entry<'_>) {
        if let Some(kind) = entry.record.kind() {
            let place = self.step_location(entry.record.site());
            let (thread, ordinal) = (entry.thread, entry.ordinal);
            self.last_steps.insert(thread, Step { thread, ordinal, kind, place });
        }
    }

    /// Returns the module and the ordinal of a location, for the schedule.
    fn step_location(&mut self, site: u32) -> Option<(u32, u64)> {
        let location = self.tables.location(site)?;
        let class = &self.tables.class(location.class)?.name;
        let module = match self.modules.get(class) {
            Some(&module) => module,
            None => {
                let modules = &mut self.trace.steps.modules;
                let module = modules.len() as u32;
                modules.push(class.clone());
                self.modules.insert(class.clone(), module);
                module
            }
        };
        Some((module, location.ordinal))
    }

    /// Adds an event that is a step of the program.
    pub(super) fn push(&mut self, entry: &Entry<'_>, kind: EventKind) {
        self.push_ordered(entry, kind, MemoryOrder::default());
    }

    /// Adds an event that is a step of the program, with its memory order.
    pub(super) fn push_ordered(&mut self, entry: &Entry<'_>, kind: EventKind, order: MemoryOrder) {
        let site = self.site(entry.thread, entry.record.site());
        let step = self.last_steps.get(&entry.thread).copied();
        *self.counts.entry(entry.thread).or_insert(0) += 1;
        self.trace.push_ordered(entry.thread, kind, order, site, step);
    }

    /// Adds a memory fence, which is no step of its own.
    pub(super) fn push_fence(&mut self, entry: &Entry<'_>, order: MemoryOrder) {
        let site = self.site(entry.thread, entry.record.site());
        *self.counts.entry(entry.thread).or_insert(0) += 1;
        self.trace.push_fence(entry.thread, order, site);
    }

    /// Adds an event that is no step of its own, at a location; 0: none.
    pub(super) fn push_marker(&mut self, thread: u32, kind: EventKind, site: u32) {
        let site = self.site(thread, site);
        *self.counts.entry(thread).or_insert(0) += 1;
        self.trace.push_marker(thread, kind, site);
    }

    /// Returns the threads that have events.
    pub(super) fn threads_with_events(&self) -> Vec<u32> {
        self.counts.keys().copied().collect()
    }

    /// Returns the number of events of a thread so far.
    pub(super) fn events_of(&self, thread: u32) -> u64 {
        self.counts.get(&thread).copied().unwrap_or(0)
    }

    /// Ends a thread.
    pub(super) fn end_thread(&mut self, thread: u32) {
        self.trace.steps.last.extend(self.last_steps.get(&thread));
        self.trace.end_thread(thread);
    }

    fn site(&mut self, thread: u32, site: u32) -> Option<SiteId> {
        self.calls.site(thread, site, self.tables, &mut self.trace.builder)
    }
}

/// A node of the call tree: a call of a method.
#[derive(Clone, Copy, Default)]
struct Node {
    parent: u32,
    call: u32,
    method: u32,
    site: Option<SiteId>,
}

/// The tree of calls, and the node that each thread is in. Node 0 is none.
#[derive(Default)]
pub(super) struct CallTree {
    nodes: Vec<Node>,
    current: FxHashMap<u32, u32>,
    /// Sites by location and node.
    sites: FxHashMap<(u32, u32), SiteId>,
}

impl CallTree {
    /// Sets the node that a thread is in.
    pub(super) fn set_current(&mut self, thread: u32, node: u32) {
        self.current.insert(thread, node);
    }

    /// Adds a node: a method called at a location.
    pub(super) fn add(&mut self, node: u32, parent: u32, call: u32, method: u32) {
        // Nodes are numbered as they come: another number is that of a damaged log.
        let at = node as usize;
        if self.nodes.len() == at || self.nodes.is_empty() && at == 1 {
            self.nodes.resize(at + 1, Node::default());
        }
        if let Some(known) = self.nodes.get_mut(at) {
            *known = Node { parent, call, method, site: None };
        }
    }

    /// Returns the site of a location under the call stack of a thread.
    fn site(
        &mut self,
        thread: u32,
        site: u32,
        tables: &Tables,
        builder: &mut TraceBuilder,
    ) -> Option<SiteId> {
        let node = self.current.get(&thread).copied().unwrap_or(0);
        if let Some(&known) = self.sites.get(&(site, node)) {
            return Some(known);
        }
        let location = tables.source_line(site)?;
        let caller = self.node_site(node, tables, builder);
        let id = builder.site(&location, caller);
        self.sites.insert((site, node), id);
        Some(id)
    }

    /// Returns the site of a node: the method, and the location of its call.
    fn node_site(
        &mut self,
        node: u32,
        tables: &Tables,
        builder: &mut TraceBuilder,
    ) -> Option<SiteId> {
        let mut path = Vec::new();
        let mut next = node;
        let mut site = None;
        // In a damaged log a node may be its own ancestor.
        while path.len() < self.nodes.len() {
            let known = *self.nodes.get(next as usize).filter(|_| next != 0)?;
            if known.site.is_some() {
                site = known.site;
                break;
            }
            path.push(next);
            next = known.parent;
            if next == 0 {
                break;
            }
        }
        for &at in path.iter().rev() {
            let node = self.nodes[at as usize];
            let method = tables.method(node.method);
            let text = match tables.source_line(node.call) {
                Some(call) => format!("{method} {call}"),
                None => method.to_owned(),
            };
            site = Some(builder.site(&text, site));
            self.nodes[at as usize].site = site;
        }
        site
    }
}
