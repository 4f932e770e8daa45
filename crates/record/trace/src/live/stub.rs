//! The code that a function of an allocator is entered through: how the recorder writes it, and how the collector finds it again.
//!
//! ```text
//! function:  jmp stub              5 bytes, within 2 GiB
//! stub:      a test                of a function that takes back blocks of which only a sample is recorded: if
//!                                  this is none of it, on to the moved code
//!            6 bytes by the way    what has to be done first, or nothing
//!            mov register, slot    the function's slot
//!            jmp [hook or shim]    wherever the recorder lies
//! moved:     the function's first instructions, and a jump to the others
//! ```

use super::hooks::MOST_MOVED;
use crate::sampling::noted::{CLASSES_LOG2, FACTOR};

/// Bytes of a test.
pub const TEST_BYTES: usize = 35;
/// Bytes of what goes on to the recorder.
pub const ON_BYTES: usize = 30;
/// Bytes from a stub to the moved code behind it.
pub const MOVED_AT: usize = (TEST_BYTES + ON_BYTES).next_multiple_of(16);
/// Of a stub and the moved code.
pub const CODE_BYTES: usize = MOVED_AT + MOST_MOVED;

/// What is done first, and the beginning of the load of the slot's address.
pub mod first {
    /// mov rcx, rsp; mov r8, rbp; mov r9, ...
    pub const DIRECT: [u8; 8] = [0x48, 0x89, 0xe1, 0x49, 0x89, 0xe8, 0x49, 0xb9];
    /// An instruction without effect; mov r11, ...
    pub const SHIM: [u8; 8] = [0x66, 0x0f, 0x1f, 0x44, 0, 0, 0x49, 0xbb];
    /// push r11, and one without effect; mov r11, ...
    pub const KEEPING: [u8; 8] = [0x41, 0x53, 0x0f, 0x1f, 0x40, 0, 0x49, 0xbb];
}

/// What goes on to `target` with the address of a slot.
pub fn on(first: [u8; 8], slot: usize, target: usize) -> [u8; ON_BYTES] {
    let mut code = [0; ON_BYTES];
    code[..8].copy_from_slice(&first);
    code[8..16].copy_from_slice(&slot.to_le_bytes());
    // jmp qword ptr [rip]
    code[16..22].copy_from_slice(&JUMP_ON);
    code[22..].copy_from_slice(&target.to_le_bytes());
    code
}

const JUMP_ON: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

/// Whether a block, the first argument, may be one of the sample, by the [classes](crate::sampling::noted) at this address. If not, it goes on at
/// the moved code. All registers but `r10` and `r11` are as they were, which a caller expects nothing of.
pub fn test(classes: usize) -> [u8; TEST_BYTES] {
    let mut code = [0; TEST_BYTES];
    // mov r10, classes; mov r11, factor
    code[..2].copy_from_slice(&TEST_BEGINS);
    code[2..10].copy_from_slice(&classes.to_le_bytes());
    code[10..12].copy_from_slice(&[0x49, 0xbb]);
    code[12..20].copy_from_slice(&FACTOR.to_le_bytes());
    // imul r11, rdi; shr r11, 64 - CLASSES_LOG2
    code[20..28].copy_from_slice(&[
        0x4c,
        0x0f,
        0xaf,
        0xdf,
        0x49,
        0xc1,
        0xeb,
        (u64::BITS - CLASSES_LOG2) as u8,
    ]);
    // cmp byte ptr [r10 + r11], 0; je moved
    code[28..].copy_from_slice(&[0x43, 0x80, 0x3c, 0x1a, 0, 0x74, (MOVED_AT - TEST_BYTES) as u8]);
    code
}

const TEST_BEGINS: [u8; 2] = [0x49, 0xba];

/// Whether code is a stub of a recorder.
pub fn is_stub(code: &[u8; MOVED_AT]) -> bool {
    let on = if code.starts_with(&TEST_BEGINS) { &code[TEST_BYTES..] } else { &code[..] };
    [first::DIRECT, first::SHIM, first::KEEPING].iter().any(|first| on.starts_with(first))
        && on[16..].starts_with(&JUMP_ON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_found() {
        for first in [first::DIRECT, first::SHIM, first::KEEPING] {
            for tests in [false, true] {
                let mut code = [0xcc; MOVED_AT];
                let at = if tests { TEST_BYTES } else { 0 };
                code[..at].copy_from_slice(&test(0x7000)[..at]);
                code[at..at + ON_BYTES].copy_from_slice(&on(first, 0x5000, 0x6000));
                assert!(is_stub(&code), "{first:x?}, {tests}");
                code[at] ^= 1;
                assert!(!is_stub(&code), "{first:x?}, {tests}");
            }
        }
    }
}
