//! Functions of allocators that are not entered through the recorder, but called by it.

use crate::sys;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use heapwise_trace::event::AllocatorNumber;

/// One of them.
pub(super) struct Callable {
    /// Whose it is.
    number: AtomicU8,
    /// Its address; 0 where there is none.
    function: AtomicUsize,
    /// The first word of its code.
    code: AtomicUsize,
}

impl Callable {
    pub(super) const fn none() -> Self {
        Self { number: AtomicU8::new(0), function: AtomicUsize::new(0), code: AtomicUsize::new(0) }
    }

    /// Whether it is this allocator's.
    pub(super) fn is_of(&self, number: AllocatorNumber) -> bool {
        self.function.load(Ordering::Acquire) != 0 && self.number.load(Ordering::Relaxed) == number.0
    }

    /// Its address, if it is still there: its library may have been unloaded.
    pub(super) fn address(&self) -> Option<usize> {
        let function = self.function.load(Ordering::Acquire);
        let code = self.code.load(Ordering::Relaxed);
        (function != 0 && sys::read_word_checked(function) == Some(code)).then_some(function)
    }

    fn fill(&self, number: AllocatorNumber, function: usize, code: usize) {
        self.code.store(code, Ordering::Relaxed);
        self.number.store(number.0, Ordering::Relaxed);
        self.function.store(function, Ordering::Release);
    }
}

/// Notes the function of an allocator. A library that is loaded once more has its place again, and may lie elsewhere; what finds no
/// place is not called.
pub(super) fn note(all: &[Callable], number: AllocatorNumber, function: usize) {
    let its = all.iter().find(|callable| callable.is_of(number));
    let empty = || all.iter().find(|callable| callable.function.load(Ordering::Relaxed) == 0);
    if number < AllocatorNumber::OTHERS
        && let Some(code) = sys::read_word_checked(function)
        && let Some(place) = its.or_else(empty)
    {
        place.fill(number, function, code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn one() {}

    #[test]
    fn a_library_that_is_loaded_again_has_its_place_and_what_is_gone_is_not_called() {
        let all = [const { Callable::none() }; 2];
        let real = one as *const () as usize;
        let numbers = || all.each_ref().map(|callable| callable.number.load(Ordering::Relaxed));
        note(&all, AllocatorNumber(5), 0x10);
        assert!(!all[0].is_of(AllocatorNumber(5)), "nothing is there");
        all[0].fill(AllocatorNumber(5), real, 7);
        assert!(all[0].is_of(AllocatorNumber(5)));
        assert_eq!(all[0].address(), None, "there is something else");
        note(&all, AllocatorNumber(5), real);
        assert_eq!(all[0].address(), Some(real));
        note(&all, AllocatorNumber::BY_NAME, real);
        note(&all, AllocatorNumber(7), real);
        assert_eq!(numbers(), [5, 0], "there is no more room");
        assert!(all[1].is_of(AllocatorNumber::BY_NAME));
        note(&all, AllocatorNumber::OTHERS, real);
        assert_eq!(numbers(), [5, 0], "whose it is is not known");
    }
}
