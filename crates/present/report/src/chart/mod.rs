//! Small pictures for pages: values side by side, curves, bars of parts, and points with a front.
//!
//! They are SVG inside of the page, drawn here and not by a script. Colours are classes, since the page's policy forbids style
//! attributes; so they follow light and dark.

mod axis;
mod bars;
mod flame;
mod labels;
mod lines;
mod scatter;
mod strip;

pub(crate) use axis::Unit;
pub(crate) use bars::{Bar, bars, class_of_part};
pub use flame::Flame;
pub(crate) use flame::flame;
pub(crate) use lines::{Curve, lines};
pub(crate) use scatter::{Dot, scatter};
pub(crate) use scatter::{Emphasis, emphasized};
pub(crate) use strip::{Strip, strip};

use crate::html_page::{Markup, element, text};

/// Of the drawing, in its own units; the page scales it.
const WIDTH: f64 = 520.0;

/// The class of a colour, by a number; colours repeat when they are used up.
pub(crate) fn series(number: usize) -> String {
    // The first one is grey, and reserved for the baseline.
    let number = if number == 0 { 0 } else { (number - 1) % 9 + 1 };
    format!("s{number}")
}

/// A number with as many digits as a drawing needs.
fn at(x: f64) -> String {
    format!("{x:.1}")
}

/// A line between two points.
fn rule(class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) -> Markup {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(at);
    element("line", &[("class", class), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)], [])
}

/// A word. `anchor` is where its position is: `start`, `middle` or `end`.
fn word(class: &str, anchor: &str, [x, y]: [f64; 2], what: &str) -> Markup {
    let attributes = [("class", class), ("text-anchor", anchor), ("x", &at(x)), ("y", &at(y))];
    element("text", &attributes, [text(what)])
}

/// A point with a tooltip.
fn dot(class: &str, [x, y]: [f64; 2], radius: f64, title: &str) -> Markup {
    let attributes = [("class", class), ("cx", &at(x)), ("cy", &at(y)), ("r", &at(radius))];
    element("circle", &attributes, [element("title", &[], [text(title)])])
}

/// The whole drawing, with a description for screen readers.
fn drawing(height: f64, description: &str, parts: Vec<Markup>) -> Markup {
    let view = format!("0 0 {WIDTH} {height:.0}");
    element("svg", &[("viewBox", &view), ("role", "img"), ("aria-label", description)], parts)
}

/// The width of the narrowest letters.
const NARROWEST: f64 = 4.7;

/// How wide a text in a drawing is at most, in the drawing's units: fonts differ, and those of DejaVu Sans are wide.
fn width(text: &str) -> f64 {
    let wide = |letter: char| match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '/' | '-' | '(' | ')' | ' ' => NARROWEST,
        'f' | 't' | 'r' => 5.0,
        'a'..='z' if letter != 'm' && letter != 'w' => 7.7,
        '0'..='9' | '_' => 7.7,
        'm' | 'w' | '=' | 'A'..='Z' => 11.0,
        _ => 12.0,
    };
    text.chars().map(wide).sum()
}

/// What of a name fits into so much of a drawing: its beginning and its end, since names with settings differ there; of a path,
/// the file.
fn short(name: &str, room: f64) -> String {
    let name = if name.starts_with(['/', '.']) { name.rsplit('/').next().unwrap_or(name) } else { name };
    // No more than if all were the narrowest, so that a long name is not tried letter by letter.
    let most = (room.max(0.0) / NARROWEST) as usize + 1;
    let mut letters = name.chars().count().min(most);
    let mut fitting = crate::names::fit(name, letters);
    while width(&fitting) > room && letters > 1 {
        letters -= 1;
        fitting = crate::names::fit(name, letters);
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_where_they_are_alike() {
        assert_eq!(short("glibc", 100.0), "glibc");
        assert_eq!(short("./target/release/libodd.so", 100.0), "libodd.so");
        // Not letter by letter: a name from elsewhere may be as long as it likes.
        let long = short(&"long::".repeat(200_000), 60.0);
        assert!(width(&long) <= 60.0 && long.starts_with("lon"), "{long}");
        let cut = short("jemalloc:background_thread=true:dirty_decay_ms=1000", 140.0);
        assert!(cut.starts_with("jema") && cut.ends_with("1000") && width(&cut) <= 140.0, "{cut}");
    }
}
