//! The registry of formats: one file each, and one table that lists them.

mod dhat;
mod firefox;
mod folded;
mod otlp;
mod page_map;
mod pprof;

use crate::export::format::Format;

/// All formats.
pub const FORMATS: &[&dyn Format] =
    &[&pprof::Pprof, &otlp::Otlp, &folded::Folded, &dhat::Dhat, &firefox::Firefox, &page_map::PageMap];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_everything_is_said_about_each() {
        for (at, format) in FORMATS.iter().enumerate() {
            assert!(
                FORMATS[..at].iter().all(|other| other.name() != format.name()),
                "{format:?} is there twice"
            );
            assert!(format.about().len() > 20 && format.about().len() < 90, "{format:?}");
            assert!(crate::export::format(format.name()).is_some());
        }
    }
}
