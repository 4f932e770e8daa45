//! The list of experiments.

use crate::markdown::escape::{Spot, code, prose};
use crate::schema::lab::{Experiment, List, SCHEMA};
use crate::style::Style;
use crate::text::page::{Ink, Page, left};
use heapwise_trial::lab::EXPERIMENTS;

/// A line each.
pub fn list_text(style: Style) -> String {
    let mut page = Page::new(style);
    let wide = EXPERIMENTS.iter().map(|e| e.name().len()).max().unwrap_or(0);
    for experiment in EXPERIMENTS {
        let name = left(experiment.name(), wide);
        page.line(&[(Some(Ink::Name), &name), (None, "  "), (None, experiment.about())]);
    }
    page.finish()
}

/// The same for machines.
pub fn list_json() -> String {
    let one = |e: &&dyn heapwise_trial::lab::Experiment| Experiment {
        about: e.about().to_owned(),
        name: e.name().to_owned(),
        shows: e.shows().to_owned(),
    };
    let experiments = EXPERIMENTS.iter().map(one).collect();
    crate::schema::pretty(&List { experiments, schema: SCHEMA.to_owned() })
}

/// The same for a document.
pub fn list_markdown() -> String {
    let line = |e: &&dyn heapwise_trial::lab::Experiment| {
        format!("- {}: {}\n", code(e.name(), Spot::Line), prose(e.about(), Spot::Line))
    };
    EXPERIMENTS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_experiment_has_one_line() {
        let text = list_text(Style { color: false, width: 80 });
        assert_eq!(text.lines().count(), EXPERIMENTS.len());
        assert!(text.starts_with("debug-heap  what a checking heap costs"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80 && !line.ends_with('…')));
        assert!(list_json().contains("\"debug-heap\"") && list_markdown().contains("`debug-heap`"));
    }
}
