//! What makes a comparison incomplete or inexact.

use super::symbol;
use heapwise_analysis::{Analysis, Site, Warning};
use std::fmt;

/// One of the two recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one to compare with.
    Old,
    /// The one that is judged.
    New,
}

impl Which {
    /// Its name in reports for machines.
    pub fn id(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }
}

/// Something to know before the differences are trusted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Caveat {
    /// They are of different programs.
    DifferentPrograms {
        /// The older recording's program.
        old: String,
        new: String,
    },
    /// One of them is incomplete or inexact by itself.
    Incomplete {
        which: Which,
        /// What is wrong with it.
        warning: Warning,
    },
    /// One of them has names for few of its places, the other one for most, so hardly any can be found again.
    NoNames {
        /// Which one has few.
        which: Which,
    },
    /// Nothing was recorded in one of them.
    Empty { which: Which },
}

impl Caveat {
    /// A stable name, for machines.
    pub fn id(&self) -> &'static str {
        match self {
            Self::DifferentPrograms { .. } => "different-programs",
            Self::Incomplete { warning, .. } => warning.id(),
            Self::NoNames { .. } => "no-names",
            Self::Empty { .. } => "empty",
        }
    }

    /// Which recording it is about, if it is one.
    pub fn which(&self) -> Option<Which> {
        match self {
            Self::DifferentPrograms { .. } => None,
            Self::Incomplete { which, .. } | Self::NoNames { which } | Self::Empty { which } => Some(*which),
        }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DifferentPrograms { old, new } => {
                write!(f, "the recordings are of different programs: {old} and {new}")
            }
            Self::Incomplete { which, warning } => {
                write!(f, "the {} recording: {warning}", which.adjective())
            }
            Self::NoNames { which } => write!(
                f,
                "the {} recording has no names for most of its places, so that they cannot be found again: it was \
                 made with --no-report, and its programs are not there any more",
                which.adjective()
            ),
            Self::Empty { which } => write!(f, "the {} recording has no allocations", which.adjective()),
        }
    }
}

impl Which {
    fn adjective(self) -> &'static str {
        match self {
            Self::Old => "older",
            Self::New => "newer",
        }
    }
}

pub(super) fn all(old: &Analysis, new: &Analysis) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let program = |a: &Analysis| a.meta.command.first().map(|c| symbol::program(c).to_owned());
    if let (Some(old), Some(new)) = (program(old), program(new))
        && old != new
    {
        caveats.push(Caveat::DifferentPrograms { old, new });
    }
    match (has_names(old), has_names(new)) {
        (false, true) => caveats.push(Caveat::NoNames { which: Which::Old }),
        (true, false) => caveats.push(Caveat::NoNames { which: Which::New }),
        _ => {}
    }
    for (which, analysis) in [(Which::Old, old), (Which::New, new)] {
        let warnings = analysis.warnings.iter().cloned();
        caveats.extend(warnings.map(|warning| Caveat::Incomplete { which, warning }));
        if analysis.totals.calls() == 0 {
            caveats.push(Caveat::Empty { which });
        }
    }
    caveats
}

/// Whether the places of most call sites have names.
fn has_names(analysis: &Analysis) -> bool {
    let is_named =
        |site: &&Site| analysis.up_to_place(site).last().is_some_and(|place| place.function.is_some());
    let n = analysis.sites().len();
    n == 0 || analysis.sites().iter().filter(is_named).count() * 2 >= n
}
