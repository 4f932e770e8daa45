//! The library: every function here jumps to its hook in [`heapwise_recorder::hooks`].

#![expect(unsafe_code, reason = "exports C symbols")]

use core::ffi::c_void;
use heapwise_recorder::{
    entry_point, entry_point_before, forward, hooks, lifecycle, loadable, mappings, marks, real, sandbox,
    start,
};

entry_point!(malloc, 1 => hooks::malloc);
entry_point!(calloc, 2 => hooks::calloc);
entry_point!(realloc, 2 => hooks::realloc);
entry_point!(reallocarray, 3 => hooks::reallocarray);
entry_point!(free, 1 => hooks::free);
entry_point!(free_sized, 2 => hooks::free_sized);
entry_point!(free_aligned_sized, 3 => hooks::free_aligned_sized);
entry_point!(posix_memalign, 3 => hooks::posix_memalign);
entry_point!(aligned_alloc, 2 => hooks::aligned_alloc);
entry_point!(memalign, 2 => hooks::memalign);
entry_point!(valloc, 1 => hooks::valloc);
entry_point!(pvalloc, 1 => hooks::pvalloc);

#[cfg(feature = "cxx")]
heapwise_recorder::cxx_operators! {
    new { _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t }
    aligned_new {
        _ZnwmSt11align_val_t _ZnamSt11align_val_t
        _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
    }
    delete {
        _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
        _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
        _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
    }
}

heapwise_recorder::entry_point_with_caller!(mmap, 6 => mappings::mmap);
heapwise_recorder::entry_point_with_caller!(mmap64, 6 => mappings::mmap);

entry_point_before!(execve => loadable::execve);
entry_point_before!(execveat => loadable::execveat);
entry_point_before!(fexecve => loadable::fexecve);
entry_point_before!(execv => loadable::execv);
entry_point_before!(execvp => loadable::execvp);
entry_point_before!(execvpe => loadable::execvpe);
entry_point_before!(execl => loadable::execl);
entry_point_before!(execlp => loadable::execlp);
entry_point_before!(execle => loadable::execle);
entry_point_before!(posix_spawn => loadable::posix_spawn);
entry_point_before!(posix_spawnp => loadable::posix_spawnp);
entry_point_before!(system => loadable::system);
entry_point_before!(popen => loadable::popen);
// It is variadic; on this architecture all its arguments are in registers.
heapwise_recorder::entry_point_with_caller!(prctl, 6 => sandbox::prctl);

heapwise_recorder::watched_system_calls!(
    real::NEXT_SYSCALL,
    sandbox::watched_system_call,
    sandbox::early_system_call
);

/// The interposed C function `pthread_create`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const core::ffi::c_void,
    start: *const core::ffi::c_void,
    argument: *mut core::ffi::c_void,
) -> core::ffi::c_int {
    // SAFETY: handed on.
    unsafe { lifecycle::pthread_create(thread, attributes, start, argument) }
}

/// The interposed C function `pthread_join`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(
    thread: usize,
    result: *mut *mut core::ffi::c_void,
) -> core::ffi::c_int {
    // SAFETY: handed on.
    unsafe { lifecycle::pthread_join(thread, result) }
}

/// The interposed C function `pthread_setname_np`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(
    thread: usize,
    name: *const core::ffi::c_char,
) -> core::ffi::c_int {
    // SAFETY: handed on.
    unsafe { lifecycle::pthread_setname_np(thread, name) }
}

/// The interposed C function `dlclose`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose(handle: *mut core::ffi::c_void) -> core::ffi::c_int {
    // SAFETY: handed on.
    unsafe { lifecycle::dlclose(handle) }
}

/// `void heapwise_mark(uint32_t kind, const char *name, size_t len)`: the program says what it is doing. See docs/marks.md.
///
/// # Safety
/// `name` is null, or points to `len` bytes that can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heapwise_mark(kind: u32, name: *const u8, len: usize) {
    // SAFETY: handed on.
    unsafe { marks::forward_mark(kind, name, len) }
}

/// `uint32_t heapwise_is_recording(void)`: 1 if a mark would be recorded now, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn heapwise_is_recording() -> u32 {
    marks::is_any_recorder_active()
}

/// Whether this library records the process, now or later: not so if no recording was requested, or the program records itself.
#[unsafe(no_mangle)]
pub extern "C" fn heapwise_has_joined() -> u32 {
    u32::from(heapwise_recorder::process::PROCESS.header().is_some())
}

/// Takes the functions of a program that records itself, to which events that only this library sees are forwarded.
#[unsafe(no_mangle)]
pub extern "C" fn heapwise_forward(table: *const forward::Forward) {
    forward::to(table);
}

/// Which `malloc` serves a program that records itself and has found this one by its name: what is behind it, if it is this library's.
/// Another one, of a library in front of this one or of the program itself, has blocks that the one behind knows nothing of.
#[unsafe(no_mangle)]
pub extern "C" fn heapwise_serving_malloc(found: *const c_void) -> *const c_void {
    if real::is_in_own_object(found) == Some(true) { real::malloc_address() } else { found }
}

/// The same of `free`.
#[unsafe(no_mangle)]
pub extern "C" fn heapwise_serving_free(found: *const c_void) -> *const c_void {
    if real::is_in_own_object(found) == Some(true) { real::free_address() } else { found }
}

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = {
    extern "C" fn begin() {
        start::start();
    }
    begin
};

/// Runs when the process ends by itself, after the destructors of the program.
#[used]
#[unsafe(link_section = ".fini_array")]
static EXIT_HANDSHAKE: extern "C" fn() = {
    extern "C" fn exit_handshake() {
        heapwise_recorder::exit_handshake::say();
    }
    exit_handshake
};
