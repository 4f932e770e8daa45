//! Functions within those that called them, as wide as their bytes: a flame graph that hangs from its root.

use super::{at, series, short, word};
use crate::document::Link;
use crate::html_page::{Markup, element, text};
use crate::units;

/// A function, and what it called.
#[derive(Clone, Debug, Default)]
pub struct Flame {
    pub label: String,
    /// Bytes of all that is below it, and its own.
    pub bytes: u64,
    pub children: Vec<Flame>,
    /// Where a click leads.
    pub link: Option<Link>,
}

/// In the drawing's units.
const WIDTH: f64 = 1040.0;
const ROW: f64 = 18.0;
/// What is narrower is left out: it could not be pointed at.
const LEAST: f64 = 2.5;
/// Room at both sides of a name.
const ROOM: f64 = 4.0;
/// Of fewer letters of a name nothing can be read.
const LEAST_LETTERS: usize = 5;
const MOST_ROWS: usize = 128;

/// The picture. Parts of a row stand side by side, the largest first.
pub(crate) fn flame(description: &str, root: &Flame) -> Markup {
    let (mut parts, mut depth) = (Vec::new(), 0);
    // Without recursion: stacks come from recordings, and may be deep.
    let mut waiting = vec![(root, 0.0, 0)];
    while let Some((part, x, row)) = waiting.pop() {
        let width = |bytes: u64| bytes as f64 / root.bytes.max(1) as f64 * WIDTH;
        depth = depth.max(row + 1);
        parts.push(rectangle(part, root.bytes, [x, row as f64 * ROW], width(part.bytes)));
        if row + 1 == MOST_ROWS {
            continue;
        }
        let mut children: Vec<&Flame> = part.children.iter().collect();
        children.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.label.cmp(&b.label)));
        let mut from = x;
        for child in children {
            if width(child.bytes) >= LEAST {
                waiting.push((child, from, row + 1));
            }
            from += width(child.bytes);
        }
    }
    let view = format!("0 0 {WIDTH} {:.0}", depth as f64 * ROW);
    let attributes =
        [("class", "flame"), ("viewBox", view.as_str()), ("role", "img"), ("aria-label", description)];
    element("svg", &attributes, parts)
}

fn rectangle(part: &Flame, whole: u64, [x, y]: [f64; 2], width: f64) -> Markup {
    let share = 100.0 * part.bytes as f64 / whole.max(1) as f64;
    let title = format!("{}: {}, {share:.1} %", part.label, units::bytes(part.bytes));
    let class = format!("part {}", series(1 + colour(&part.label)));
    let attributes = [
        ("class", class.as_str()),
        ("x", &at(x)),
        ("y", &at(y)),
        ("width", &at(width)),
        ("height", &at(ROW - 1.0)),
    ];
    let name = short(&part.label, width - 2.0 * ROOM);
    let mut shown = vec![element("rect", &attributes, [element("title", &[], [text(&title)])])];
    let is_readable = name == part.label || name.chars().count() >= LEAST_LETTERS;
    if is_readable && super::width(&name) <= width - 2.0 * ROOM {
        shown.push(word("name", "start", [x + ROOM, y + 13.0], &name));
    }
    match &part.link {
        Some(link) => element("a", &[("href", link.as_str())], shown),
        None => shown.into_iter().collect(),
    }
}

/// A number below nine for a name, always the same (FNV-1a).
fn colour(name: &str) -> usize {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % 9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_within_their_callers_and_narrow_ones_are_left_out() {
        let part =
            |label: &str, bytes, children| Flame { label: label.to_owned(), bytes, children, link: None };
        let mut root = part(
            "all",
            1000,
            vec![
                part("a<b>", 600, vec![part("c", 600, Vec::new())]),
                part("d", 399, Vec::new()),
                part("e", 1, Vec::new()),
            ],
        );
        root.children[0].link = Some(Link::new(&["a<b>"], []));
        let picture = flame("all bytes", &root).to_string();
        assert_eq!(picture.matches("<rect").count(), 4, "{picture}");
        assert!(
            picture.contains("viewBox=\"0 0 1040 54\"") && picture.contains("a&lt;b&gt;: 600 B, 60.0 %"),
            "{picture}"
        );
        assert!(picture.contains("x=\"624.0\" y=\"18.0\" width=\"415.0\""), "{picture}");
        assert!(picture.contains("<a href=\"/a%3Cb%3E\">"), "{picture}");
        let root = part("all", 100, vec![part("a_long_name_of_a_function", 4, Vec::new())]);
        let picture = flame("all bytes", &root).to_string();
        assert_eq!(picture.matches("<text").count(), 1, "two letters of it say nothing: {picture}");
        let mut deep = Flame::default();
        for _ in 0..10_000 {
            deep = Flame { label: "f".to_owned(), bytes: 1, children: vec![deep], link: None };
        }
        assert_eq!(flame("deep", &deep).to_string().matches("<rect").count(), MOST_ROWS);
        // Dropped as it was drawn, one after another.
        while let Some(child) = deep.children.pop() {
            deep = child;
        }
    }
}
