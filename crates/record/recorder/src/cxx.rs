//! `operator new` and `operator delete` of allocators that bring their own.
//!
//! glibc's C++ library implements them with `malloc` and `free`, so nothing is to be done there. jemalloc, mimalloc,
//! tcmalloc and others define them directly; with one of these loaded, a variant of the preload library exports the
//! functions below, too. It is not the usual one, since a C++ library that is loaded late and privately could not be
//! found from here.

use crate::arch::entry::Entry;
use crate::{describe, hooks};
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use heapwise_trace::event::AllocFunction;

/// The real function behind an operator: looked up at the first call.
#[derive(Debug)]
pub struct Operator {
    name: &'static CStr,
    at: AtomicPtr<c_void>,
}

impl Operator {
    /// The operator with this mangled name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, at: AtomicPtr::new(core::ptr::null_mut()) }
    }

    fn get(&self) -> *mut c_void {
        let at = self.at.load(Ordering::Relaxed);
        if !at.is_null() {
            return at;
        }
        let found = crate::real::next_function(self.name);
        self.at.store(found, Ordering::Relaxed);
        found
    }
}

/// Up to three integer arguments, whatever they mean to the operator.
pub type Arguments = [usize; 3];

/// An `operator new`: calls the real one and describes the block, unless that went through `malloc`.
///
/// # Safety
/// The arguments are those of the operator, and `sp` and `fp` the caller's.
pub unsafe fn new(operator: &Operator, a: Arguments, align: usize, sp: usize, fp: usize) -> *mut u8 {
    let entry = Entry { stack_pointer: sp, frame_pointer: fp };
    let at = operator.get();
    if at.is_null() {
        // SAFETY: handed on; there is no C++ library to throw anything.
        return unsafe { hooks::malloc(a[0], sp, fp) };
    }
    // SAFETY: the address of an operator new, which takes at most three integer arguments; surplus ones are ignored by
    // the calling convention. It may throw an exception, which passes the frames of this library, as they have unwind
    // tables and nothing to clean up (the library is built without landing pads); the guard that stays behind is found
    // abandoned by the thread's next event.
    let real = unsafe {
        core::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize, usize, usize) -> *mut u8>(at)
    };
    if !crate::real::may_reenter() {
        // SAFETY: the caller's call, which arrives at our malloc.
        return unsafe { real(a[0], a[1], a[2]) };
    }
    // SAFETY: the caller's call.
    describe::describe_new(entry, a[0], align, AllocFunction::New, || unsafe { real(a[0], a[1], a[2]) })
}

/// An `operator delete`: describes the block and calls the real one.
///
/// # Safety
/// As [`new`].
pub unsafe fn delete(operator: &Operator, a: Arguments, sp: usize, fp: usize) {
    let at = operator.get();
    if at.is_null() {
        // SAFETY: handed on.
        return unsafe { hooks::free(a[0] as *mut u8, sp, fp) };
    }
    let entry = Entry { stack_pointer: sp, frame_pointer: fp };
    // SAFETY: as in `new`.
    let real = unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize, usize, usize)>(at) };
    if !crate::real::may_reenter() {
        // SAFETY: the caller's call, which arrives at our free.
        return unsafe { real(a[0], a[1], a[2]) };
    }
    // SAFETY: the caller's call.
    describe::describe_delete(entry, a[0] as *mut u8, || unsafe { real(a[0], a[1], a[2]) });
}

/// Defines the exported operators with these mangled names. Those in `aligned_new` have the alignment as their second
/// argument.
///
/// All are entered as if they had three arguments: a register more than the operator has is handed on as it was.
#[macro_export]
macro_rules! cxx_operators {
    (new { $($new:ident)* } aligned_new { $($aligned:ident)* } delete { $($delete:ident)* }) => {
        $($crate::cxx_operators!(@ $new, *mut u8, |a, sp, fp| $crate::cxx::new(&OPERATOR, a, 0, sp, fp));)*
        $($crate::cxx_operators!(@ $aligned, *mut u8, |a, sp, fp| $crate::cxx::new(&OPERATOR, a, a[1], sp, fp));)*
        $($crate::cxx_operators!(@ $delete, (), |a, sp, fp| $crate::cxx::delete(&OPERATOR, a, sp, fp));)*
    };
    (@ $name:ident, $result:ty, |$a:ident, $sp:ident, $fp:ident| $body:expr) => {
        const _: () = {
            static OPERATOR: $crate::cxx::Operator = $crate::cxx::Operator::new(
                match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("an identifier has no zero byte"),
                },
            );
            unsafe extern "C" fn hook(a0: usize, a1: usize, a2: usize, $sp: usize, $fp: usize) -> $result {
                let $a: $crate::cxx::Arguments = [a0, a1, a2];
                // SAFETY: the entry point hands its own arguments on.
                unsafe { $body }
            }
            $crate::entry_point!($name, 3 => hook);
        };
    };
}
