//! Entry points: C functions that note where they were called from, at the cost of two register moves.
//!
//! At the first instruction of a function `[rsp]` is the return address, `rsp + 8` the caller's frame address and
//! `rbp` the caller's. Adding `rsp` and `rbp` behind the function's own arguments and *jumping* to the hook hands them
//! over untouched; the hook returns straight to the caller.

use core::arch::asm;

/// Where an entry point was called from.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Address of the slot that holds the return address.
    pub stack_pointer: usize,
    /// The caller's frame-pointer register.
    pub frame_pointer: usize,
}

/// Has a value written to memory here, if it is looked at later.
///
/// PERF: otherwise it waits in registers that have to be saved for it.
#[inline(always)]
pub(crate) fn keep_in_memory<T>(value: &T) {
    // SAFETY: no instruction at all. The value is valid, and by `readonly` it may be looked at and not changed, as a reference allows.
    unsafe { asm!("/* {} */", in(reg) value, options(nostack, preserves_flags, readonly)) };
}

/// Defines the exported C function `$name` with `$n` integer arguments, which jumps to `$hook` with two more:
/// the stack pointer and the frame pointer at the entry.
#[macro_export]
macro_rules! entry_point {
    ($name:ident, 0 => $hook:path) => { $crate::entry_point!(@ $name, "rdi", "rsi", $hook); };
    ($name:ident, 1 => $hook:path) => { $crate::entry_point!(@ $name, "rsi", "rdx", $hook); };
    ($name:ident, 2 => $hook:path) => { $crate::entry_point!(@ $name, "rdx", "rcx", $hook); };
    ($name:ident, 3 => $hook:path) => { $crate::entry_point!(@ $name, "rcx", "r8", $hook); };
    (@ $name:ident, $sp:literal, $fp:literal, $hook:path) => {
        #[doc = concat!("The interposed C function `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// That of the C function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            $crate::jump_with_entry!($sp, $fp, $hook)
        }
    };
}

/// The body of a naked function that jumps to `$hook` with the stack pointer and the frame pointer in two registers more.
#[macro_export]
macro_rules! jump_with_entry {
    ($sp:literal, $fp:literal, $hook:path) => {
        core::arch::naked_asm!(
            // A signal may arrive right here, and its handler's stack goes on from here.
            ".cfi_startproc",
            concat!("mov ", $sp, ", rsp"),
            concat!("mov ", $fp, ", rbp"),
            "jmp {hook}",
            ".cfi_endproc",
            hook = sym $hook,
        )
    };
}

/// The body of a naked function with five arguments, which calls `$hook` with the stack pointer in the register for the sixth, and the
/// frame pointer as the seventh, for which there is no register.
#[macro_export]
macro_rules! call_with_entry {
    ($sp:literal, $hook:path) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            concat!("mov ", $sp, ", rsp"),
            // It also aligns the stack as a call requires.
            "push rbp",
            ".cfi_adjust_cfa_offset 8",
            "call {hook}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            ".cfi_endproc",
            hook = sym $hook,
        )
    };
}

/// Defines the exported C function `$name`, which calls `$before` and then jumps to the function whose address that returns, with
/// the arguments as they were, however many there are. `$before` gets the address of an [`Arguments`].
#[macro_export]
macro_rules! entry_point_before {
    ($name:ident => $before:path) => {
        #[doc = concat!("The interposed C function `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// That of the C function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                // For variadic functions it says how many arguments are in vector registers; those are not touched.
                "push rax",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                // Seven words and the return address: the stack has the alignment that a call requires.
                ".cfi_adjust_cfa_offset 56",
                "mov rdi, rsp",
                "call {before}",
                "mov r11, rax",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop r8",
                "pop r9",
                "pop rax",
                ".cfi_adjust_cfa_offset -56",
                "jmp r11",
                ".cfi_endproc",
                before = sym $before,
            )
        }
    };
}

/// The integer arguments of a call, as [`entry_point_before!`] found them.
#[derive(Debug)]
#[repr(C)]
pub struct Arguments {
    registers: [usize; 6],
    /// `rax`, and the return address; what follows on the stack are the other arguments.
    between: [usize; 2],
}

impl Arguments {
    /// The address that the call returns to.
    pub fn caller(&self) -> usize {
        self.between[1]
    }

    /// The argument at a place.
    ///
    /// # Safety
    /// The call has that many.
    pub unsafe fn at(&self, place: usize) -> usize {
        match self.registers.get(place) {
            Some(&value) => value,
            None => {
                let others = core::ptr::from_ref(self).wrapping_add(1).cast::<usize>();
                // SAFETY: the caller's stack above the return address, where the arguments lie that registers have no room for.
                unsafe { others.wrapping_add(place - self.registers.len()).read_volatile() }
            }
        }
    }
}

/// Defines the exported C function `$name` with six integer arguments, which calls `$hook` with one more: the address
/// that it returns to.
#[macro_export]
macro_rules! entry_point_with_caller {
    ($name:ident, 6 => $hook:path) => {
        #[doc = concat!("The interposed C function `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// That of the C function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // The seventh argument lies on the stack. The push also aligns the stack as a call requires.
                ".cfi_startproc",
                "push qword ptr [rsp]",
                ".cfi_adjust_cfa_offset 8",
                "call {hook}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                hook = sym $hook,
            )
        }
    };
}

/// Defines the exported C function `syscall`. It jumps to the real one, whose address is in `$next`, and leaves all
/// registers and the stack unchanged: some callers make calls that return twice, or on another stack. Numbers that the
/// recorder has to know of go to `$watched` with the address that it returns to as their seventh argument, and all go
/// to `$early` while `$next` is null.
#[macro_export]
macro_rules! watched_system_calls {
    ($next:path, $watched:path, $early:path) => {
        /// The interposed C function `syscall`.
        ///
        /// # Safety
        /// That of the C function.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn syscall() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "cmp rdi, {prctl}",
                "je 2f",
                "cmp rdi, {seccomp}",
                "je 2f",
                "mov rax, qword ptr [rip + {next}]",
                "test rax, rax",
                "jz {early}",
                "jmp rax",
                "2:",
                "push qword ptr [rsp]",
                ".cfi_adjust_cfa_offset 8",
                "call {watched}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                prctl = const $crate::arch::syscall::number::PRCTL,
                seccomp = const $crate::arch::syscall::number::SECCOMP,
                next = sym $next,
                watched = sym $watched,
                early = sym $early,
            )
        }
    };
}
