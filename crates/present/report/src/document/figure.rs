//! Pictures of a document, as numbers: each writer decides how to draw them.

use crate::chart::{Emphasis, Flame, Unit};

/// A picture and its description.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) caption: String,
    pub(crate) picture: Picture,
}

/// Numbers with a label. Those with the same series have the same colour in all pictures.
#[derive(Clone, Debug)]
pub(crate) struct Numbers<T> {
    pub(crate) label: String,
    pub(crate) series: usize,
    pub(crate) numbers: Vec<T>,
}

#[derive(Clone, Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "replays are Linux's"))]
pub(crate) enum Picture {
    /// Every number of a row as a point, and their median.
    Strips { unit: Unit, rows: Vec<Numbers<f64>> },
    /// A curve for each row.
    Lines { units: [Unit; 2], rows: Vec<Numbers<[f64; 2]>> },
    /// What each row consists of.
    Bars { unit: Unit, parts: Vec<String>, rows: Vec<Numbers<f64>> },
    /// Parts within parts.
    Flame(Flame),
    /// A point for each row that has one; less is better in both of its numbers. The front is computed from the points unless
    /// `emphasis` sets for each row how it is shown; `legend` assigns colours to names where the points have none.
    Scatter {
        titles: [String; 2],
        units: [Unit; 2],
        rows: Vec<Numbers<[f64; 2]>>,
        emphasis: Vec<Emphasis>,
        legend: Vec<Numbers<()>>,
    },
}
