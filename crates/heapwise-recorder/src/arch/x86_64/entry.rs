//! Entry points: C functions that note where they were called from, at the cost of two register moves.
//!
//! At the first instruction of a function `[rsp]` is the return address, `rsp + 8` the caller's frame address and
//! `rbp` the caller's. Adding `rsp` and `rbp` behind the function's own arguments and *jumping* to the hook hands them
//! over untouched; the hook returns straight to the caller.

/// Where an entry point was called from.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Address of the slot that holds the return address.
    pub stack_pointer: usize,
    /// The caller's frame-pointer register.
    pub frame_pointer: usize,
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
                // The seventh argument lies on the stack. The push also aligns the stack, as a call wants it to be.
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
