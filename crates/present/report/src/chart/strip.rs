//! Every single run as a point, a row per candidate: it shows what medians hide.

use super::axis::{Axis, Unit};
use super::labels::Labels;
use super::{WIDTH, dot, drawing, rule, word};
use crate::html_page::Markup;

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Strip<'a> {
    pub(crate) label: &'a str,
    pub(crate) numbers: Vec<f64>,
    pub(crate) median: Option<f64>,
    /// A class of [`series`](super::series).
    pub(crate) class: String,
}

/// The picture.
pub(crate) fn strip(description: &str, unit: Unit, rows: &[Strip<'_>]) -> Markup {
    let numbers = rows.iter().flat_map(|row| row.numbers.iter().copied());
    let labels = Labels::of(rows.iter().map(|row| row.label));
    let axis = Axis::new(unit, numbers, false, [labels.numbers_from(), WIDTH - 24.0]);
    let height = labels.height(rows.len()) + 26.0;
    let bottom = height - 20.0;
    let mut parts = Vec::new();
    for (number, words) in axis.marks(4) {
        let x = axis.place(number);
        parts.push(rule("grid", [x, 2.0], [x, bottom]));
        parts.push(word("tick", "middle", [x, height - 6.0], &words));
    }
    for (at, row) in rows.iter().enumerate() {
        let y = labels.middle(at);
        parts.push(labels.name(at, row.label));
        for number in &row.numbers {
            let title = format!("{}: {}", row.label, unit.words(*number));
            parts.push(dot(&format!("dot {}", row.class), [axis.place(*number), y], 4.0, &title));
        }
        if let Some(median) = row.median {
            let x = axis.place(median);
            parts.push(rule(&format!("median {}", row.class), [x, y - 8.0], [x, y + 8.0]));
        }
    }
    drawing(height, description, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_is_a_point_and_names_stay_text() {
        let row =
            |label| Strip { label, numbers: vec![1.0, 2.0, 3.0], median: Some(2.0), class: "s1".into() };
        let picture = strip("runs", Unit::Count, &[row("<b>&"), row("two")]).to_string();
        assert_eq!(picture.matches("<circle").count(), 6);
        assert_eq!(picture.matches("class=\"median s1\"").count(), 2);
        assert!(picture.contains("&lt;b&gt;&amp;") && !picture.contains("<b>") && !picture.contains("NaN"));
        assert!(!strip("none", Unit::Bytes, &[]).to_string().contains("NaN"));
    }
}
