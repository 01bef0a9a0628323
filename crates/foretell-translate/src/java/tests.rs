//! Translations of handmade logs. All numbers are small: a byte each, doubled where signed.

use foretell_trace::LockId;

use super::log::Log;
use super::tables::Tables;
use super::translation::translate;
use crate::native::tests::events;
use crate::{Blocks, Translated};

const READ: u8 = 48;
const WRITE: u8 = 49;
const UPDATE: u8 = 50;
const FAILED_UPDATE: u8 = 51;
const OPERATION: u8 = 46;
const OPERATION_FAILED_UPDATE: u8 = 47;

/// Returns the translation of a run of two threads with alternating turns.
fn translated(turns: &[&[&[u8]]]) -> Translated {
    let mut bytes = b"FTJAVA2\n\0\0".to_vec();
    bytes.extend(*b"\x03\x01\x01A\x02\x07\x01\x02\x08\x01\x1b\x01\x01\x01s\x1b\x02\x01\x01t");
    bytes.extend([1, 0, 21, 0, 1, 0]);
    for (turn, records) in (0u8..).zip(turns) {
        bytes.extend([1, turn % 2]);
        bytes.extend(records.iter().copied().flatten());
    }
    bytes.push(0);
    let log = Log::parse(&bytes).unwrap();
    let translated = translate(&log, &Tables::default(), &Blocks::default());
    assert!(!translated.damaged && translated.repairs.is_empty());
    translated
}

/// The lock is held around the failed exchange; a section of it follows reads, but not writes.
#[test]
fn failed_exchange_is_a_read_in_a_lock_section() {
    let t = translated(&[
        &[&[UPDATE, 0, 7, 0, 0, 2]],
        &[&[WRITE, 0, 7, 0, 8], &[FAILED_UPDATE, 0, 7, 0, 8]],
        &[&[READ, 0, 7, 0, 8], &[WRITE, 0, 8, 0, 2]],
        &[&[READ, 0, 8, 0, 2]],
    ]);
    assert_eq!(
        events(&t),
        [
            "T0 fork",
            "T0 au A#1=0=1",
            "T0 acq",
            "T0 rel",
            "T1 aw A#1=4",
            "T1 acq",
            "T1 ar A#1=4",
            "T1 rel",
            "T0 ar A#1=4",
            "T0 acq",
            "T0 rel",
            "T0 aw A#2=1",
            "T1 ar A#2=1",
        ]
    );
    let trace = t.trace.whole();
    assert_eq!((trace.lock_count(), trace.lock_name(LockId(0))), (1, "attempts at A#1"));
    let no_steps = (0u32..).zip(t.steps.events.iter()).filter(|(_, s)| s.is_none());
    assert_eq!(no_steps.map(|(i, _)| i).collect::<Vec<u32>>(), [2, 3, 5, 7, 9, 10]);
}

/// The lock is held around an operation that takes an item; a section comes before a `post`; a
/// semaphore with both `down` and `post` needs none.
#[test]
fn collection_operations_have_sections_around_their_semaphores() {
    let t = translated(&[
        &[&[OPERATION, 0, 0, 7, 0, 0, 1, 1], &[OPERATION, 0, 2, 8, 0, 0, 1, 2]],
        &[&[OPERATION, 0, 1, 7, 0, 1, 2, 0], &[OPERATION_FAILED_UPDATE, 0, 0, 7, 0, 2, 2, 0]],
        &[&[OPERATION, 0, 0, 7, 0, 2, 2, 0], &[OPERATION_FAILED_UPDATE, 0, 0, 8, 0, 1, 1, 0]],
        &[&[OPERATION, 0, 2, 8, 0, 9, 2, 2]],
    ]);
    assert_eq!(
        events(&t),
        [
            "T0 fork",
            "T0 au A#1=0=1",
            "T0 acq",
            "T0 rel",
            "T0 post",
            "T0 down",
            "T0 au A#2=0=1",
            "T0 acq",
            "T0 rel",
            "T0 post",
            "T0 au order of A#2",
            "T1 acq",
            "T1 down",
            "T1 au A#1=1=2",
            "T1 rel",
            "T1 acq",
            "T1 ar A#1=2",
            "T1 rel",
            "T0 ar A#1=2",
            "T0 acq",
            "T0 rel",
            "T0 acq",
            "T0 ar A#2=1",
            "T0 rel",
            "T0 ar order of A#2",
            "T1 down",
            "T1 aw A#2=2",
            "T1 post",
            "T1 au order of A#2",
        ]
    );
}
