//! Jumps that are written into code: from the beginning of a function to [the recorder](heapwise_trace::live::stub), and from moved code to
//! where it came from.

use heapwise_trace::live::hooks::{Hook, JUMP_BYTES};
use heapwise_trace::live::stub::{MOVED_AT, ON_BYTES, TEST_BYTES, first, on, test};

/// How a stub goes on.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// Straight to a hook of a function with at most three arguments. It gets the stack pointer, the frame pointer and the slot as
    /// three more, and returns to the function's caller.
    Direct(usize),
    /// The same for a function that takes a block back, unless that is certainly none of the sample.
    ///
    /// PERF: nearly all are none. A jump to another part of the address space and back takes 0.8 to 1.8 ns more than one to a
    /// neighbour (ADR 41), and is not made then.
    OfSample {
        /// Where its [classes](heapwise_trace::sampling::noted) are.
        classes: usize,
        hook: usize,
    },
    /// To a shim, with the slot in `r11`.
    Shim(usize),
    /// To a shim that keeps all registers, with the slot in `r11`, of which the value is left on the stack.
    Keeping(usize),
}

/// The stub in front of moved code.
pub fn stub_before(moved: usize) -> usize {
    moved.wrapping_sub(MOVED_AT)
}

/// Where in a slot it is said whether vector registers are kept.
pub const KEEPS_VECTORS_AT: usize = 18;

/// The jump at `from` to `to`; `None` if that is too far.
pub fn jump(from: usize, to: usize) -> Option<[u8; JUMP_BYTES]> {
    let distance = distance(from.wrapping_add(JUMP_BYTES), to)?.to_le_bytes();
    Some([0xe9, distance[0], distance[1], distance[2], distance[3]])
}

fn distance(from: usize, to: usize) -> Option<i32> {
    i32::try_from((to as i64).wrapping_sub(from as i64)).ok()
}

/// A stub with the slot's address.
pub fn stub(slot: usize, way: Way) -> [u8; TEST_BYTES + ON_BYTES] {
    let mut stub = [0; _];
    let (tested, goes_on) = match way {
        Way::Direct(hook) => (0, on(first::DIRECT, slot, hook)),
        Way::OfSample { classes, hook } => {
            stub[..TEST_BYTES].copy_from_slice(&test(classes));
            (TEST_BYTES, on(first::DIRECT, slot, hook))
        }
        Way::Shim(shim) => (0, on(first::SHIM, slot, shim)),
        Way::Keeping(shim) => (0, on(first::KEEPING, slot, shim)),
    };
    stub[tested..tested + ON_BYTES].copy_from_slice(&goes_on);
    stub
}

/// Writes the moved code of a hook for the address `at`; `None` if something that it refers to is too far from there.
pub fn moved(hook: &Hook, at: usize, out: &mut [u8]) -> Option<()> {
    let len = usize::from(hook.moved_len);
    out.get_mut(..len)?.copy_from_slice(hook.moved.get(..len)?);
    for fixup in hook.fixups.iter().take(usize::from(hook.fixup_count)) {
        let distance = distance(at.wrapping_add(usize::from(fixup.end)), fixup.target as usize)?;
        out.get_mut(usize::from(fixup.at)..)?.get_mut(..4)?.copy_from_slice(&distance.to_le_bytes());
    }
    Some(())
}

/// A naked function for functions with at most three arguments, whose callers rely on registers: calls `$hook` as a stub does without
/// it. All registers are afterwards as they were, but for `rax`, with which the instruction `$after` may do the same. The stub has left
/// `r11` on the stack.
#[macro_export]
macro_rules! keeping_shim_of_three {
    ($name:ident => $hook:path, $after:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                ".cfi_adjust_cfa_offset 8",
                // Sixteen registers of 16 bytes, eight of 8, the slot and a word to spare: with `r11` and the return address, aligned as a
                // call requires.
                "sub rsp, 336",
                ".cfi_adjust_cfa_offset 336",
                "mov qword ptr [rsp + 320], r11",
                "cmp byte ptr [r11 + {keeps_vectors}], 0",
                "je 2f",
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                "movups xmmword ptr [rsp + 16*\\n], xmm\\n",
                ".endr",
                "2:",
                "mov qword ptr [rsp + 256], rdi",
                "mov qword ptr [rsp + 264], rsi",
                "mov qword ptr [rsp + 272], rdx",
                "mov qword ptr [rsp + 280], rcx",
                "mov qword ptr [rsp + 288], r8",
                "mov qword ptr [rsp + 296], r9",
                "mov qword ptr [rsp + 304], r10",
                "mov qword ptr [rsp + 312], rax",
                "lea rcx, [rsp + 344]",
                "mov r8, rbp",
                "mov r9, r11",
                "call {hook}",
                $after,
                "mov r11, qword ptr [rsp + 320]",
                "cmp byte ptr [r11 + {keeps_vectors}], 0",
                "je 3f",
                ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                "movups xmm\\n, xmmword ptr [rsp + 16*\\n]",
                ".endr",
                "3:",
                "mov rdi, qword ptr [rsp + 256]",
                "mov rsi, qword ptr [rsp + 264]",
                "mov rdx, qword ptr [rsp + 272]",
                "mov rcx, qword ptr [rsp + 280]",
                "mov r8, qword ptr [rsp + 288]",
                "mov r9, qword ptr [rsp + 296]",
                "mov r10, qword ptr [rsp + 304]",
                "mov r11, qword ptr [rsp + 336]",
                "add rsp, 344",
                ".cfi_adjust_cfa_offset -344",
                "ret",
                ".cfi_endproc",
                keeps_vectors = const $crate::arch::jump::KEEPS_VECTORS_AT,
                hook = sym $hook,
            )
        }
    };
}

/// A naked function for functions with up to six arguments, which leave no register: the three more are on the stack.
#[macro_export]
macro_rules! shim_of_six {
    ($name:ident => $hook:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, rsp",
                // Three words and the return address: the stack has the alignment that a call requires.
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                "push rbp",
                ".cfi_adjust_cfa_offset 8",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "call {hook}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                hook = sym $hook,
            )
        }
    };
}

/// The same for functions that may not return, or return twice: calls `$before` with the address of the [`Arguments`], and goes on with
/// the function whose address the slot begins with, all registers and the stack as they were.
///
/// [`Arguments`]: crate::arch::entry::Arguments
#[macro_export]
macro_rules! shim_before {
    ($name:ident => $before:path) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "push rax",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                ".cfi_adjust_cfa_offset 56",
                "mov rdi, rsp",
                // Two words more: the slot, and one for the alignment that a call requires.
                "push r11",
                "push r11",
                ".cfi_adjust_cfa_offset 16",
                "call {before}",
                "pop r11",
                "pop r11",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop r8",
                "pop r9",
                "pop rax",
                ".cfi_adjust_cfa_offset -72",
                "jmp qword ptr [r11]",
                ".cfi_endproc",
                before = sym $before,
            )
        }
    };
}

/// Whether the processor keeps the addresses to which this thread's calls return, and checks them.
///
/// `rdssp` reads where it keeps them; where it does not, it does nothing (Intel SDM, volume 1, chapter 17).
pub fn has_shadow_stack() -> bool {
    let mut at = 0_usize;
    // SAFETY: `rdsspq rax` writes that register or nothing.
    unsafe {
        core::arch::asm!(
            ".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8",
            inout("rax") at,
            options(nomem, nostack, preserves_flags),
        );
    }
    at != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapwise_trace::live::hooks::Fixup;

    #[test]
    fn a_shadow_stack_is_seen_where_the_kernel_says_that_there_is_one() {
        let status = std::fs::read_to_string("/proc/self/status").expect("there is /proc");
        let features = status.lines().find(|line| line.starts_with("x86_Thread_features:"));
        assert_eq!(has_shadow_stack(), features.is_some_and(|line| line.contains("shstk")));
    }

    #[test]
    fn distances_count_from_behind_the_instruction() {
        assert_eq!(jump(0x1000, 0x2000), Some([0xe9, 0xfb, 0x0f, 0, 0]));
        assert_eq!(jump(0x2000, 0x1000), Some([0xe9, 0xfb, 0xef, 0xff, 0xff]));
        assert_eq!(jump(0x1000, 0x1_0000_0000), None);
        let mut hook = Hook { displaced_len: 7, moved_len: 12, fixup_count: 2, ..Hook::default() };
        hook.moved[..3].copy_from_slice(&[0x48, 0x8b, 0x05]);
        hook.moved[7] = 0xe9;
        hook.fixups[0] = Fixup { at: 3, end: 7, target: 0x5000 };
        hook.fixups[1] = Fixup { at: 8, end: 12, target: 0x1007 };
        let mut out = [0; 12];
        moved(&hook, 0x4000, &mut out).expect("all is near");
        assert_eq!(out, [0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0, 0xe9, 0xfb, 0xcf, 0xff, 0xff]);
        assert_eq!(moved(&hook, 0x4000, &mut [0; 11]), None);
        assert_eq!(moved(&hook, 0x2_0000_0000, &mut out), None);
    }
}
