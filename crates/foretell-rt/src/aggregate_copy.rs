//! Copies of aggregates in code that gcc compiled.
//!
//! For `*a = *b` of a structure type gcc runs the hook of the write, then the hook of the read, and
//! then the copy. At the hook of the read, the next one after that of the write, the value is thus
//! not in place yet; it is the one at the address that is read.
//!
//! [`source_hook`] recognises the hook of such a write by the code after it: in all other code the
//! hook of a write is followed by the store. The decoder knows the instructions that compute an
//! address and pass an argument, in registers. Any other instruction ends the search, and the write
//! counts as one whose store follows.

/// Largest distance between the two hooks, in instructions.
const MOST_INSTRUCTIONS: usize = 12;

/// Returns the return address of the next call after `pc`, if no instruction before it writes to
/// memory.
///
/// # Safety
/// `pc` is the return address of a call in the program's code.
pub(crate) unsafe fn source_hook(pc: usize) -> Option<usize> {
    let mut at = pc;
    for _ in 0..MOST_INSTRUCTIONS {
        // SAFETY: the bytes up to the next call or jump are the function's own code.
        match unsafe { decode(at as *const u8) } {
            Instruction::InRegisters(len) => at += len,
            Instruction::Call(len) => return Some(at + len),
            Instruction::Other => return None,
        }
    }
    None
}

/// An instruction, with its length.
#[derive(Debug, PartialEq, Eq)]
enum Instruction {
    /// Changes registers only.
    InRegisters(usize),
    Call(usize),
    /// May write to memory or leave the sequence, or is not known.
    Other,
}

/// Decodes the instruction at `code`.
unsafe fn decode(code: *const u8) -> Instruction {
    use Instruction::{Call, InRegisters, Other};
    // SAFETY: the caller's; no byte after the end of the instruction is read.
    let byte = |i: usize| unsafe { code.add(i).read() };
    let mut at = 0;
    if byte(at) == 0x66 {
        at += 1;
    }
    let wide = byte(at) & 0xf8 == 0x48;
    if byte(at) & 0xf0 == 0x40 {
        at += 1;
    }
    let opcode = byte(at);
    at += 1;
    // Number of bytes of the operands after opcode and prefixes, and whether they name memory.
    let operands = |at: usize| {
        let (mode, rm) = (byte(at) >> 6, byte(at) & 7);
        let sib = mode != 3 && rm == 4;
        let displacement = match mode {
            0 if rm == 5 || (sib && byte(at + 1) & 7 == 5) => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        (1 + usize::from(sib) + displacement, mode != 3)
    };
    match opcode {
        0xe8 => Call(at + 4),
        // Extension of rax, no operation.
        0x98 | 0x99 | 0x90 => InRegisters(at),
        // mov of a constant.
        0xb8..=0xbf => InRegisters(at + if wide { 8 } else { 4 }),
        // add, or, and, sub, xor, cmp, movslq, mov and lea to a register.
        0x03 | 0x0b | 0x23 | 0x2b | 0x33 | 0x3b | 0x63 | 0x8b | 0x8d => {
            InRegisters(at + operands(at).0)
        }
        // imul with a constant.
        0x69 => InRegisters(at + operands(at).0 + 4),
        0x6b => InRegisters(at + operands(at).0 + 1),
        // movzx, movsx, imul, prefetch-free two-byte codes.
        0x0f if matches!(byte(at), 0xaf | 0xb6 | 0xb7 | 0xbe | 0xbf) => {
            InRegisters(at + 1 + operands(at + 1).0)
        }
        0xff if byte(at) >> 3 & 7 == 2 => Call(at + operands(at).0),
        // From here on the first operand is changed: it must be a register.
        _ if operands(at).1 => Other,
        0x01 | 0x09 | 0x21 | 0x29 | 0x31 | 0x89 | 0xd1 => InRegisters(at + 1),
        0x83 | 0xc1 => InRegisters(at + 2),
        0x81 | 0xc7 => InRegisters(at + 5),
        _ => Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(code: &[u8]) -> Option<usize> {
        let pc = code.as_ptr() as usize;
        // SAFETY: the bytes end with an instruction that ends the search.
        unsafe { source_hook(pc) }.map(|end| end - pc)
    }

    #[test]
    fn a_call_after_register_moves_is_the_hook_of_the_source() {
        // mov rdi, rbx; call
        assert_eq!(distance(&[0x48, 0x89, 0xdf, 0xe8, 1, 2, 3, 4]), Some(8));
        // mov rax, [rbp-24]; add rax, 8; mov esi, 24; mov rdi, rax; call [rip+n]
        let code = [
            0x48, 0x8b, 0x45, 0xe8, 0x48, 0x83, 0xc0, 0x08, 0xbe, 24, 0, 0, 0, 0x48, 0x89, 0xc7,
            0xff, 0x15, 1, 2, 3, 4,
        ];
        assert_eq!(distance(&code), Some(code.len()));
        // lea rdi, [rip+n]; movslq rdx, [rbp+r8*8+n]; call
        let code =
            [0x48, 0x8d, 0x3d, 1, 2, 3, 4, 0x4a, 0x63, 0x94, 0xc5, 1, 2, 3, 4, 0xe8, 1, 2, 3, 4];
        assert_eq!(distance(&code), Some(code.len()));
        // movabs rax, n; lea rdi, [rax*8+n]; call
        let code = [
            0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0x8d, 0x3c, 0xc5, 1, 2, 3, 4, 0xe8, 1, 2, 3,
            4,
        ];
        assert_eq!(distance(&code), Some(code.len()));
    }

    #[test]
    fn a_store_ends_the_search() {
        let stores: [&[u8]; 9] = [
            &[0x89, 0x03],                         // mov [rbx], eax
            &[0x48, 0x89, 0x45, 0xf8],             // mov [rbp-8], rax
            &[0xc7, 0x05, 1, 2, 3, 4, 5, 0, 0, 0], // mov dword ptr [rip+n], 5
            &[0x88, 0x10],                         // mov [rax], dl
            &[0x66, 0x89, 0x10],                   // mov [rax], dx
            &[0xf3, 0x0f, 0x11, 0x00],             // movss [rax], xmm0
            &[0x0f, 0x29, 0x00],                   // movaps [rax], xmm0
            &[0x83, 0x00, 0x01],                   // add dword ptr [rax], 1
            &[0xdb, 0x38],                         // fstp tbyte ptr [rax]
        ];
        for store in stores {
            // mov rax, rdi before it, and a call after it.
            let mut code = vec![0x48, 0x89, 0xf8];
            code.extend_from_slice(store);
            code.extend_from_slice(&[0xe8, 1, 2, 3, 4]);
            assert_eq!(distance(&code), None, "{store:x?}");
        }
    }

    #[test]
    fn a_jump_ends_the_search() {
        assert_eq!(distance(&[0xeb, 0x02, 0xe8, 1, 2, 3, 4]), None);
        assert_eq!(distance(&[0x74, 0x02, 0xe8, 1, 2, 3, 4]), None);
        assert_eq!(distance(&[0xc3, 0xe8, 1, 2, 3, 4]), None);
    }
}
