//! Declarations: the `#!` lines.

use super::escape::Spot;
use super::problem::{BAD_DECLARATION, BAD_VALUE, Problem, quote};
use super::reader::Reader;
use super::value::parse_value;
use crate::{MemBlockId, TraceBuilder};

impl Reader<'_> {
    /// Reads what follows `#!`.
    pub(super) fn declaration(&mut self, text: &str) -> Result<(), Problem> {
        let text = text.trim_ascii();
        let (word, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        let rest = rest.trim_ascii();
        match word {
            "sem" => self.declare_semaphore(rest),
            "barrier" => self.declare_barrier(rest),
            "init" => self.declare_initial_value(rest),
            "name" => self.declare_display_name(rest),
            "meta" => self.declare_meta(rest),
            "opaque" => {
                let name = self.name(rest, "opaque", "a variable", Spot::Object)?;
                let v = self.builder.variable(&name);
                self.builder.set_opaque(v);
                Ok(())
            }
            "order-only" => {
                let name = self.name(rest, word, "a lock", Spot::Object)?;
                let l = self.builder.lock(&name);
                self.builder.set_order_only(l);
                Ok(())
            }
            "part" => self.declare_part(rest, "part", PartKind::Any),
            "part-variable" => self.declare_part(rest, word, PartKind::Variable),
            "part-lock" => self.declare_part(rest, word, PartKind::Lock),
            "part-condition" => self.declare_part(rest, word, PartKind::Condition),
            "ended" => {
                let name = self.name(rest, "ended", "a thread", Spot::Thread)?;
                let t = self.builder.thread(&name);
                self.builder.set_ended(t);
                Ok(())
            }
            "escaped" if rest.is_empty() => self.declare_escaped(),
            _ => Err(wrong(format!(
                "unknown declaration {} (sem, barrier, init, opaque, order-only, part, name, \
                 ended, meta, escaped)",
                quote(word)
            ))),
        }
    }

    fn declare_semaphore(&mut self, text: &str) -> Result<(), Problem> {
        let (name, count) = pair(text, "sem", "s=2")?;
        let name = self.name(name, "sem", "a semaphore", Spot::Object)?;
        let count: u64 = number(count, "count")?;
        let s = self.builder.semaphore(&name);
        let trace = self.builder.trace();
        if trace.has_declared_count(s) && trace.initial_count(s) != count {
            let before = trace.initial_count(s).to_string();
            return Err(twice("semaphore", &name, &before));
        }
        self.builder.set_initial_count(s, count);
        Ok(())
    }

    fn declare_barrier(&mut self, text: &str) -> Result<(), Problem> {
        let (name, parties) = pair(text, "barrier", "b=3")?;
        let name = self.name(name, "barrier", "a barrier", Spot::Object)?;
        let parties: u32 = number(parties, "number of parties")?;
        if parties == 0 {
            return Err(wrong(format!("barrier {} needs at least one party", quote(&name))));
        }
        let b = self.builder.barrier(&name);
        match self.builder.trace().parties(b) {
            Some(before) if before != parties => {
                return Err(twice("barrier", &name, &before.to_string()));
            }
            _ => self.builder.set_parties(b, parties),
        }
        Ok(())
    }

    fn declare_initial_value(&mut self, text: &str) -> Result<(), Problem> {
        let (name, value) = pair(text, "init", "x=7")?;
        let name = self.name(name, "init", "a variable", Spot::Object)?;
        let value = parse_value(value).map_err(|m| Problem::new(BAD_VALUE, m))?;
        let value = self.builder.values().intern(value);
        let v = self.builder.variable(&name);
        let trace = self.builder.trace();
        match trace.declared_initial_value(v) {
            Some(before) if before != value => {
                let before = trace.values().get(before).map_or_else(String::new, |v| v.to_string());
                return Err(twice("variable", &name, &before));
            }
            _ => self.builder.set_initial_value(v, value),
        }
        Ok(())
    }

    fn declare_display_name(&mut self, text: &str) -> Result<(), Problem> {
        let (thread, display) = pair(text, "name", "T1=worker-1")?;
        let thread = self.name(thread, "name", "a thread", Spot::Thread)?;
        let display = self.unescape(display)?;
        let t = self.builder.thread(&thread);
        match self.builder.trace().declared_display_name(t) {
            Some(before) if before != display => Err(twice("thread", &thread, before)),
            _ => {
                self.builder.set_display_name(t, &display);
                Ok(())
            }
        }
    }

    /// The block is the last word: the name before it may have spaces in it.
    fn declare_part(&mut self, text: &str, word: &str, kind: PartKind) -> Result<(), Problem> {
        let Some((object, block)) = text.rsplit_once([' ', '\t']) else {
            return Err(wrong(format!("`#! {word}` is written like `#! {word} x b`")));
        };
        let object = self.name(object.trim_ascii(), word, "a part", Spot::Object)?;
        let block = self.name(block, word, "a memory block", Spot::Block)?;
        let block = self.builder.mem_block(&block);
        let object = object.into_owned();
        match self.part_blocks.insert((kind, object.clone()), block) {
            Some(before) if before != block => {
                let name = self.builder.trace().mem_block_name(before);
                let problem = twice("part", &object, name);
                self.part_blocks.insert((kind, object), before);
                Err(problem)
            }
            Some(_) => Ok(()),
            None => {
                self.parts.push(Part { kind, object, block });
                Ok(())
            }
        }
    }

    fn declare_meta(&mut self, text: &str) -> Result<(), Problem> {
        let (key, value) = pair(text, "meta", "ended=exit 0")?;
        let key = self.name(key, "meta", "a key", Spot::Object)?;
        let value = self.unescape(value)?;
        match self.builder.trace().meta().get(&*key) {
            Some(before) if *before != value => Err(twice("meta", &key, before)),
            _ => {
                self.builder.set_meta(&key, &value);
                Ok(())
            }
        }
    }

    /// Escapes hold for the whole text, so they are declared before anything is named.
    fn declare_escaped(&mut self) -> Result<(), Problem> {
        if self.named_anything() && !self.escaped {
            return Err(wrong("`#! escaped` must come before events and declarations".to_owned()));
        }
        self.escaped = true;
        Ok(())
    }
}

/// The kind of object that a part of a memory block is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum PartKind {
    /// Whatever has the name: a variable, a lock, a condition.
    Any,
    Variable,
    Lock,
    Condition,
}

/// A declared part of a memory block.
#[derive(Clone, Debug)]
pub(super) struct Part {
    kind: PartKind,
    object: String,
    block: MemBlockId,
}

/// Puts the declared parts into their blocks. A name that no event used is part of nothing.
pub(super) fn resolve_parts(parts: &[Part], builder: &mut TraceBuilder) {
    for &Part { kind, ref object, block } in parts {
        let is = |k| kind == PartKind::Any || kind == k;
        if let Some(v) = builder.trace().find_variable(object).filter(|_| is(PartKind::Variable)) {
            builder.set_variable_part(v, block);
        }
        if let Some(l) = builder.trace().find_lock(object).filter(|_| is(PartKind::Lock)) {
            builder.set_lock_part(l, block);
        }
        if let Some(c) = builder.trace().find_condition(object).filter(|_| is(PartKind::Condition))
        {
            builder.set_condition_part(c, block);
        }
    }
}

/// The two sides of the first `=`.
fn pair<'a>(text: &'a str, word: &str, example: &str) -> Result<(&'a str, &'a str), Problem> {
    match text.split_once('=') {
        Some((name, value)) if !value.trim_ascii().is_empty() => {
            Ok((name.trim_ascii(), value.trim_ascii()))
        }
        _ => Err(wrong(format!("`#! {word}` is written like `#! {word} {example}`"))),
    }
}

fn number<N: std::str::FromStr>(text: &str, what: &str) -> Result<N, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| wrong(format!("{what} {} is no number that fits", quote(text))))
}

fn wrong(message: String) -> Problem {
    Problem::new(BAD_DECLARATION, message)
}

fn twice(kind: &str, name: &str, before: &str) -> Problem {
    wrong(format!("{kind} {} was declared before, as {}", quote(name), quote(before)))
}
