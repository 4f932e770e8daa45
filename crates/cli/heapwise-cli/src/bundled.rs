//! The allocators that this program contains: libraries that are preloaded into the programs that are compared.

use heapwise_allocators::Libraries;
use std::sync::LazyLock;

/// By their names in the registry, built by this crate's build script. Empty if the build left them out.
static BUNDLED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/allocators.rs"));

/// The libraries, for all code that starts programs with them. Kept until the process ends, so that their paths stay valid.
pub(crate) fn libraries() -> &'static Libraries {
    static LIBRARIES: LazyLock<Libraries> = LazyLock::new(|| Libraries::new(BUNDLED));
    &LIBRARIES
}
