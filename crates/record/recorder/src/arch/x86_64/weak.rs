//! Symbols that this C library may have or not: asking for them must not keep a program from being linked.
//!
//! A static program has no loader to ask, and musl has some of these not at all. Weak references are then null.

use core::arch::asm;

macro_rules! weak {
    ($(#[$doc:meta])* $function:ident, $symbol:literal) => {
        $(#[$doc])*
        pub fn $function() -> usize {
            let address: usize;
            // SAFETY: reads a constant of the linker or the loader from the global offset table; nothing is written.
            unsafe {
                asm!(
                    // It holds for the object file that this becomes a part of, whichever that is.
                    concat!(".weak ", $symbol),
                    concat!("mov {address}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                    address = out(reg) address,
                    options(nostack, readonly, pure, preserves_flags),
                );
            }
            address
        }
    };
}

weak!(
    /// Address of the loader's `_dl_find_object`; 0 without one.
    dl_find_object,
    "_dl_find_object"
);
weak!(
    /// Address of the loader's variable `__libc_stack_end`; 0 without one.
    libc_stack_end,
    "__libc_stack_end"
);
weak!(
    /// Address of the C library's variable `environ`; 0 without one.
    environ,
    "environ"
);
weak!(
    /// Address of `dlsym`; 0 without one.
    dlsym,
    "dlsym"
);
