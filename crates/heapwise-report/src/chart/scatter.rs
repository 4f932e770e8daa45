//! Points in two dimensions of both of which less is better, with the front of those that nobody beats in both.

use super::axis::{Axis, Unit};
use super::{WIDTH, at, dot, drawing, rule, short, word};
use crate::html_page::{Markup, element};

/// A point.
#[derive(Clone, Debug)]
pub(crate) struct Dot<'a> {
    pub(crate) label: &'a str,
    pub(crate) place: [f64; 2],
    pub(crate) class: String,
}

const HEIGHT: f64 = 300.0;
const LEFT: f64 = 72.0;

/// The picture, with a dashed line along the front.
pub(crate) fn scatter(
    description: &str,
    titles: [&str; 2],
    [x_unit, y_unit]: [Unit; 2],
    dots: &[Dot<'_>],
) -> Markup {
    let x_axis = Axis::new(x_unit, dots.iter().map(|d| d.place[0]), false, [LEFT, WIDTH - 90.0]);
    let y_axis = Axis::new(y_unit, dots.iter().map(|d| d.place[1]), false, [HEIGHT - 40.0, 24.0]);
    let mut parts = vec![
        word("tick", "start", [4.0, 12.0], titles[1]),
        word("tick", "end", [WIDTH - 24.0, HEIGHT - 4.0], titles[0]),
    ];
    for (number, words) in y_axis.marks(5) {
        let y = y_axis.place(number);
        parts.push(rule("grid", [LEFT, y], [WIDTH - 90.0, y]));
        parts.push(word("tick", "end", [LEFT - 6.0, y + 4.0], &words));
    }
    for (number, words) in x_axis.marks(4) {
        parts.push(word("tick", "middle", [x_axis.place(number), HEIGHT - 22.0], &words));
    }
    let places: Vec<[f64; 2]> = dots.iter().map(|dot| dot.place).collect();
    let path: Vec<String> = front(&places)
        .into_iter()
        .map(|n| format!("{},{}", at(x_axis.place(places[n][0])), at(y_axis.place(places[n][1]))))
        .collect();
    parts.push(element("polyline", &[("class", "front"), ("fill", "none"), ("points", &path.join(" "))], []));
    let mut taken: Vec<[f64; 2]> =
        dots.iter().map(|d| [x_axis.place(d.place[0]), y_axis.place(d.place[1])]).collect();
    for one in dots {
        let [x, y] = [x_axis.place(one.place[0]), y_axis.place(one.place[1])];
        let title = format!("{}: {}, {}", one.label, x_unit.words(one.place[0]), y_unit.words(one.place[1]));
        parts.push(dot(&format!("dot {}", one.class), [x, y], 5.0, &title));
        let at = free_place(&taken, [x, y]);
        taken.push([at[0] + 40.0, at[1] - 4.0]);
        parts.push(word("", "start", at, &short(one.label, 14)));
    }
    drawing(HEIGHT, description, parts)
}

/// Where a name can stand beside its point such that no other point or name is in its way: to the right, below or above.
fn free_place(taken: &[[f64; 2]], [x, y]: [f64; 2]) -> [f64; 2] {
    let is_free = |at: &[f64; 2]| {
        let is_hit =
            |[x, y]: &[f64; 2]| (at[0] - 4.0..at[0] + 84.0).contains(x) && (y - (at[1] - 4.0)).abs() < 12.0;
        !taken.iter().any(is_hit)
    };
    let places = [4.0, 18.0, -9.0, 32.0, -23.0].map(|down| [x + 8.0, y + down]);
    places.iter().copied().find(is_free).unwrap_or(places[0])
}

/// Those that nobody beats in both, by the first dimension.
pub(crate) fn front(places: &[[f64; 2]]) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..places.len()).filter(|n| places[*n].iter().all(|x| x.is_finite())).collect();
    order.sort_by(|a, b| {
        let ([ax, ay], [bx, by]) = (places[*a], places[*b]);
        ax.total_cmp(&bx).then(ay.total_cmp(&by))
    });
    let mut lowest = f64::INFINITY;
    order.retain(|n| {
        let is_lower = places[*n][1] < lowest;
        lowest = lowest.min(places[*n][1]);
        is_lower
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_has_whom_nobody_beats() {
        let places = [[3.0, 1.0], [1.0, 5.0], [2.0, 3.0], [2.5, 4.0], [2.0, 3.5], [f64::NAN, 0.0]];
        assert_eq!(front(&places), [1, 2, 0]);
        assert_eq!(front(&[]), [0usize; 0]);
    }

    #[test]
    fn names_go_out_of_each_others_way() {
        let beside = free_place(&[[100.0, 100.0], [130.0, 101.0]], [100.0, 100.0]);
        assert_eq!(beside, [108.0, 118.0]);
        assert_eq!(free_place(&[[100.0, 100.0]], [100.0, 100.0]), [108.0, 104.0]);
    }

    #[test]
    fn every_point_has_its_name() {
        let dots = [
            Dot { label: "jemalloc", place: [1e9, 2e7], class: "s1".into() },
            Dot { label: "<x>", place: [2e9, 1e7], class: "s2".into() },
        ];
        let picture = scatter("front", ["CPU", "RSS"], [Unit::Nanos, Unit::Bytes], &dots).to_string();
        assert_eq!(picture.matches("<circle").count(), 2);
        assert!(
            picture.contains("class=\"front\"") && picture.contains("&lt;x&gt;: 2.00 s, 9.54 MiB"),
            "{picture}"
        );
    }
}
