//! The allocators that this program carries: libraries that are preloaded into the programs that are compared.

use heapwise_allocators::Libraries;
use std::sync::LazyLock;

/// By the names of the shelf, built by this crate's build script. Empty if it was told to leave them out.
static CARRIED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/allocators.rs"));

/// The libraries, for all who start programs with them. Kept to the end, so that their paths stay good.
pub(crate) fn libraries() -> &'static Libraries {
    static LIBRARIES: LazyLock<Libraries> = LazyLock::new(|| Libraries::new(CARRIED));
    &LIBRARIES
}
