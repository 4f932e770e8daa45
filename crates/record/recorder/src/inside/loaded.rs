//! Notices when the loader has loaded another library.
//!
//! The loader calls an empty function for debuggers whenever its list of libraries changes, and before the new ones are executed for
//! the first time. The list says where it is ([`LoaderList`], `struct r_debug` of `<link.h>`), and a jump is written into it.

use super::apply::write;
use super::ask::look;
use crate::arch::jump;
use crate::guard::Internal;
use crate::process::PROCESS;
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
/// What the function consists of, behind the mark for indirect branches if it has one.
const RETURN: u8 = 0xc3;
const MARK: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// Functions begin at multiples of this, so what is behind an empty one is never executed.
const ALIGNMENT: usize = 16;

static LIST: AtomicPtr<LoaderList> = AtomicPtr::new(core::ptr::null_mut());

/// Watches the loader's list from now on, if that is possible. To be called while there is one thread.
pub(crate) fn watch() {
    let list = crate::real::next_function(c"_r_debug").cast::<LoaderList>();
    if list.is_null() || LIST.load(Ordering::Relaxed) == list {
        return;
    }
    // SAFETY: the loader's variable of that name, which has this type.
    let function = unsafe { (&raw const (*list).changed).read_volatile() };
    // SAFETY: a function of the loader, which is never unmapped.
    let word = unsafe { (function as *const [u8; MARK.len() + 1]).read_volatile() };
    let start = if word.starts_with(&MARK) { MARK.len() } else { 0 };
    if word[start] != RETURN || !function.is_multiple_of(ALIGNMENT) {
        return;
    }
    let at = function + start;
    LIST.store(list, Ordering::Release);
    // The recorder is loaded near the loader. Where it is not, or code may not be changed, libraries that come late are named as not
    // recorded: the collector finds their allocators at the end.
    if let Some(code) = jump::jump(at, changed as *const () as usize) {
        write(at, &code);
    }
}

/// Called by the loader, in place of its empty function.
pub(crate) extern "C" fn changed() {
    let list = LIST.load(Ordering::Acquire);
    // SAFETY: null, or the loader's variable.
    let is_whole = !list.is_null() && unsafe { (&raw const (*list).state).read_volatile() } == IS_WHOLE;
    if is_whole && PROCESS.header().is_some() {
        let _internal = Internal::begin();
        look();
    }
}
