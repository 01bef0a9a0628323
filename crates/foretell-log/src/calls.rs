//! Call stacks as numbers.
//!
//! The call stacks of the records that matter form a tree: a node is a call in a stack. Nodes are
//! made only when they are needed, so that a thread that enters and leaves functions without a
//! record that matters costs nothing, and recursion does not fill the memory.

use rustc_hash::FxHashMap;

/// A call stack, by its innermost call. [`OUTSIDE`] is the empty one.
pub type CallId = u32;

/// The empty call stack: outside every known function.
pub const OUTSIDE: CallId = 0;

/// One call in a stack.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Code address in the function that was called.
    pub pc: u64,
    /// Return address.
    pub call: u64,
    /// Call stack of the caller.
    pub outer: CallId,
    /// Number of calls in the stack, this one included.
    pub depth: usize,
}

/// The call stacks that have a number.
#[derive(Debug)]
pub struct Calls {
    calls: Vec<Call>,
    index: FxHashMap<(CallId, u64, u64), CallId>,
}

impl Default for Calls {
    fn default() -> Self {
        let outside = Call { pc: 0, call: 0, outer: OUTSIDE, depth: 0 };
        Calls { calls: vec![outside], index: FxHashMap::default() }
    }
}

impl Calls {
    /// Returns the innermost call of a stack, if it has one.
    pub fn get(&self, id: CallId) -> Option<&Call> {
        self.calls.get(id as usize).filter(|_| id != OUTSIDE)
    }

    /// Returns the calls of a stack, from the innermost outwards.
    pub fn outwards(&self, id: CallId) -> impl Iterator<Item = (CallId, &Call)> {
        let mut at = id;
        std::iter::from_fn(move || {
            let call = self.get(at)?;
            let this = (at, call);
            at = call.outer;
            Some(this)
        })
    }

    fn inner(&mut self, outer: CallId, pc: u64, call: u64) -> CallId {
        let next = self.calls.len() as CallId;
        let id = *self.index.entry((outer, pc, call)).or_insert(next);
        if id == next {
            let depth = self.calls[outer as usize].depth + 1;
            self.calls.push(Call { pc, call, outer, depth });
        }
        id
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    pc: u64,
    call: u64,
    /// Number of the stack up to here, once it was needed.
    id: Option<CallId>,
}

/// Call stack of a running thread.
#[derive(Clone, Default, Debug)]
pub struct Stack(Vec<Frame>);

impl Stack {
    /// Returns the stack with a number.
    pub fn of(id: CallId, calls: &Calls) -> Stack {
        let mut frames: Vec<Frame> = calls
            .outwards(id)
            .map(|(id, c)| Frame { pc: c.pc, call: c.call, id: Some(id) })
            .collect();
        frames.reverse();
        Stack(frames)
    }

    /// The thread enters a function.
    #[inline]
    pub fn enter(&mut self, pc: u64, call: u64) {
        self.0.push(Frame { pc, call, id: None });
    }

    /// The thread leaves a function.
    #[inline]
    pub fn exit(&mut self) {
        self.0.pop();
    }

    /// Returns the code address in the innermost function.
    pub fn innermost(&self) -> Option<u64> {
        self.0.last().map(|f| f.pc)
    }

    /// Returns the number of the stack.
    #[inline]
    pub fn id(&mut self, calls: &mut Calls) -> CallId {
        match self.0.last() {
            None => OUTSIDE,
            Some(&Frame { id: Some(id), .. }) => id,
            Some(_) => self.number(calls),
        }
    }

    fn number(&mut self, calls: &mut Calls) -> CallId {
        let known = self.0.iter().rposition(|f| f.id.is_some());
        let mut id = known.and_then(|i| self.0[i].id).unwrap_or(OUTSIDE);
        for frame in &mut self.0[known.map_or(0, |i| i + 1)..] {
            id = calls.inner(id, frame.pc, frame.call);
            frame.id = Some(id);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_have_equal_numbers() {
        let mut calls = Calls::default();
        let (mut a, mut b) = (Stack::default(), Stack::default());
        assert_eq!(a.id(&mut calls), OUTSIDE);
        a.enter(1, 2);
        a.enter(3, 4);
        a.enter(5, 6);
        a.exit();
        let id = a.id(&mut calls);
        b.enter(1, 2);
        assert_ne!(b.id(&mut calls), id);
        b.enter(3, 4);
        assert_eq!(b.id(&mut calls), id);
        // The tree has only stacks whose number was asked for.
        assert_eq!(calls.calls.len(), 3);
        let mut again = Stack::of(id, &calls);
        assert_eq!((again.innermost(), again.id(&mut calls)), (Some(3), id));
        again.exit();
        let outer = again.id(&mut calls);
        assert_eq!(calls.get(outer).map(|c| (c.pc, c.depth)), Some((1, 1)));
    }
}
