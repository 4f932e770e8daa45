//! The allocator that the program would have used: whatever comes after the preload library in the search order.

use crate::guard::Internal;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Any C function. Cast to its true type before it is called.
type Function = AtomicPtr<c_void>;

macro_rules! real_functions {
    ($($field:ident: fn($($arg:ident: $type:ty),*) -> $result:ty, $name:literal;)*) => {
        struct Table { $($field: Function,)* }
        static TABLE: Table = Table { $($field: Function::new(core::ptr::null_mut()),)* };

        fn resolve_all() {
            $(TABLE.$field.store(next($name), Ordering::Relaxed);)*
        }

        $(
            #[doc = concat!("The real `", stringify!($field), "`; `None` if the next object has none, or before it is known.")]
            #[inline(always)]
            pub fn $field() -> Option<unsafe extern "C" fn($($arg: $type),*) -> $result> {
                let at = TABLE.$field.load(Ordering::Relaxed);
                // SAFETY: null or the address of the C function of that name, which has this type; an `Option` of a
                // function pointer is null for `None`.
                unsafe { core::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($arg: $type),*) -> $result>>(at) }
            }
        )*
    };
}

real_functions! {
    malloc: fn(size: usize) -> *mut u8, c"malloc";
    calloc: fn(count: usize, size: usize) -> *mut u8, c"calloc";
    realloc: fn(block: *mut u8, size: usize) -> *mut u8, c"realloc";
    free: fn(block: *mut u8) -> (), c"free";
    posix_memalign: fn(out: *mut *mut u8, align: usize, size: usize) -> c_int, c"posix_memalign";
    aligned_alloc: fn(align: usize, size: usize) -> *mut u8, c"aligned_alloc";
    memalign: fn(align: usize, size: usize) -> *mut u8, c"memalign";
    valloc: fn(size: usize) -> *mut u8, c"valloc";
    pvalloc: fn(size: usize) -> *mut u8, c"pvalloc";
    pthread_create: fn(thread: *mut usize, attributes: *const c_void, start: *const c_void, argument: *mut c_void) -> c_int, c"pthread_create";
    pthread_join: fn(thread: usize, result: *mut *mut c_void) -> c_int, c"pthread_join";
    pthread_setname_np: fn(thread: usize, name: *const c_char) -> c_int, c"pthread_setname_np";
    prctl: fn(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int, c"prctl";
    syscall: fn(number: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize, c"syscall";
    dlclose: fn(handle: *mut c_void) -> c_int, c"dlclose";
    dl_find_object: fn(address: *mut c_void, result: *mut DlFindObject) -> c_int, c"_dl_find_object";
}

macro_rules! addresses {
    ($($field:ident, $name:literal;)*) => {
        struct Addresses { $($field: Function,)* }
        static ADDRESSES: Addresses = Addresses { $($field: Function::new(core::ptr::null_mut()),)* };

        fn find_all() {
            $(ADDRESSES.$field.store(next($name), Ordering::Relaxed);)*
        }

        $(
            #[doc = concat!("Address of the real `", stringify!($field), "`; null before it is known.")]
            pub fn $field() -> *const c_void {
                ADDRESSES.$field.load(Ordering::Relaxed)
            }
        )*
    };
}

// Those that are only jumped to, with the caller's arguments. They may be called in a child of a program with several
// threads, where the loader cannot be asked any more, so they are looked up with the others.
addresses! {
    execve, c"execve";
    execveat, c"execveat";
    fexecve, c"fexecve";
    execv, c"execv";
    execvp, c"execvp";
    execvpe, c"execvpe";
    execl, c"execl";
    execlp, c"execlp";
    execle, c"execle";
    posix_spawn, c"posix_spawn";
    posix_spawnp, c"posix_spawnp";
    system, c"system";
    popen, c"popen";
}
/// The real `syscall` where assembly finds it; null before it is known.
pub static NEXT_SYSCALL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// `struct dl_find_object` of glibc 2.35 and later on x86-64.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct DlFindObject {
    /// Reserved.
    pub flags: u64,
    /// First address.
    pub map_start: usize,
    /// First address behind.
    pub map_end: usize,
    /// The loader's `struct link_map`.
    pub link_map: usize,
    /// Address of `.eh_frame_hdr`.
    pub eh_frame_header: usize,
    /// For later versions.
    pub reserved: [u64; 7],
}

/// The start of the loader's `struct link_map`.
#[derive(Debug)]
#[repr(C)]
pub struct LinkMap {
    /// Load bias.
    pub bias: usize,
    /// Path; empty for the executable.
    pub name: *const c_char,
}

const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();

/// `Dl_info` of `<dlfcn.h>`.
#[derive(Debug)]
#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *const c_void,
    name: *const c_char,
    address: *const c_void,
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// Address of the `malloc` that the program finds, if that is not the preload library's: another library stands in front of it.
pub(crate) fn malloc_in_front() -> Option<*const c_void> {
    // SAFETY: the name is a C string; RTLD_DEFAULT is a handle that dlsym knows.
    let first = unsafe { dlsym(RTLD_DEFAULT, c"malloc".as_ptr()) }.cast_const();
    (!is_in_own_object(first)?).then_some(first)
}

/// Whether an address lies in the object of the recorder itself, as the loader has it; `None` if it knows no object there. Unlike
/// [`is_own_code`] it can be asked in a process that this recorder has not joined.
pub fn is_in_own_object(address: *const c_void) -> Option<bool> {
    Some(dl_info(address)?.base == dl_info(is_in_own_object as *const c_void)?.base)
}

/// What the loader knows of the object that an address lies in.
fn dl_info(address: *const c_void) -> Option<DlInfo> {
    let mut info = MaybeUninit::<DlInfo>::zeroed();
    // SAFETY: any address may be asked for; the structure is ours alone, and all zeroes are a valid value of it.
    unsafe { (dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}

/// Where the loader's `struct r_debug` is; 0 for nowhere. musl says where it is.
pub(crate) fn loader_list() -> usize {
    match next_function(c"_r_debug") as usize {
        0 => {
            let at = next_function(c"_dl_debug_addr").cast::<usize>();
            // SAFETY: null, or the loader's variable, a pointer that it has set before it loads anything and never changes.
            unsafe { at.as_ref() }.copied().unwrap_or_default()
        }
        list => list,
    }
}

/// The function of this name in the objects after this one; null if there is none. What `dlsym` allocates for an error
/// message is not recorded.
pub fn next_function(name: &CStr) -> *mut c_void {
    let _internal = Internal::begin();
    next(name)
}

fn next(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string; RTLD_NEXT is a handle that dlsym knows.
    unsafe { dlsym(RTLD_NEXT, name.as_ptr()) }
}

/// 0: unknown, 1: some thread is resolving, 2: known.
static RESOLVED: AtomicU32 = AtomicU32::new(0);
/// glibc itself is the allocator, which never calls its own public functions.
static IS_GLIBC: AtomicU32 = AtomicU32::new(0);
static ALLOCATOR: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Resolves the real functions. Returns false while they are being resolved (by this thread, further out, or by
/// another one): the bootstrap arena serves until then.
#[cold]
pub fn resolve() -> bool {
    match RESOLVED.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {}
        Err(state) => return state == 2,
    }
    // `dlsym` allocates for an error message when a function is missing.
    let _internal = Internal::begin();
    resolve_all();
    find_all();
    NEXT_SYSCALL.store(TABLE.syscall.load(Ordering::Relaxed), Ordering::Relaxed);
    RESOLVED.store(2, Ordering::Release);
    true
}

/// Finds the loader's function by a weak reference: for a recorder that is built into the program, and calls no real
/// functions.
pub fn find_loader() {
    IS_PRELOADED.store(0, Ordering::Relaxed);
    TABLE.dl_find_object.store(crate::arch::weak::dl_find_object() as *mut c_void, Ordering::Relaxed);
}

/// Says where the loader's `_dl_find_object` is, for an image that no loader has bound to it; 0 for nowhere.
pub(crate) fn set_find_object(at: usize) {
    TABLE.dl_find_object.store(at as *mut c_void, Ordering::Relaxed);
}

/// Says which `malloc` is the real one: for a recorder that is built into the program.
pub fn set_malloc(at: *const c_void) {
    TABLE.malloc.store(at.cast_mut(), Ordering::Relaxed);
}

/// Address of the real `malloc`; null before it is known.
pub fn malloc_address() -> *const c_void {
    TABLE.malloc.load(Ordering::Relaxed)
}

/// Address of the real `free`; null before it is known.
pub fn free_address() -> *const c_void {
    TABLE.free.load(Ordering::Relaxed)
}

/// Names the allocator, where it is no object file's.
pub fn name_allocator(name: &'static CStr) {
    ALLOCATOR.store(name.as_ptr().cast_mut(), Ordering::Relaxed);
}

/// Finds out which object provides the real `malloc`. The loader does not know it before it has started the program.
pub fn identify() {
    let Some(find) = dl_find_object() else { return };
    let mut object = DlFindObject::default();
    // SAFETY: the function fills in the structure; the address is only compared with ranges.
    let found = unsafe { find(TABLE.malloc.load(Ordering::Relaxed), &mut object) } == 0;
    if !found || object.link_map == 0 {
        return;
    }
    // SAFETY: the loader's structure of a loaded object begins like this.
    let name = unsafe { (*(object.link_map as *const LinkMap)).name };
    // SAFETY: the loader keeps a C string there.
    let path = unsafe { CStr::from_ptr(name) }.to_bytes();
    if path.is_empty() && !ALLOCATOR.load(Ordering::Relaxed).is_null() {
        // The program itself has it, and has said what it is called.
        return;
    }
    ALLOCATOR.store(name.cast_mut(), Ordering::Relaxed);
    let is_libc = path.rsplit(|&b| b == b'/').next().is_some_and(|file| file.starts_with(b"libc.so"));
    IS_GLIBC.store(u32::from(is_libc), Ordering::Relaxed);
    ALLOCATOR_CODE.store(&object);
    // SAFETY: as above; the address is one of our own code.
    if unsafe { find(identify as *mut c_void, &mut object) } == 0 {
        OWN_CODE.store(&object);
    }
}

/// Whether the loader says which object an address lies in.
pub(crate) fn knows_objects() -> bool {
    dl_find_object().is_some()
}

/// Finds out which object provides the real `malloc` where the loader does not say it: `range_of` says where the object of an address lies.
///
/// musl has its allocator in the C library. Of what other functions of that call, only what comes from within a call of the real allocator is
/// the allocator's own ([`contains`]), as for any other.
pub(crate) fn identify_by_file(range_of: impl Fn(usize) -> Option<(usize, usize)>) {
    let malloc = TABLE.malloc.load(Ordering::Relaxed);
    let Some(DlInfo { file, .. }) = dl_info(malloc).filter(|info| !info.file.is_null()) else { return };
    ALLOCATOR.store(file.cast_mut(), Ordering::Relaxed);
    let places = [(malloc as usize, &ALLOCATOR_CODE), (identify as *const () as usize, &OWN_CODE)];
    for (address, code) in places {
        if let Some((map_start, map_end)) = range_of(address) {
            code.store(&DlFindObject { map_start, map_end, ..DlFindObject::default() });
        }
    }
}

/// Says where the code of this recorder lies, which no loader knows.
pub fn set_own_code(start: usize, end: usize) {
    OWN_CODE.store(&DlFindObject { map_start: start, map_end: end, ..DlFindObject::default() });
}

/// Where this recorder lies, if no loader knows it: first address and first address behind.
pub fn own_image() -> Option<(usize, usize)> {
    let [start, end] = &OWN_CODE.0;
    let is_image = cfg!(feature = "image");
    is_image.then(|| (start.load(Ordering::Relaxed), end.load(Ordering::Relaxed)))
}

/// Where an object lies.
struct Range([AtomicUsize; 2]);

/// Whether this recorder is a separate library, and not a part of the program.
static IS_PRELOADED: AtomicU32 = AtomicU32::new(1);
static ALLOCATOR_CODE: Range = Range([const { AtomicUsize::new(0) }; 2]);
static OWN_CODE: Range = Range([const { AtomicUsize::new(0) }; 2]);

impl Range {
    fn store(&self, object: &DlFindObject) {
        self.0[0].store(object.map_start, Ordering::Relaxed);
        self.0[1].store(object.map_end, Ordering::Relaxed);
    }

    fn contains(&self, address: usize) -> bool {
        self.0[0].load(Ordering::Relaxed) <= address && address < self.0[1].load(Ordering::Relaxed)
    }
}

/// Whether an entry point was called by the real allocator's own code, or by a jump at the end of a function of the
/// allocator that was called from here.
pub fn contains(entry: crate::arch::entry::Entry) -> bool {
    // SAFETY: the entry point's stack pointer, where the caller's return address lies.
    let caller = unsafe { (entry.stack_pointer as *const usize).read_volatile() };
    // glibc never calls its own public functions for a block that it hands out. What its other functions call, inside of another
    // allocator's call, is a request as any other.
    may_reenter() && ALLOCATOR_CODE.contains(caller) || OWN_CODE.contains(caller)
}

/// Whether an address is code of the preload library.
pub fn is_own_code(address: usize) -> bool {
    OWN_CODE.contains(address) && IS_PRELOADED.load(Ordering::Relaxed) != 0
}

/// Whether an address is surely none of the recorder's code: what a wrapper has beside itself in one file is not distinguished.
pub fn is_others_code(address: usize) -> bool {
    IS_PRELOADED.load(Ordering::Relaxed) != 0 && !OWN_CODE.contains(address)
}

/// Whether it is known which object provides the real `malloc`.
pub fn is_identified() -> bool {
    !ALLOCATOR.load(Ordering::Relaxed).is_null()
}

/// Whether an address lies in the code of the allocator, one that is not glibc's.
pub fn is_allocator_code(address: usize) -> bool {
    ALLOCATOR_CODE.contains(address) && may_reenter()
}

/// Whether calls that arrive during a call of the real allocator could be its own.
#[inline(always)]
pub fn may_reenter() -> bool {
    IS_GLIBC.load(Ordering::Relaxed) == 0
}

/// Path of the object that provides the real `malloc`, once [`identify`] has found it.
pub fn allocator_name() -> Option<&'static [u8]> {
    let name = ALLOCATOR.load(Ordering::Relaxed);
    if name.is_null() {
        return None;
    }
    // SAFETY: the loader's string of an object that provides malloc, which is never unloaded.
    Some(unsafe { CStr::from_ptr(name) }.to_bytes())
}

/// The real function, or what `$early` says while it is not known.
macro_rules! real_or {
    ($name:ident, $early:expr) => {
        match $crate::real::$name() {
            Some(function) => function,
            None if $crate::real::resolve() => match $crate::real::$name() {
                Some(function) => function,
                None => return $early,
            },
            None => return $early,
        }
    };
}
pub(crate) use real_or;
