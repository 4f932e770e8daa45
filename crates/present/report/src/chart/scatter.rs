//! Points in two dimensions, less being better in both, with the front of those that no other point beats in both.

use super::axis::{Axis, Unit};
use super::{WIDTH, at, dot, drawing, rule, short, width, word};
use crate::html_page::{Markup, element};

/// A point.
#[derive(Clone, Debug)]
pub(crate) struct Dot<'a> {
    pub(crate) label: &'a str,
    pub(crate) place: [f64; 2],
    pub(crate) class: String,
}

/// How a point is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    /// With its name, and the dashed line goes through it.
    OnFront,
    /// With its name.
    Named,
    /// Without its name, for it is one of many.
    Unnamed,
    /// Barely visible: it only shows where others are.
    Faint,
}

const HEIGHT: f64 = 300.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 40.0;
const LINE: f64 = 13.0;

/// The picture, with a name at each point and a dashed line along the front of all.
pub(crate) fn scatter(description: &str, titles: [&str; 2], units: [Unit; 2], dots: &[Dot<'_>]) -> Markup {
    let places: Vec<[f64; 2]> = dots.iter().map(|dot| dot.place).collect();
    let mut emphasis = vec![Emphasis::Named; dots.len()];
    for at in front(&places) {
        emphasis[at] = Emphasis::OnFront;
    }
    emphasized(description, titles, units, dots, &emphasis)
}

/// The same where the caller knows which points are on the front, and which names matter. Each point has an emphasis.
pub(crate) fn emphasized(
    description: &str,
    titles: [&str; 2],
    [x_unit, y_unit]: [Unit; 2],
    dots: &[Dot<'_>],
    emphasis: &[Emphasis],
) -> Markup {
    let x_axis = Axis::new(x_unit, dots.iter().map(|d| d.place[0]), false, [LEFT, RIGHT]);
    let y_axis = Axis::new(y_unit, dots.iter().map(|d| d.place[1]), false, [HEIGHT - 40.0, 32.0]);
    let place = |dot: &Dot<'_>| [x_axis.place(dot.place[0]), y_axis.place(dot.place[1])];
    let mut parts = vec![
        word("tick", "start", [4.0, 12.0], titles[1]),
        word("tick", "end", [WIDTH - 24.0, HEIGHT - 4.0], titles[0]),
    ];
    for (number, words) in y_axis.marks(5) {
        let y = y_axis.place(number);
        parts.push(rule("grid", [LEFT, y], [RIGHT, y]));
        parts.push(word("tick", "end", [LEFT - 6.0, y + 4.0], &words));
    }
    for (number, words) in x_axis.marks(4) {
        parts.push(word("tick", "middle", [x_axis.place(number), HEIGHT - 22.0], &words));
    }
    let of = |what: Emphasis| dots.iter().zip(emphasis).filter(move |(_, e)| **e == what).map(|(dot, _)| dot);
    let mut line: Vec<[f64; 2]> = of(Emphasis::OnFront).map(place).collect();
    line.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let path: Vec<String> = line.iter().map(|[x, y]| format!("{},{}", at(*x), at(*y))).collect();
    parts.push(element("polyline", &[("class", "front"), ("fill", "none"), ("points", &path.join(" "))], []));
    // Emphasised points are drawn above the others.
    for what in [Emphasis::Faint, Emphasis::Unnamed, Emphasis::Named, Emphasis::OnFront] {
        for one in of(what) {
            let [x, y] = place(one);
            let words = [x_unit.words(one.place[0]), y_unit.words(one.place[1])];
            let title = format!("{}: {}, {}", one.label, words[0], words[1]);
            let (class, radius) = if what == Emphasis::Faint { ("dot faded", 3.0) } else { ("dot", 5.0) };
            parts.push(dot(&format!("{class} {}", one.class), [x, y], radius, &title));
        }
    }
    let areas = |is_faint: bool| -> Vec<Area> {
        let points = dots.iter().zip(emphasis).filter(|(_, e)| (**e == Emphasis::Faint) == is_faint);
        points.map(|(dot, _)| Area::of_dot(place(dot))).collect()
    };
    let (mut taken, faint) = (areas(false), areas(true));
    // The numbers and the title of the axis are in the way as well.
    taken.push(Area { x: [0.0, LEFT], y: [0.0, HEIGHT] });
    taken.push(Area { x: [0.0, 4.0 + width(titles[1])], y: [0.0, 15.0] });
    for named in [Emphasis::OnFront, Emphasis::Named].into_iter().flat_map(of) {
        let [x, y] = place(named);
        // With less and less of the name, until there is room. A name covers faint points only if there is no room beside them.
        let rooms = [WIDTH, 200.0, 110.0];
        let found = rooms.iter().find_map(|room| {
            let name = short(named.label, *room);
            let wide = width(&name);
            let all = [taken.as_slice(), &faint].concat();
            free_place(&all, [x, y], wide)
                .or_else(|| free_place(&taken, [x, y], wide))
                .map(|area| (name, area))
        });
        // A point without room for its name has its colour in the legend, and its name in a tooltip.
        let Some((name, area)) = found else { continue };
        let near = area.near(x);
        if (area.y[0] - y).abs().min((area.y[1] - y).abs()) > LINE {
            parts.push(rule("leader", [x, y], [near, (area.y[0] + area.y[1]) / 2.0]));
        }
        parts.push(word("", "start", [area.x[0], area.y[1] - 3.0], &name));
        taken.push(area);
    }
    drawing(HEIGHT, description, parts)
}

/// An occupied part of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Area {
    x: [f64; 2],
    y: [f64; 2],
}

impl Area {
    fn of_dot([x, y]: [f64; 2]) -> Self {
        Self { x: [x - 5.0, x + 5.0], y: [y - 5.0, y + 5.0] }
    }

    fn hits(&self, other: &Self) -> bool {
        let apart = |a: [f64; 2], b: [f64; 2]| a[1] <= b[0] || b[1] <= a[0];
        !apart(self.x, other.x) && !apart(self.y, other.y)
    }

    /// Its place that is nearest to `x`.
    fn near(&self, x: f64) -> f64 {
        x.clamp(self.x[0], self.x[1])
    }
}

/// A place for a name of this width near its point, within the drawing and not overlapping anything: to the right, to the left,
/// and then further and further above and below.
fn free_place(taken: &[Area], [x, y]: [f64; 2], width: f64) -> Option<Area> {
    let rows = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0, 5.0, -5.0];
    let right = (x + 8.0).min(WIDTH - width - 2.0).max(2.0);
    let places = rows.iter().flat_map(|row| {
        let middle = y + row * LINE;
        let beside =
            if *row == 0.0 { [x + 8.0, x - 8.0 - width] } else { [right, (x - 8.0 - width).max(2.0)] };
        beside.map(|left| Area { x: [left, left + width], y: [middle - LINE / 2.0, middle + LINE / 2.0] })
    });
    let is_inside = |area: &Area| {
        area.x[0] >= 0.0 && area.x[1] <= WIDTH && area.y[0] >= 0.0 && area.y[1] <= HEIGHT - 36.0
    };
    places.into_iter().find(|area| is_inside(area) && !taken.iter().any(|other| other.hits(area)))
}

/// Those that no other beats in both, by the first dimension.
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
    fn the_front_has_those_that_no_other_beats() {
        let places = [[3.0, 1.0], [1.0, 5.0], [2.0, 3.0], [2.5, 4.0], [2.0, 3.5], [f64::NAN, 0.0]];
        assert_eq!(front(&places), [1, 2, 0]);
        assert_eq!(front(&[]), [0usize; 0]);
    }

    /// Of an attribute, its number.
    fn number(element: &str, name: &str) -> f64 {
        let from = element.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
        element[from..from + element[from..].find('"').unwrap()].parse().unwrap()
    }

    #[test]
    fn names_go_out_of_each_others_way() {
        let dots = |places: &[[f64; 2]]| places.iter().copied().map(Area::of_dot).collect::<Vec<_>>();
        let alone = free_place(&dots(&[[100.0, 100.0]]), [100.0, 100.0], 40.0).unwrap();
        assert_eq!(alone.x, [108.0, 148.0]);
        let beside = free_place(&dots(&[[100.0, 100.0], [130.0, 101.0]]), [100.0, 100.0], 40.0).unwrap();
        assert!(beside.x[1] < 100.0, "to the left: {beside:?}");
        assert_eq!(free_place(&[Area { x: [0.0, WIDTH], y: [0.0, HEIGHT] }], [100.0, 100.0], 40.0), None);
    }

    #[test]
    fn many_long_names_close_together_do_not_lie_over_each_other() {
        let names: Vec<String> =
            (0..8).map(|n| format!("jemalloc:background_thread=true:dirty_decay_ms={n}000")).collect();
        let dot = |(n, label)| {
            let n = f64::from(n);
            Dot { label, place: [1e7 + n * 2e5, 2e7 - n * 3e5], class: "s1".into() }
        };
        let dots: Vec<Dot<'_>> = (0..8).zip(names.iter().map(String::as_str)).map(dot).collect();
        let picture = scatter("front", ["CPU", "RSS"], [Unit::Nanos, Unit::Bytes], &dots).to_string();
        let words = picture.split("<text").skip(1).filter(|word| word.contains("jem"));
        let areas: Vec<Area> = words
            .map(|word| {
                let (x, y) = (number(word, "x"), number(word, "y"));
                let name = &word[word.find('>').unwrap() + 1..word.find('<').unwrap()];
                Area { x: [x, x + width(name)], y: [y - 10.0, y + 2.9] }
            })
            .collect();
        assert!(areas.len() >= 4, "{picture}");
        for (at, area) in areas.iter().enumerate() {
            assert!(area.x[0] >= 0.0 && area.x[1] <= WIDTH, "{area:?}");
            assert!(!areas[..at].iter().any(|other| other.hits(area)), "{area:?} of {areas:?}");
        }
    }

    #[test]
    fn the_line_and_the_names_are_those_that_were_asked_for() {
        let label = ["low", "now", "one of many", "was not looked at again"];
        let places = [[3.0, 10.0], [9.0, 20.0], [5.0, 30.0], [1.0, 1.0]];
        let dot = |at: usize| Dot { label: label[at], place: places[at], class: "s1".into() };
        let emphasis = [Emphasis::OnFront, Emphasis::Named, Emphasis::Unnamed, Emphasis::Faint];
        let dots = [0, 1, 2, 3].map(dot);
        let picture =
            emphasized("front", ["x", "y"], [Unit::Count, Unit::Count], &dots, &emphasis).to_string();
        let line = picture.split("points=\"").nth(1).unwrap();
        assert_eq!(line[..line.find('"').unwrap()].split(' ').count(), 1, "{picture}");
        let named = |name: &str| picture.contains(&format!(">{name}</text>"));
        assert_eq!(label.map(named), [true, true, false, false], "{picture}");
        assert_eq!((picture.matches("<circle").count(), picture.matches("dot faded").count()), (4, 1));
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
