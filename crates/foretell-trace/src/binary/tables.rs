//! The definition chunks: names, sites, registers, values, expressions, declarations and what is
//! known about the execution as a whole.
//!
//! Rows of a table are numbered in the order of their definition, over all chunks, and are defined
//! once; so the numbers in a file are the identifiers of the trace in memory.

use std::io::{self, Write};

use foretell_varint as varint;

use super::bytes::{Cursor, Fault, put_text};
use super::chunk::{ChunkType, write_chunk};
use super::exprs::{self, ExprFacts};
use crate::trace::Tables;
use crate::value::TABLE_START;
use crate::{
    BarrierId, CondId, LockId, MemBlockId, Names, RegId, Register, SemId, Site, SiteId, ThreadId,
    Trace, TraceBuilder, Value, ValueId, VarId,
};

/// Payload at which a definition chunk is cut.
const CUT: usize = 1 << 16;
/// The kinds of declarations.
const DISPLAY_NAME: u8 = 0;
const INITIAL_VALUE: u8 = 1;
const INITIAL_COUNT: u8 = 2;
const PARTIES: u8 = 3;
const OPAQUE: u8 = 4;
const ENDED: u8 = 5;
const VARIABLE_PART: u8 = 6;
const LOCK_PART: u8 = 7;
const CONDITION_PART: u8 = 8;
const ORDER_ONLY: u8 = 9;

/// A value as it is, after its tag: integers as a difference to the integer before.
const VALUE_DELTA: u8 = 0;
/// An integer in eight bytes.
const VALUE_RAW: u8 = 65;

const NAME_TABLES: usize = 10;
/// The name table of memory blocks.
const MEM_BLOCK_NAMES: usize = 9;

fn name_table(tables: &Tables, number: usize) -> Option<&Names> {
    Some(match number {
        0 => &tables.thread_names,
        1 => &tables.variables,
        2 => &tables.locks,
        3 => &tables.conditions,
        4 => &tables.semaphores,
        5 => &tables.barriers,
        6 => &tables.labels,
        7 => &tables.locations,
        8 => &tables.register_names,
        9 => &tables.mem_blocks,
        _ => return None,
    })
}

fn name_table_mut(tables: &mut Tables, number: usize) -> Option<&mut Names> {
    Some(match number {
        0 => &mut tables.thread_names,
        1 => &mut tables.variables,
        2 => &mut tables.locks,
        3 => &mut tables.conditions,
        4 => &mut tables.semaphores,
        5 => &mut tables.barriers,
        6 => &mut tables.labels,
        7 => &mut tables.locations,
        8 => &mut tables.register_names,
        9 => &mut tables.mem_blocks,
        _ => return None,
    })
}

/// Number of names in each table of objects.
pub(super) fn object_counts(trace: &Trace) -> [u32; super::predict::OBJECT_TABLES] {
    std::array::from_fn(|i| {
        let number = if i == super::predict::MEM_BLOCKS { MEM_BLOCK_NAMES } else { i };
        name_table(&trace.tables, number).map_or(0, |names| names.len() as u32)
    })
}

/// Number of rows of every table that have been written.
#[derive(Default)]
pub(super) struct Written {
    names: [usize; NAME_TABLES],
    sites: usize,
    registers: usize,
    values: usize,
    exprs: usize,
}

impl Written {
    /// Writes the rows that the tables have gained since the last call.
    pub(super) fn catch_up(&mut self, trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
        let tables = &trace.tables;
        for number in 0..NAME_TABLES {
            let Some(names) = name_table(tables, number) else { continue };
            write_names(number as u8, names, &mut self.names[number], out)?;
        }
        write_rows(ChunkType::SITES, tables.sites.len(), &mut self.sites, out, |row, bytes| {
            let site = tables.sites[row];
            varint::push(bytes, u64::from(site.location));
            varint::push(bytes, site.caller.map_or(0, |c| u64::from(c.0) + 1));
        })?;
        let registers = &tables.registers;
        write_rows(
            ChunkType::REGISTERS,
            registers.len(),
            &mut self.registers,
            out,
            |row, bytes| {
                varint::push(bytes, u64::from(registers[row].thread.0));
                varint::push(bytes, u64::from(registers[row].name));
            },
        )?;
        let values = tables.values.table();
        let mut before = ValueBase::default();
        write_rows(ChunkType::VALUES, values.len(), &mut self.values, out, |row, bytes| {
            before.chunk_starts_if(bytes.is_empty());
            put_value(bytes, values[row], &mut before);
        })?;
        let all = &tables.exprs;
        write_rows(ChunkType::EXPRESSIONS, all.len(), &mut self.exprs, out, |row, bytes| {
            exprs::put(bytes, row as u32, all);
        })
    }
}

/// Chunks of one row after the other: the first row's number, how many, the rows.
fn write_rows(
    kind: ChunkType,
    len: usize,
    written: &mut usize,
    out: &mut dyn Write,
    mut put: impl FnMut(usize, &mut Vec<u8>),
) -> io::Result<()> {
    while *written < len {
        let first = *written;
        let mut rows = Vec::new();
        while *written < len && rows.len() < CUT {
            put(*written, &mut rows);
            *written += 1;
        }
        let mut payload = Vec::with_capacity(rows.len() + 10);
        varint::push(&mut payload, first as u64);
        varint::push(&mut payload, (*written - first) as u64);
        payload.append(&mut rows);
        write_chunk(out, kind, &payload)?;
    }
    Ok(())
}

fn write_names(
    table: u8,
    names: &Names,
    written: &mut usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut before: &str = "";
    while *written < names.len() {
        let first = *written;
        let mut rows = Vec::new();
        while *written < names.len() && rows.len() < CUT {
            let name = names.get(*written as u32).unwrap_or_default();
            if rows.is_empty() {
                before = "";
            }
            let shared =
                before.bytes().zip(name.bytes()).take(255).take_while(|(a, b)| a == b).count();
            rows.push(shared as u8);
            varint::push(&mut rows, (name.len() - shared) as u64);
            rows.extend_from_slice(&name.as_bytes()[shared..]);
            before = name;
            *written += 1;
        }
        let mut payload = Vec::with_capacity(rows.len() + 11);
        payload.push(table);
        varint::push(&mut payload, first as u64);
        varint::push(&mut payload, (*written - first) as u64);
        payload.append(&mut rows);
        write_chunk(out, ChunkType::NAMES, &payload)?;
    }
    Ok(())
}

/// The integer before, in the same chunk.
#[derive(Default)]
struct ValueBase(i64);

impl ValueBase {
    fn chunk_starts_if(&mut self, start: bool) {
        if start {
            self.0 = 0;
        }
    }
}

fn put_value(out: &mut Vec<u8>, value: Value, before: &mut ValueBase) {
    match value {
        Value::Int(i) => {
            let difference = varint::zigzag(i.wrapping_sub(before.0));
            before.0 = i;
            if difference < 1 << 56 {
                out.push(VALUE_DELTA);
                varint::push(out, difference);
            } else {
                out.push(VALUE_RAW);
                out.extend_from_slice(&i.to_le_bytes());
            }
        }
        Value::Bits { width, bits } => {
            out.push(width);
            varint::push(out, bits);
        }
    }
}

fn take_value(from: &mut Cursor<'_>, before: &mut ValueBase) -> Result<Value, Fault> {
    match from.byte()? {
        VALUE_DELTA => {
            before.0 = before.0.wrapping_add(varint::unzigzag(from.varint()?));
            Ok(Value::Int(before.0))
        }
        VALUE_RAW => {
            let mut raw = [0; 8];
            raw.copy_from_slice(from.take(8)?);
            before.0 = i64::from_le_bytes(raw);
            Ok(Value::Int(before.0))
        }
        width => bits(width, from.varint()?),
    }
}

/// A bit-vector, if there is one with this width and these bits.
pub(super) fn bits(width: u8, bits: u64) -> Result<Value, Fault> {
    if !(1..=64).contains(&width) || (width < 64 && bits >> width != 0) {
        return Err("has a bit-vector that is wider than it says, or than 64 bits");
    }
    Ok(Value::Bits { width, bits })
}

/// Declarations and facts about the whole, waiting to be written.
#[derive(Default)]
pub(super) struct Declarations {
    declarations: Vec<u8>,
    meta: Vec<u8>,
}

impl Declarations {
    pub(super) fn display_name(&mut self, t: ThreadId, name: &str) {
        self.start(DISPLAY_NAME, t.0);
        put_text(&mut self.declarations, name);
    }

    pub(super) fn initial_value(&mut self, v: VarId, value: ValueId) {
        self.start(INITIAL_VALUE, v.0);
        varint::push(&mut self.declarations, u64::from(value.0));
    }

    pub(super) fn initial_count(&mut self, s: SemId, count: u64) {
        self.start(INITIAL_COUNT, s.0);
        varint::push(&mut self.declarations, count);
    }

    pub(super) fn parties(&mut self, b: BarrierId, parties: u32) {
        self.start(PARTIES, b.0);
        varint::push(&mut self.declarations, u64::from(parties));
    }

    pub(super) fn opaque(&mut self, v: VarId) {
        self.start(OPAQUE, v.0);
    }

    pub(super) fn order_only(&mut self, l: LockId) {
        self.start(ORDER_ONLY, l.0);
    }

    pub(super) fn ended(&mut self, t: ThreadId) {
        self.start(ENDED, t.0);
    }

    pub(super) fn variable_part(&mut self, v: VarId, block: MemBlockId) {
        self.start(VARIABLE_PART, v.0);
        varint::push(&mut self.declarations, u64::from(block.0));
    }

    pub(super) fn lock_part(&mut self, l: LockId, block: MemBlockId) {
        self.start(LOCK_PART, l.0);
        varint::push(&mut self.declarations, u64::from(block.0));
    }

    pub(super) fn condition_part(&mut self, c: CondId, block: MemBlockId) {
        self.start(CONDITION_PART, c.0);
        varint::push(&mut self.declarations, u64::from(block.0));
    }

    pub(super) fn meta(&mut self, key: &str, value: &str) {
        put_text(&mut self.meta, key);
        put_text(&mut self.meta, value);
    }

    fn start(&mut self, kind: u8, id: u32) {
        self.declarations.push(kind);
        varint::push(&mut self.declarations, u64::from(id));
    }

    /// All declarations of a trace, in the order of the identifiers.
    pub(super) fn of(trace: &Trace) -> Self {
        fn sorted<K: Copy + Ord, V>(map: &rustc_hash::FxHashMap<K, V>) -> Vec<(K, &V)> {
            let mut entries: Vec<_> = map.iter().map(|(&k, v)| (k, v)).collect();
            entries.sort_unstable_by_key(|&(k, _)| k);
            entries
        }
        let tables = &trace.tables;
        let mut all = Declarations::default();
        sorted(&tables.display_names).into_iter().for_each(|(t, name)| all.display_name(t, name));
        sorted(&tables.initial_values).into_iter().for_each(|(v, &x)| all.initial_value(v, x));
        sorted(&tables.initial_counts).into_iter().for_each(|(s, &n)| all.initial_count(s, n));
        sorted(&tables.parties).into_iter().for_each(|(b, &n)| all.parties(b, n));
        sorted(&tables.opaque).into_iter().for_each(|(v, ())| all.opaque(v));
        sorted(&tables.order_only).into_iter().for_each(|(l, ())| all.order_only(l));
        sorted(&tables.ended).into_iter().for_each(|(t, ())| all.ended(t));
        let parts = &tables.parts;
        sorted(&parts.variables).into_iter().for_each(|(v, &b)| all.variable_part(v, b));
        sorted(&parts.locks).into_iter().for_each(|(l, &b)| all.lock_part(l, b));
        sorted(&parts.conditions).into_iter().for_each(|(c, &b)| all.condition_part(c, b));
        tables.meta.iter().for_each(|(key, value)| all.meta(key, value));
        all
    }

    /// Writes what is waiting.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.declarations.is_empty() {
            write_chunk(out, ChunkType::DECLARATIONS, &self.declarations)?;
            self.declarations.clear();
        }
        if !self.meta.is_empty() {
            write_chunk(out, ChunkType::META, &self.meta)?;
            self.meta.clear();
        }
        Ok(())
    }
}

/// Takes in one definition chunk; `None` if `kind` is none. `known` has what
/// matters of every expression so far.
pub(super) fn read(
    kind: ChunkType,
    payload: &[u8],
    builder: &mut TraceBuilder,
    known: &mut Vec<ExprFacts>,
) -> Option<Result<(), Fault>> {
    let tables = &mut builder.trace.tables;
    let mut from = Cursor::new(payload);
    let result = match kind {
        ChunkType::NAMES => read_names(&mut from, tables),
        ChunkType::SITES => read_sites(&mut from, tables),
        ChunkType::REGISTERS => read_registers(&mut from, tables),
        ChunkType::VALUES => read_values(&mut from, tables),
        ChunkType::EXPRESSIONS => read_exprs(&mut from, tables, known),
        ChunkType::DECLARATIONS => read_declarations(&mut from, tables),
        ChunkType::META => read_meta(&mut from, tables),
        _ => return None,
    };
    Some(result.and_then(|()| {
        if from.is_empty() { Ok(()) } else { Err("is longer than the counts in it say") }
    }))
}

const TWICE: Fault = "defines something a second time";
const UNDEFINED: Fault = "uses something that is not defined yet";

/// The head of a table's chunk: the first row, which must be the next one, and how many.
fn rows(from: &mut Cursor<'_>, len: usize, each: usize) -> Result<usize, Fault> {
    if from.varint()? != len as u64 {
        return Err("does not go on where the definitions before it end");
    }
    let count = from.count(each)?;
    if len + count >= super::MAX_ROWS {
        return Err("defines more rows than a table can have");
    }
    Ok(count)
}

fn below(from: &mut Cursor<'_>, len: usize) -> Result<u32, Fault> {
    let number = from.varint()?;
    if number < len as u64 { Ok(number as u32) } else { Err(UNDEFINED) }
}

fn read_names(from: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    let table = from.byte()?;
    let names =
        name_table_mut(tables, usize::from(table)).ok_or("defines names of an unknown kind")?;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..rows(from, names.len(), 2)? {
        let shared = usize::from(from.byte()?);
        if shared > name.len() {
            return Err("has a name that shares more than there is with the one before");
        }
        name.truncate(shared);
        let rest = from.count(1)?;
        name.extend_from_slice(from.take(rest)?);
        let text = std::str::from_utf8(&name).map_err(|_| "has a name that is not UTF-8")?;
        let next = names.len();
        if names.intern(text) as usize != next {
            return Err(TWICE);
        }
    }
    Ok(())
}

fn read_sites(from: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    for _ in 0..rows(from, tables.sites.len(), 2)? {
        let location = below(from, tables.locations.len())?;
        let next = tables.sites.len();
        let caller = below(from, next + 1)?.checked_sub(1).map(SiteId);
        let site = Site { location, caller };
        if tables.site_index.insert(site, SiteId::from_index(next)).is_some() {
            return Err(TWICE);
        }
        tables.sites.push(site);
    }
    Ok(())
}

fn read_registers(from: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    for _ in 0..rows(from, tables.registers.len(), 2)? {
        let thread = ThreadId(below(from, tables.thread_names.len())?);
        let name = below(from, tables.register_names.len())?;
        let register = Register { thread, name };
        let next = RegId::from_index(tables.registers.len());
        if tables.register_index.insert(register, next).is_some() {
            return Err(TWICE);
        }
        tables.registers.push(register);
    }
    Ok(())
}

fn read_values(from: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    let mut before = ValueBase::default();
    for _ in 0..rows(from, tables.values.table().len(), 2)? {
        let next = TABLE_START + tables.values.table().len() as u32;
        let value = take_value(from, &mut before)?;
        if tables.values.intern(value).0 != next {
            return Err(TWICE);
        }
    }
    Ok(())
}

fn read_exprs(
    from: &mut Cursor<'_>,
    tables: &mut Tables,
    known: &mut Vec<ExprFacts>,
) -> Result<(), Fault> {
    for _ in 0..rows(from, tables.exprs.len(), 1)? {
        let next = tables.exprs.len();
        let expr = exprs::take(from, next as u32, tables.registers.len())?;
        known.push(ExprFacts::of(&expr, known, &tables.registers)?);
        if tables.exprs.intern(expr).index() != next {
            return Err(TWICE);
        }
    }
    Ok(())
}

fn read_declarations(from: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    while !from.is_empty() {
        match from.byte()? {
            DISPLAY_NAME => {
                let thread = ThreadId(below(from, tables.thread_names.len())?);
                tables.display_names.insert(thread, from.text()?.to_owned());
            }
            INITIAL_VALUE => {
                let variable = VarId(below(from, tables.variables.len())?);
                let value = ValueId(from.varint32()?);
                tables.values.get(value).ok_or(UNDEFINED)?;
                tables.initial_values.insert(variable, value);
            }
            INITIAL_COUNT => {
                let semaphore = SemId(below(from, tables.semaphores.len())?);
                tables.initial_counts.insert(semaphore, from.varint()?);
            }
            PARTIES => {
                let barrier = BarrierId(below(from, tables.barriers.len())?);
                let parties = from.varint32()?;
                if parties == 0 {
                    return Err("declares a barrier without parties");
                }
                tables.parties.insert(barrier, parties);
            }
            OPAQUE => {
                tables.opaque.insert(VarId(below(from, tables.variables.len())?), ());
            }
            ORDER_ONLY => {
                tables.order_only.insert(LockId(below(from, tables.locks.len())?), ());
            }
            ENDED => {
                tables.ended.insert(ThreadId(below(from, tables.thread_names.len())?), ());
            }
            VARIABLE_PART => {
                let variable = VarId(below(from, tables.variables.len())?);
                let block = MemBlockId(below(from, tables.mem_blocks.len())?);
                tables.parts.add_variable(variable, block);
            }
            LOCK_PART => {
                let lock = LockId(below(from, tables.locks.len())?);
                let block = MemBlockId(below(from, tables.mem_blocks.len())?);
                tables.parts.locks.insert(lock, block);
            }
            CONDITION_PART => {
                let condition = CondId(below(from, tables.conditions.len())?);
                let block = MemBlockId(below(from, tables.mem_blocks.len())?);
                tables.parts.conditions.insert(condition, block);
            }
            _ => return Err("has a declaration of an unknown kind"),
        }
    }
    Ok(())
}

fn read_meta(from: &mut Cursor<'_>, tables: &mut Tables) -> Result<(), Fault> {
    while !from.is_empty() {
        let key = from.text()?.to_owned();
        tables.meta.insert(key, from.text()?.to_owned());
    }
    Ok(())
}
