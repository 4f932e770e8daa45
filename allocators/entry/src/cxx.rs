//! The operators `new` and `delete` of C++.
//!
//! Those of libstdc++ call malloc and free, and would do. A program that links an allocator, Debian's libjemalloc or
//! gperftools' tcmalloc, gets that one's operators instead, which do not: its blocks would never come to the preloaded
//! allocator, and it would go unnoticed. So ours are there, too.
//!
//! A failed `new` calls the program's handler and throws, and the handler may throw itself. Rust code that is compiled
//! without unwinding cannot be thrown through, so both are called from a few instructions of assembly. (A handler that
//! throws under the `new` that returns null ends the process: to catch is more than those instructions can do.)

use core::ffi::{CStr, c_char, c_void};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn find(name: &CStr) -> *mut c_void {
    // SAFETY: a null handle asks for the first one in the order of lookup; the name is a C string.
    unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) }
}

/// The program's handler for memory that is missing; null if there is none.
pub extern "C" fn new_handler() -> *mut c_void {
    let get = find(c"_ZSt15get_new_handlerv");
    if get.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: `std::get_new_handler()` of libstdc++, which returns a function or null.
    unsafe {
        let get: unsafe extern "C" fn() -> *mut c_void = core::mem::transmute(get);
        get()
    }
}

/// Calls the program's handler until there is memory, for a `new` that returns null if there is none.
pub fn after_handler(allocate: impl Fn() -> *mut c_void) -> *mut c_void {
    loop {
        let handler = new_handler();
        if handler.is_null() {
            return core::ptr::null_mut();
        }
        // SAFETY: a function without arguments, which the program has set to be called here.
        unsafe {
            let handler: unsafe extern "C" fn() = core::mem::transmute(handler);
            handler();
        }
        let block = allocate();
        if !block.is_null() {
            return block;
        }
    }
}

/// What throws `std::bad_alloc`, or ends a process that has no libstdc++.
pub extern "C" fn no_memory() -> *mut c_void {
    let throw = find(c"_ZSt17__throw_bad_allocv");
    if throw.is_null() { crate::give_up() } else { throw }
}

/// Exports the operators of C++, made of an allocator's functions.
#[macro_export]
macro_rules! cxx_operators {
    ($malloc:path, $aligned_alloc:path, $free:path) => {
        #[cfg(target_arch = "x86_64")]
        const _: () = {
            /// Allocates for `new`; null if there is no memory.
            unsafe extern "C" fn allocate(size: usize) -> *mut c_void {
                // SAFETY: any size may be asked for.
                unsafe { $malloc(size.max(1)) }
            }

            /// The same for types with their own alignment.
            unsafe extern "C" fn allocate_aligned(size: usize, alignment: usize) -> *mut c_void {
                let Some(size) = size.max(1).checked_next_multiple_of(alignment) else {
                    return ::core::ptr::null_mut();
                };
                // SAFETY: a power of two, as the compiler passes it, and a multiple of it.
                unsafe { $aligned_alloc(alignment, size) }
            }

            unsafe extern "C" fn try_allocate(size: usize) -> *mut c_void {
                // SAFETY: any size may be asked for.
                let ask = || unsafe { allocate(size) };
                let block = ask();
                if block.is_null() { $crate::after_handler(ask) } else { block }
            }

            unsafe extern "C" fn try_allocate_aligned(size: usize, alignment: usize) -> *mut c_void {
                // SAFETY: the compiler passes an alignment.
                let ask = || unsafe { allocate_aligned(size, alignment) };
                let block = ask();
                if block.is_null() { $crate::after_handler(ask) } else { block }
            }

            $crate::cxx_operators!(@new allocate: _Znwm _Znam);
            $crate::cxx_operators!(@new allocate_aligned: _ZnwmSt11align_val_t _ZnamSt11align_val_t);
            $crate::cxx_operators!(@plain
                try_allocate, (size: usize) -> *mut c_void:
                _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
            );
            $crate::cxx_operators!(@plain
                try_allocate_aligned, (size: usize, alignment: usize) -> *mut c_void:
                _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
            );
            $crate::cxx_operators!(@plain
                $free, (block: *mut c_void) -> ():
                _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
                _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
                _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
            );
        };
    };
    (@new $allocate:ident: $($name:ident)*) => {$(
        /// The operator of C++ of this name.
        ///
        /// # Safety
        ///
        /// That of the operator.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> *mut c_void {
            // The arguments are kept on the stack, which is aligned for calls by that. The directives say where our caller
            // is, for a handler that throws; the function that throws is jumped to, and sees our caller as its own.
            ::core::arch::naked_asm!(
                ".cfi_startproc",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "3:",
                "mov rdi, [rsp + 16]",
                "mov rsi, [rsp + 8]",
                "call {allocate}",
                "test rax, rax",
                "jne 4f",
                "call {new_handler}",
                "test rax, rax",
                "je 2f",
                "call rax",
                "jmp 3b",
                "2:",
                "call {no_memory}",
                ".cfi_remember_state",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "jmp rax",
                ".cfi_restore_state",
                "4:",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                allocate = sym $allocate,
                new_handler = sym $crate::new_handler,
                no_memory = sym $crate::no_memory,
            )
        }
    )*};
    (@plain $function:path, $signature:tt -> $result:ty: $($name:ident)*) => {
        $($crate::cxx_operators!(@one $function, $signature -> $result, $name);)*
    };
    (@one $function:path, ($($argument:ident: $type:ty),*) -> $result:ty, $name:ident) => {
        /// The operator of C++ of this name.
        ///
        /// # Safety
        ///
        /// That of the operator.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the caller keeps the contract of the operator.
            unsafe { $function($($argument),*) }
        }
    };
}
