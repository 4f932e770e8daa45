//! Memory over time.

use super::Subject;
use crate::document::{Block, Course, Section};

/// Nothing for a run that is too short for a curve.
pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let course = Course {
        samples: subject.analysis.memory.samples(Course::columns(subject.style)),
        duration_ns: subject.analysis.duration.0,
        ascii: subject.options.ascii,
    };
    if course.highest().is_none() {
        return Vec::new();
    }
    let legend = course.legend();
    vec![Section::new("Memory over time", [Block::Course(course)]).aside(legend)]
}
