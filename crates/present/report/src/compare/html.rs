//! For a browser: all runs as points, memory over time, and the tables.

use super::wording;
use crate::chart::{Curve, Dot, Strip, Unit, lines, scatter, series, strip};
use crate::html_page::{Markup, element, page, text};
use heapwise_trial::compare::{Comparison, RunMeasure, Standing, Verdict};

pub(super) fn html(comparison: &Comparison) -> String {
    let command = wording::command(comparison);
    let mut parts = vec![
        element("h1", &[], [text("heapwise compare "), element("code", &[], [text(&command)])]),
        paragraph("faint", &wording::course(comparison)),
    ];
    parts.extend(wording::drive(comparison).map(|drive| paragraph("faint", &drive)));
    parts.push(paragraph("faint", &comparison.setup.machine.to_string()));
    parts.push(heading("What it means"));
    for sentence in wording::conclusion(comparison) {
        parts.push(paragraph("", &sentence));
    }
    let findings = wording::findings(comparison);
    if !findings.is_empty() {
        parts.push(heading("Not the same"));
        for (name, what) in findings {
            let name = element("strong", &[], [text(&name)]);
            parts.push(element("p", &[("class", "finding")], [name, text(": "), text(&what)]));
        }
    }
    for note in wording::unavailable(comparison).iter().chain(&comparison.notes) {
        parts.push(paragraph("note", note));
    }
    parts.push(heading("Medians, and beside the program as it is"));
    parts.push(table(comparison));
    parts.extend(wording::about_noise(comparison).map(|about| paragraph("faint", &about)));
    for standing in comparison.candidates() {
        if let Some(freed) = wording::lazily_freed(standing) {
            parts.push(paragraph("note", &format!("{}: {freed}", standing.candidate.label)));
        }
    }
    parts.push(heading("Every run"));
    parts.push(paragraph("faint", "A point is a run that counts, the bar is the median."));
    let strips = comparison.measures().into_iter().map(|measure| strip_of(comparison, measure));
    parts.push(element("div", &[("class", "charts")], strips));
    parts.extend(both(comparison));
    parts.extend(over_time(comparison));
    parts.push(raw(comparison));
    page(&format!("compare {command}"), &parts.into_iter().collect())
}

fn heading(title: &str) -> Markup {
    element("h2", &[], [text(title)])
}

fn paragraph(class: &str, what: &str) -> Markup {
    element("p", &[("class", class)], [text(what)])
}

fn unit(measure: RunMeasure) -> Unit {
    match measure {
        m if m.is_memory() => Unit::Bytes,
        m if m.is_time() => Unit::Nanos,
        _ => Unit::Count,
    }
}

fn table(comparison: &Comparison) -> Markup {
    let measures = comparison.measures();
    let titles = std::iter::once("allocator").chain(measures.iter().map(|m| m.title()));
    let head = element("tr", &[], titles.map(|title| element("th", &[], [text(title)])));
    let rows = comparison.standings.iter().map(|standing| {
        let aside = element("small", &[], [text(&wording::aside(standing))]);
        let name = element("td", &[], [text(&standing.candidate.label), aside]);
        let cells = measures.iter().map(|measure| cell(standing, *measure));
        element("tr", &[], std::iter::once(name).chain(cells))
    });
    let table = element("table", &[], std::iter::once(head).chain(rows));
    element("div", &[("class", "scroll")], [table])
}

fn cell(standing: &Standing, measure: RunMeasure) -> Markup {
    let Some(spread) = standing.spread(measure) else { return element("td", &[], [text("–")]) };
    let [median, low, high] = [spread.median, spread.low, spread.high].map(|n| wording::number(measure, n));
    let small = |class: &str, what: &str| element("small", &[("class", class)], [text(what)]);
    let mut parts = vec![text(&median), small("", &format!("{low} – {high}"))];
    if let Some(difference) = standing.differences.get(&measure) {
        let class = match difference.verdict {
            Verdict::Lower => "good",
            Verdict::Higher => "bad",
            Verdict::WithinNoise | Verdict::TooFew => "",
        };
        parts.push(small(class, &wording::cell(difference)));
    }
    element("td", &[], parts)
}

fn strip_of(comparison: &Comparison, measure: RunMeasure) -> Markup {
    let rows: Vec<Strip<'_>> = comparison
        .standings
        .iter()
        .enumerate()
        .map(|(at, standing)| Strip {
            label: &standing.candidate.label,
            numbers: standing.numbers(measure),
            median: standing.spread(measure).map(|s| s.median),
            class: series(at),
        })
        .collect();
    let description = format!("{} of every run, by allocator", measure.title());
    figure(measure.title(), [strip(&description, unit(measure), &rows)])
}

fn figure(caption: &str, content: impl IntoIterator<Item = Markup>) -> Markup {
    let caption = element("figcaption", &[], [text(caption)]);
    element("figure", &[], std::iter::once(caption).chain(content))
}

/// CPU time and memory together; nothing if one of them is not there.
fn both(comparison: &Comparison) -> Option<Markup> {
    let memory = [RunMeasure::AfterSettle, RunMeasure::AfterLoad, RunMeasure::PeakRss];
    let memory = memory.into_iter().find(|m| comparison.measures().contains(m))?;
    let dots: Vec<Dot<'_>> = comparison
        .standings
        .iter()
        .enumerate()
        .filter_map(|(at, standing)| {
            let (x, y) = (standing.spread(RunMeasure::Cpu)?.median, standing.spread(memory)?.median);
            Some(Dot { label: &standing.candidate.label, place: [x, y], class: series(at) })
        })
        .collect();
    if dots.is_empty() {
        return None;
    }
    let titles = [RunMeasure::Cpu.title(), memory.title()];
    let picture =
        scatter("CPU time and memory, medians by allocator", titles, [Unit::Nanos, Unit::Bytes], &dots);
    let caption = "CPU time and memory together: nobody is better in both than who is on the dashed line; the noise is not drawn";
    Some(element("div", &[("class", "charts")], [figure(caption, [picture])]))
}

/// One run of each, the last one that counts.
fn over_time(comparison: &Comparison) -> Option<Markup> {
    let mut curves = Vec::new();
    let mut legend = Vec::new();
    for (at, standing) in comparison.standings.iter().enumerate() {
        let Some(sample) = standing.counted().last() else { continue };
        let points = sample.timeline.points();
        if points.len() < 2 {
            continue;
        }
        let points = points.iter().map(|p| [p.time_ns as f64, p.rss_bytes as f64]).collect();
        curves.push(Curve { label: &standing.candidate.label, points, class: series(at) });
        let mark = element("b", &[("class", &series(at))], [text("●")]);
        legend.push(element("span", &[], [mark, text(" "), text(&standing.candidate.label)]));
    }
    if curves.is_empty() {
        return None;
    }
    let picture = lines("resident memory over time, by allocator", [Unit::Nanos, Unit::Bytes], &curves);
    let legend = element("div", &[("class", "legend")], legend);
    Some(
        [heading("Resident memory over time"), figure("The last run of each that counts", [picture, legend])]
            .into_iter()
            .collect(),
    )
}

/// All numbers, folded.
fn raw(comparison: &Comparison) -> Markup {
    let measures = comparison.measures();
    let titles = ["allocator", "round", "ended"].into_iter().chain(measures.iter().map(|m| m.title()));
    let head = element("tr", &[], titles.map(|title| element("th", &[], [text(title)])));
    let mut rows = vec![head];
    for standing in &comparison.standings {
        for sample in &standing.samples {
            let round =
                if sample.round == 0 { "first, does not count".to_owned() } else { sample.round.to_string() };
            let words = [standing.candidate.label.clone(), round, sample.outcome.words()];
            let numbers =
                measures.iter().map(|m| m.of(sample).map_or("–".to_owned(), |n| wording::number(*m, n)));
            let cells = words.into_iter().chain(numbers).map(|cell| element("td", &[], [text(&cell)]));
            rows.push(element("tr", &[], cells));
        }
    }
    let table = element("div", &[("class", "scroll")], [element("table", &[], rows)]);
    element("details", &[], [element("summary", &[], [text("All runs")]), table])
}

#[cfg(test)]
mod tests {
    use super::super::testing::comparison;
    use super::*;

    #[test]
    fn the_page_has_every_run_and_no_markup_of_others() {
        let page = html(&comparison());
        // Five measures, two who have runs that count.
        assert!(page.matches("<circle").count() >= 5 * (10 + 5), "{}", page.matches("<circle").count());
        assert!(
            page.contains("within the noise") && page.contains("saying “\\u{1b}[31m&lt;b&gt;|`x`”"),
            "{page}"
        );
        assert!(
            !page.contains("<b>|")
                && !page.contains("<script")
                && !page.contains("style=")
                && !page.contains("NaN")
        );
    }
}
