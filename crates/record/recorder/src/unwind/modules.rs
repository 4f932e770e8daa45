//! Meeting modules, and noticing that they are gone.
//!
//! A module is published when an address of it is met for the first time. When it is unloaded its addresses may come to belong
//! to another one. The *generation* counts such moments: rules are forgotten, and stacks get new roots.

use super::cache;
use super::module::{self, Found};
use crate::process::PROCESS;
use core::sync::atomic::Ordering;

/// What an address belongs to. Publishes a module that is new.
pub fn find(address: usize) -> Found {
    let found = module::look_up(address, PROCESS.region.clock());
    if let Found::Module(module) = &found
        && !module::is_known(module)
        && let Some(held) = PROCESS.region.hold()
        && let Some(index) = module::note(&held, module)
    {
        PROCESS.modules.publish(&held, &PROCESS.region, index, module);
    }
    found
}

/// Meets all object files that are mapped as code, where no loader tells of them. To be called before there is anything to record: when
/// threads meet them, the kernel is not asked as often as they might.
pub(crate) fn find_all() {
    let mut from = 0;
    while let Some((start, module)) = module::next_mapped(from) {
        from = start + 1;
        if !module::is_known(&module)
            && let Some(held) = PROCESS.region.hold()
            && let Some(index) = module::note(&held, &module)
        {
            PROCESS.modules.publish(&held, &PROCESS.region, index, &module);
        }
    }
}

/// Notices modules that are gone. Called after a `dlclose`.
pub fn notice_unloaded() {
    let clock = PROCESS.region.clock();
    if !module::is_any_gone(clock) {
        return;
    }
    let Some(held) = PROCESS.region.hold() else { return };
    module::forget_gone(&held, clock);
    cache::clear();
    let generation = PROCESS.modules.generation() + 1;
    if PROCESS.trie.begin_generation(&PROCESS.region, &held, generation).is_some() {
        PROCESS.modules.set_generation(&held, generation);
    }
    // Every thread checks the generation when it sees the clock change.
    if let Some(session) = PROCESS.session() {
        session.clock.0.fetch_add(1, Ordering::AcqRel);
    }
}
