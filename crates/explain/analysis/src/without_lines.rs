//! Object files whose places have no lines of source: where a report can only name functions, or addresses.

use crate::analysis::Analysis;
use crate::stacks::modules::{Image, ImageId};
use crate::stacks::owner::Owner;
use rustc_hash::FxHashMap;

/// An object file with places that have no lines.
#[derive(Clone, Copy, Debug)]
pub struct WithoutLines<'a> {
    pub image: &'a Image,
    /// Allocations of these places.
    pub allocations: u64,
    /// Whether it is written in Rust, at least in part.
    pub is_rust: bool,
    /// Whether most of the allocations have names of functions at least.
    pub has_names: bool,
}

impl Analysis {
    /// Object files whose places have no lines, the one with most allocations first. The system's own libraries are not among
    /// them: with names they say all that a reader needs of them.
    pub fn without_lines(&self) -> Vec<WithoutLines<'_>> {
        let mut found: FxHashMap<ImageId, (WithoutLines<'_>, u64)> = FxHashMap::default();
        for site in self.sites() {
            let mut frames = self.stacks_by_name.frames(site.stack).flat_map(|list| self.names.frames(list));
            let mut is_rust = false;
            let inner = site.user_frame.map(|place| {
                let seen = frames.by_ref().take(place);
                is_rust = seen.fold(false, |rust, (_, owner)| rust | (*owner == Owner::RustStd));
            });
            let Some((frame, owner)) = inner.and_then(|()| frames.next()) else { continue };
            let Some(image) = frame.image.filter(|_| frame.line.is_none()) else { continue };
            if matches!(owner, Owner::System | Owner::Recorder) {
                continue;
            }
            let (known, named) = found.entry(image).or_insert_with(|| {
                let file = WithoutLines {
                    image: self.images.get(image),
                    allocations: 0,
                    is_rust: false,
                    has_names: false,
                };
                (file, 0)
            });
            known.allocations += site.allocations;
            known.is_rust |= is_rust || *owner == Owner::RustStd;
            *named += if frame.function.is_some() { site.allocations } else { 0 };
            // A library without symbols has names of what others call, still.
            known.has_names = 2 * *named >= known.allocations && *named > 0;
        }
        let mut found: Vec<_> = found.into_values().map(|(file, _)| file).collect();
        found.sort_by(|a, b| b.allocations.cmp(&a.allocations).then_with(|| a.image.cmp(b.image)));
        found
    }
}
