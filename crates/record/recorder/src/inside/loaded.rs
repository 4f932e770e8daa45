//! Notices when the loader has loaded another library, or unloaded one.
//!
//! The loader calls an empty function for debuggers whenever its list of libraries changes, and before the new ones are executed for
//! the first time. That function is entered through the recorder as those of allocators are. The list says whether it is whole
//! ([`LoaderList`], `struct r_debug` of `<link.h>`).

use crate::arch::entry::Arguments;
use crate::guard::Internal;
use crate::process::PROCESS;
use crate::real;
use crate::unwind::modules;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The loader's `struct r_debug`.
#[derive(Debug)]
#[repr(C)]
struct LoaderList {
    version: i32,
    first: usize,
    /// The function for debuggers.
    changed: usize,
    /// 0 if the list is whole, and not about to change.
    state: i32,
    loader: usize,
}

const IS_WHOLE: i32 = 0;

static LIST: AtomicPtr<LoaderList> = AtomicPtr::new(core::ptr::null_mut());
/// What is done about a change.
static LOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Has `look` called whenever the list at this address has changed; 0 for nowhere.
pub(crate) fn watch(list: usize, look: fn()) {
    LOOK.store(look as *mut (), Ordering::Relaxed);
    LIST.store(list as *mut LoaderList, Ordering::Release);
}

/// Called by the loader before its empty function.
pub(super) extern "C" fn changed(_: *const Arguments) {
    let list = LIST.load(Ordering::Acquire);
    // SAFETY: null, or the loader's variable.
    let is_whole = !list.is_null() && unsafe { (&raw const (*list).state).read_volatile() } == IS_WHOLE;
    if is_whole && PROCESS.header().is_some() {
        let _internal = Internal::begin();
        if cfg!(feature = "image") {
            // The preload library stands in front of `dlclose`.
            modules::notice_unloaded();
        }
        if !real::knows_objects() {
            modules::find_all();
        }
        // SAFETY: set before the list was, to a function of this type.
        let look = unsafe { core::mem::transmute::<*mut (), fn()>(LOOK.load(Ordering::Relaxed)) };
        look();
    }
}
