//! What something consists of: a bar per row, with its parts side by side.

use super::axis::{Axis, Unit};
use super::labels::Labels;
use super::{WIDTH, at, drawing, rule, series, word};
use crate::html_page::{Markup, element, text};

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Bar<'a> {
    pub(crate) label: &'a str,
    /// As many as there are names of parts.
    pub(crate) parts: Vec<f64>,
}

const THICK: f64 = 16.0;
/// A narrower part would be invisible.
const NARROWEST: f64 = 0.3;

/// The picture. The page adds the legend, with the classes of [`class_of_part`].
pub(crate) fn bars(description: &str, unit: Unit, names: &[&str], rows: &[Bar<'_>]) -> Markup {
    let wholes = rows.iter().map(|row| row.parts.iter().sum::<f64>());
    let labels = Labels::of(rows.iter().map(|row| row.label));
    let axis = Axis::new(unit, wholes, true, [labels.numbers_from(), WIDTH - 24.0]);
    let height = labels.height(rows.len()) + 26.0;
    let mut parts = Vec::new();
    for (number, words) in axis.marks(4) {
        let x = axis.place(number);
        parts.push(rule("grid", [x, 2.0], [x, height - 20.0]));
        parts.push(word("tick", "middle", [x, height - 6.0], &words));
    }
    for (row_at, row) in rows.iter().enumerate() {
        let y = labels.middle(row_at);
        parts.push(labels.name(row_at, row.label));
        let mut before = 0.0;
        for (part_at, (part, name)) in row.parts.iter().zip(names).enumerate() {
            let (from, to) = (axis.place(before), axis.place(before + part));
            before += part;
            if to - from < NARROWEST {
                continue;
            }
            let title = format!("{}: {name}, {}", row.label, unit.words(*part));
            let [x, top, width, thick] = [from, y - THICK / 2.0, to - from, THICK].map(at);
            let class = format!("part {}", class_of_part(part_at));
            let attributes =
                [("class", class.as_str()), ("x", &x), ("y", &top), ("width", &width), ("height", &thick)];
            parts.push(element("rect", &attributes, [element("title", &[], [text(&title)])]));
        }
    }
    drawing(height, description, parts)
}

/// The colour of a part, by its place among the names.
pub(crate) fn class_of_part(part: usize) -> String {
    series(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(element: &str, name: &str) -> f64 {
        let from = element.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        element[from..from + element[from..].find('"').unwrap()].parse().unwrap()
    }

    #[test]
    fn parts_lie_beside_each_other_and_are_as_wide_as_they_are_large() {
        let rows = [
            Bar { label: "<i>", parts: vec![30.0, 0.0, 60.0] },
            Bar { label: "two", parts: vec![10.0, 20.0, 15.0] },
        ];
        let picture = bars("parts", Unit::Count, &["a", "b\"", "c"], &rows).to_string();
        let found: Vec<&str> = picture.split("<rect").skip(1).collect();
        assert_eq!(found.len(), 5, "nothing is drawn of nothing");
        let of = |n: usize| (number(found[n], "x"), number(found[n], "width"));
        let ((first, wide), (second, wider)) = (of(0), of(1));
        assert!((first + wide - second).abs() < 0.2 && (wider / wide - 2.0).abs() < 0.02, "{picture}");
        assert!((number(found[2], "width") * 3.0 - wide).abs() < 0.5);
        assert!(second + wider <= WIDTH && picture.contains("&lt;i&gt;: c, 60") && !picture.contains("<i>"));
        assert!(!bars("none", Unit::Bytes, &[], &[]).to_string().contains("NaN"));
    }
}
