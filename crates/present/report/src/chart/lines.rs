//! Curves over time.

use super::axis::{Axis, Unit};
use super::{WIDTH, at, drawing, rule, word};
use crate::html_page::{Markup, element, text};

#[derive(Clone, Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) label: &'a str,
    pub(crate) points: Vec<[f64; 2]>,
    pub(crate) class: String,
}

const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;

/// The picture; the page adds its legend.
pub(crate) fn lines(description: &str, [x_unit, y_unit]: [Unit; 2], curves: &[Curve<'_>]) -> Markup {
    let all = || curves.iter().flat_map(|curve| curve.points.iter());
    let x_axis = Axis::new(x_unit, all().map(|[x, _]| *x), true, [LEFT, WIDTH - 24.0]);
    let y_axis = Axis::new(y_unit, all().map(|[_, y]| *y), true, [HEIGHT - 24.0, 10.0]);
    let mut parts = Vec::new();
    for (number, words) in y_axis.marks(5) {
        let y = y_axis.place(number);
        parts.push(rule("grid", [LEFT, y], [WIDTH - 24.0, y]));
        parts.push(word("tick", "end", [LEFT - 6.0, y + 4.0], &words));
    }
    for (number, words) in x_axis.marks(5) {
        parts.push(word("tick", "middle", [x_axis.place(number), HEIGHT - 6.0], &words));
    }
    for curve in curves {
        let path: Vec<String> = curve
            .points
            .iter()
            .map(|[x, y]| format!("{},{}", at(x_axis.place(*x)), at(y_axis.place(*y))))
            .collect();
        let class = format!("line {}", curve.class);
        let title = element("title", &[], [text(curve.label)]);
        parts.push(element(
            "polyline",
            &[("class", &class), ("fill", "none"), ("points", &path.join(" "))],
            [title],
        ));
    }
    drawing(HEIGHT, description, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_have_all_their_points_inside_of_the_picture() {
        let points: Vec<[f64; 2]> = (0..50).map(|i| [f64::from(i) * 1e7, f64::from(i % 7) * 1e6]).collect();
        let curve = Curve { label: "a\"<b>", points, class: "s2".into() };
        let picture = lines("memory", [Unit::Nanos, Unit::Bytes], &[curve]).to_string();
        let from = picture.find("points=\"").unwrap() + 8;
        let path = &picture[from..from + picture[from..].find('"').unwrap()];
        let places: Vec<f64> = path.split([',', ' ']).map(|n| n.parse().unwrap()).collect();
        assert_eq!(places.len(), 100);
        assert!(places.chunks(2).all(|p| p[0] >= LEFT && p[0] <= WIDTH && p[1] >= 0.0 && p[1] <= HEIGHT));
        assert!(picture.contains("a\"&lt;b&gt;") && !picture.contains("NaN"));
        assert!(!lines("nothing", [Unit::Nanos, Unit::Bytes], &[]).to_string().contains("NaN"));
    }
}
