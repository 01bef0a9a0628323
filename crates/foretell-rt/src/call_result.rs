//! Whether the code after a call uses the result of the call.
//!
//! [`is_used`] follows the code from the return address on until the register of the result is read
//! or written. A call whose result is not used is mostly followed by another call, which may change
//! the register. The decoder knows the instructions that compilers put in between. Any other
//! instruction counts as a use.

/// Largest distance between the call and the use of its result, in instructions.
const MOST_INSTRUCTIONS: usize = 16;

/// Number of the register of results, `rax`.
const RESULT: u8 = 0;

/// Returns whether the code after a call may use the result of the call.
///
/// # Safety
/// `pc` is the return address of a call in the program's code.
pub(crate) unsafe fn is_used(pc: usize) -> bool {
    let mut at = pc;
    for _ in 0..MOST_INSTRUCTIONS {
        // SAFETY: the bytes up to the next call, jump or return are the function's own code.
        match unsafe { decode(at as *const u8) } {
            Effect::None(len) => at += len,
            Effect::Overwrites => return false,
            Effect::Uses => return true,
        }
    }
    true
}

/// Effect of an instruction on the register of the result.
#[derive(Debug, PartialEq, Eq)]
enum Effect {
    /// None. The instruction has this length, and the next one follows.
    None(usize),
    /// The register has another value afterwards, or may have.
    Overwrites,
    /// The instruction reads the register, or is not known.
    Uses,
}

/// Operands of an instruction: a register, and a register or memory.
struct Operands {
    register: u8,
    /// The other register, if it is one.
    other: Option<u8>,
    /// Whether the address of the memory is computed from the register of the result.
    is_at_result: bool,
    len: usize,
}

/// Decodes the instruction at `code`.
unsafe fn decode(code: *const u8) -> Effect {
    // SAFETY: the caller's; no byte after the end of the instruction is read.
    let byte = |i: usize| unsafe { code.add(i).read() };
    if byte(0) == 0xf3 && byte(1) == 0x0f && byte(2) == 0x1e && byte(3) == 0xfa {
        // endbr64.
        return Effect::None(4);
    }
    let mut at = 0;
    let mut prefix = 0;
    if byte(at) & 0xf0 == 0x40 {
        prefix = byte(at) & 0xf;
        at += 1;
    }
    let opcode = byte(at);
    at += 1;
    let (wide, long_register, long_index, long_base) =
        (prefix & 8 != 0, (prefix & 4) << 1, (prefix & 2) << 2, (prefix & 1) << 3);
    let operands = |at: usize| {
        let (mode, register, rm) = (byte(at) >> 6, byte(at) >> 3 & 7, byte(at) & 7);
        let sib = mode != 3 && rm == 4;
        let (base, index) = if sib { (byte(at + 1) & 7, byte(at + 1) >> 3 & 7) } else { (rm, 4) };
        let has_base = !(mode == 0 && base == 5);
        let displacement = match mode {
            0 if !has_base => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        let is_index = sib && index | long_index == RESULT;
        Operands {
            register: register | long_register,
            other: (mode == 3).then_some(rm | long_base),
            is_at_result: mode != 3 && (is_index || has_base && base | long_base == RESULT),
            len: 1 + usize::from(sib) + displacement,
        }
    };
    match opcode {
        // call.
        0xe8 => Effect::Overwrites,
        // push and pop.
        0x50..=0x57 if opcode & 7 | long_base != RESULT => Effect::None(at),
        0x58..=0x5f if opcode & 7 | long_base != RESULT => Effect::None(at),
        // nop, leave.
        0x90 | 0xc9 => Effect::None(at),
        // mov of a constant.
        0xb8..=0xbf if opcode & 7 | long_base == RESULT => Effect::Overwrites,
        0xb8..=0xbf => Effect::None(at + if wide { 8 } else { 4 }),
        // xor of a register with itself.
        0x31 | 0x33 if operands(at).other == Some(operands(at).register) => {
            if operands(at).register == RESULT { Effect::Overwrites } else { Effect::None(at + 1) }
        }
        // mov and lea to a register.
        0x8b | 0x8d => match operands(at) {
            o if o.is_at_result || o.other == Some(RESULT) => Effect::Uses,
            o if o.register == RESULT => Effect::Overwrites,
            o => Effect::None(at + o.len),
        },
        // mov from a register.
        0x89 => match operands(at) {
            o if o.is_at_result || o.register == RESULT => Effect::Uses,
            o if o.other == Some(RESULT) => Effect::Overwrites,
            o => Effect::None(at + o.len),
        },
        // mov of a constant to memory.
        0xc6 | 0xc7 if operands(at).other.is_none() && !operands(at).is_at_result => {
            Effect::None(at + operands(at).len + if opcode == 0xc6 { 1 } else { 4 })
        }
        // add and its like with a constant.
        0x81 | 0x83 if operands(at).other.is_some_and(|other| other != RESULT) => {
            Effect::None(at + 1 + if opcode == 0x83 { 1 } else { 4 })
        }
        _ => Effect::Uses,
    }
}

#[cfg(test)]
mod tests {
    fn is_used(code: &[u8]) -> bool {
        // SAFETY: the bytes end with an instruction that ends the search.
        unsafe { super::is_used(code.as_ptr() as usize) }
    }

    #[test]
    fn a_result_that_is_overwritten_is_not_used() {
        // mov eax, 0
        assert!(!is_used(&[0xb8, 0, 0, 0, 0]));
        // mov rdi, [rbp + 8]; call
        assert!(!is_used(&[0x48, 0x8b, 0x7d, 8, 0xe8, 1, 2, 3, 4]));
        // lea rax, [rip + 16]
        assert!(!is_used(&[0x48, 0x8d, 0x05, 16, 0, 0, 0]));
        // mov r8d, 1; add rsp, 8; pop rbx; xor eax, eax
        assert!(!is_used(&[0x41, 0xb8, 1, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0x5b, 0x31, 0xc0]));
        // mov dword [rip + 8], 1; call
        assert!(!is_used(&[0xc7, 0x05, 8, 0, 0, 0, 1, 0, 0, 0, 0xe8, 1, 2, 3, 4]));
    }

    #[test]
    fn a_result_that_is_read_is_used() {
        // mov [rbp - 4], eax
        assert!(is_used(&[0x89, 0x45, 0xfc]));
        // mov edi, 1; mov ebx, eax
        assert!(is_used(&[0xbf, 1, 0, 0, 0, 0x89, 0xc3]));
        // cmp eax, -1
        assert!(is_used(&[0x83, 0xf8, 0xff]));
        // mov rdx, [rbx + rax * 8]
        assert!(is_used(&[0x48, 0x8b, 0x14, 0xc3]));
        // ret
        assert!(is_used(&[0xc3]));
    }
}
