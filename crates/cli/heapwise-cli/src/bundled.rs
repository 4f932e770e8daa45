//! The allocators that this program contains: libraries that are preloaded into the programs that are compared, and measured in place of those
//! that recorded programs have inside.

use heapwise_allocators::{Candidate, Libraries};
use heapwise_collector::usable::Build;
use heapwise_trace::file::allocator::GLIBC;
use std::sync::LazyLock;

/// By their names in the registry, built by this crate's build script. Empty if the build left them out.
static BUNDLED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/allocators.rs"));

/// The libraries, for all code that starts programs with them. Kept until the process ends, so that their paths stay valid.
pub(crate) fn libraries() -> &'static Libraries {
    static LIBRARIES: LazyLock<Libraries> = LazyLock::new(|| Libraries::new(BUNDLED));
    &LIBRARIES
}

/// The build of an allocator of this family that can be measured in place of another one, if there is one.
pub(crate) fn build(family: &str) -> Option<Build> {
    let candidate = Candidate::parse(family).ok()?;
    let version = candidate.allocator()?.version();
    let name = format!("{family} {version}").trim_end().to_owned();
    if family == GLIBC {
        return Some(Build { name, library: None });
    }
    let prepared = libraries().prepare(&candidate).ok()?;
    Some(Build { name, library: Some(prepared.preload()?.to_owned()) })
}
