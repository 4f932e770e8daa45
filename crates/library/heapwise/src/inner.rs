//! What is known of the allocator below the wrapper by the name of its type. The compiler decides it, where it optimises.

use std::alloc::System;
use std::any::type_name;

/// Whether it is the system's.
#[inline(always)]
pub(crate) fn is_system<A>() -> bool {
    type_name::<A>() == type_name::<System>()
}

/// Whether it refuses a few bytes only when the process gets no more memory. Others, such as one with a limit of its own, may refuse often, and the
/// program goes on.
#[inline(always)]
pub(crate) fn refuses_only_without_memory<A>() -> bool {
    // Recordings have the names of the first two, which tests/tests/wrapped.rs compares.
    const OTHERS: [&str; 3] = ["tikv_jemallocator::Jemalloc", "mimalloc::MiMalloc", "snmalloc_rs::SnMalloc"];
    let name = type_name::<A>();
    is_system::<A>() || name == OTHERS[0] || name == OTHERS[1] || name == OTHERS[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_allocator_refuses_little_and_of_one_that_wraps_it_that_is_not_known() {
        struct Limited<A>(A);
        assert!(refuses_only_without_memory::<System>());
        assert!(!refuses_only_without_memory::<Limited<System>>());
        let _ = Limited(System).0;
    }
}
