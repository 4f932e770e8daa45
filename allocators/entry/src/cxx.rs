//! The operators `new` and `delete` of C++.
//!
//! Those of libstdc++ call malloc and free, and would do. A program that links an allocator, Debian's libjemalloc or
//! gperftools' tcmalloc, gets that one's operators instead, which do not: its blocks would never come to the preloaded
//! allocator, and nobody would notice. So ours are there, too.
//!
//! A failed `new` throws. Rust code that is compiled without unwinding cannot be thrown through, so the function that
//! throws is jumped to from a few instructions of assembly, with the stack as it was on entry.

use core::ffi::{CStr, c_char, c_void};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn find(name: &CStr) -> *mut c_void {
    // SAFETY: a null handle asks for the first one in the order of lookup; the name is a C string.
    unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) }
}

/// The program's handler for memory that is missing, called until there is some or there is none.
///
/// Returns a block, or null if there is no handler.
pub fn after_handler(allocate: impl Fn() -> *mut c_void) -> *mut c_void {
    loop {
        let get = find(c"_ZSt15get_new_handlerv");
        if get.is_null() {
            return core::ptr::null_mut();
        }
        // SAFETY: `std::get_new_handler()` of libstdc++, which returns a function without arguments or null.
        let handler = unsafe {
            let get: unsafe extern "C" fn() -> Option<unsafe extern "C" fn()> = core::mem::transmute(get);
            get()
        };
        let Some(handler) = handler else { return core::ptr::null_mut() };
        // SAFETY: the program has set it to be called here.
        unsafe { handler() };
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
                let block = unsafe { $malloc(size.max(1)) };
                if !block.is_null() {
                    return block;
                }
                // SAFETY: as above.
                $crate::after_handler(|| unsafe { $malloc(size.max(1)) })
            }

            /// The same for types with an alignment of their own.
            unsafe extern "C" fn allocate_aligned(size: usize, alignment: usize) -> *mut c_void {
                let Some(size) = size.max(1).checked_next_multiple_of(alignment) else {
                    return ::core::ptr::null_mut();
                };
                // SAFETY: a power of two, as the compiler passes it, and a multiple of it.
                let block = unsafe { $aligned_alloc(alignment, size) };
                if !block.is_null() {
                    return block;
                }
                // SAFETY: as above.
                $crate::after_handler(|| unsafe { $aligned_alloc(alignment, size) })
            }

            $crate::cxx_operators!(@new allocate: _Znwm _Znam);
            $crate::cxx_operators!(@new allocate_aligned: _ZnwmSt11align_val_t _ZnamSt11align_val_t);
            $crate::cxx_operators!(@plain
                allocate, (size: usize) -> *mut c_void:
                _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
            );
            $crate::cxx_operators!(@plain
                allocate_aligned, (size: usize, alignment: usize) -> *mut c_void:
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
            // The arguments are in the registers in which the callee wants them. Eight bytes align the stack for the call,
            // and are gone again when the function that throws is jumped to: it sees our caller as its own.
            ::core::arch::naked_asm!(
                "sub rsp, 8",
                "call {allocate}",
                "test rax, rax",
                "je 2f",
                "add rsp, 8",
                "ret",
                "2:",
                "call {no_memory}",
                "add rsp, 8",
                "jmp rax",
                allocate = sym $allocate,
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
