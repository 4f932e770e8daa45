//! A comparison as a document.

use super::wording;
use crate::chart::Unit;
use crate::document::{
    Alert, Block, Cell, Column, Document, Figure, Figures, Mark, Numbers, Picture, Role, Section, Shown,
    Table, Words,
};
use heapwise_trial::compare::{Comparison, Difference, RunMeasure, Sample, Standing, Verdict};

pub(super) fn document(comparison: &Comparison) -> Document {
    let sections = [
        Some(setup(comparison)),
        Some(Section::conclusion(wording::conclusion(comparison))),
        findings(comparison),
        Section::caveats(
            wording::unavailable(comparison).into_iter().chain(comparison.notes.iter().cloned()),
        ),
        Some(medians(comparison)),
        Some(differences(comparison)),
        Some(every_run(comparison)),
        Some(over_time(comparison)),
        Some(all_runs(comparison)),
    ];
    Document {
        title: Words::own("heapwise compare: ").and(Role::Name, wording::command(comparison)),
        sections: sections.into_iter().flatten().collect(),
        ..Document::default()
    }
}

fn setup(comparison: &Comparison) -> Section {
    let lines = std::iter::once(wording::course(comparison)).chain(wording::drive(comparison));
    let lines = lines.chain([comparison.setup.machine.to_string()]);
    Section::untitled(lines.map(|line| Block::line(Mark::Setup, line)))
}

fn findings(comparison: &Comparison) -> Option<Section> {
    let item = |(name, what)| (format!("{name}: {what}").into(), String::new());
    let items: Vec<_> = wording::findings(comparison).into_iter().map(item).collect();
    let alert = Alert { lead: "Not the same", is_severe: true, items };
    let aside = "what the program did differently from the baseline";
    (!alert.items.is_empty()).then(|| Section::new("Not the same", [Block::Alert(alert)]).aside(aside))
}

/// The title of a column where there is little room.
fn title(measure: RunMeasure) -> &'static str {
    match measure {
        RunMeasure::Wall => "wall",
        RunMeasure::Cpu => "CPU",
        RunMeasure::EndRss => "RSS at end",
        RunMeasure::AfterLoad => "after load",
        RunMeasure::AfterSettle => "after idle",
        RunMeasure::Faults => "faults",
        RunMeasure::PeakRss => "peak RSS",
    }
}

/// A table with a row for each of some standings and a column for each measure.
fn table<'a>(
    comparison: &Comparison,
    standings: impl IntoIterator<Item = &'a Standing>,
    cell: impl Fn(&Standing, RunMeasure) -> Cell,
) -> Table {
    let measures = comparison.measures();
    let column = |measure: &RunMeasure| {
        let column = Column::new(measure.title()).short(title(*measure));
        // These have no room for ranges at any width.
        if matches!(measure, RunMeasure::Faults | RunMeasure::Wall) { column.brief() } else { column }
    };
    let mut table = Table::new(std::iter::once(Column::new("allocator")).chain(measures.iter().map(column)));
    for standing in standings {
        let label = Words::name(standing.candidate.label.as_str());
        let whole = label.clone().and(Role::Own, " ").and(Role::Prose, wording::aside(standing));
        let name = Cell::text(whole).or(label);
        table.row(std::iter::once(name).chain(measures.iter().map(|measure| cell(standing, *measure))));
    }
    table
}

fn medians(comparison: &Comparison) -> Section {
    let table = Table {
        in_brackets: "in brackets the least and the greatest",
        ..table(comparison, &comparison.standings, median)
    };
    Section::new("Medians", [Block::Table(table)]).aside("of runs that count")
}

fn median(standing: &Standing, measure: RunMeasure) -> Cell {
    let Some(spread) = standing.spread(measure) else { return Cell::nothing().at_the_right() };
    let [median, low, high] = [spread.median, spread.low, spread.high].map(|n| wording::number(measure, n));
    let bare = |number: &str| number.split(' ').next().unwrap_or_default().to_owned();
    let unit = |number: &str| number.split(' ').nth(1).map(str::to_owned);
    // The unit of the median is used for all three if they have the same one.
    let whole = match unit(&low) == unit(&median) && unit(&high) == unit(&median) {
        true => format!("{median} ({}..{})", bare(&low), bare(&high)),
        false => format!("{median} ({low}..{high})"),
    };
    Cell::spread(median, whole)
}

/// Each candidate compared with the baseline: in words, and on pages as a table.
fn differences(comparison: &Comparison) -> Section {
    let cell = |standing: &Standing, measure: RunMeasure| match standing.differences.get(&measure) {
        None if standing.counted.is_empty() => Cell::own("no run counts").at_the_right(),
        None => Cell::nothing().at_the_right(),
        Some(difference) => Cell::text(Words::of(role(difference), wording::cell(difference))).at_the_right(),
    };
    let table = table(comparison, comparison.candidates(), cell);
    let mut blocks = vec![Block::Table(table).only(Shown::Pages)];
    let freed = |standing: &Standing| {
        let label = &standing.candidate.label;
        wording::lazily_freed(standing).map(|freed| Block::line(Mark::Item, format!("{label}: {freed}")))
    };
    blocks.extend(comparison.candidates().iter().filter_map(freed).map(|line| line.only(Shown::Pages)));
    if comparison.setup.rounds >= 3 {
        let lines = comparison.candidates().iter().flat_map(|standing| in_words(comparison, standing));
        blocks.extend(lines.map(|line| line.only(Shown::Terminal)));
    }
    let noise = wording::about_noise(comparison);
    blocks.extend(noise.map(|noise| Block::line(Mark::Indented, Words::faint(noise))));
    Section::new("Compared with the baseline", blocks).aside(wording::aside(comparison.baseline()))
}

fn role(difference: &Difference) -> Role {
    match difference.verdict {
        Verdict::Lower => Role::Good,
        Verdict::Higher => Role::Bad,
        Verdict::WithinNoise | Verdict::TooFew => Role::Own,
    }
}

fn in_words(comparison: &Comparison, standing: &Standing) -> Vec<Block> {
    let mut lines = vec![Block::line(Mark::Indented, Words::name(wording::who(standing)))];
    if standing.counted.is_empty() {
        lines.push(Block::line(Mark::Nested, "no run counts"));
        return lines;
    }
    let verdicts = wording::verdicts(standing, &comparison.measures());
    let shown = verdicts.into_iter().filter(|(_, those)| !those.is_empty());
    lines.extend(
        shown.map(|(what, those)| Block::line(Mark::Nested, format!("{what}: {}", those.join(", ")))),
    );
    lines.extend(wording::lazily_freed(standing).map(|freed| Block::line(Mark::Nested, Words::faint(freed))));
    lines
}

fn unit(measure: RunMeasure) -> Unit {
    match measure {
        m if m.is_memory() => Unit::Bytes,
        m if m.is_time() => Unit::Nanos,
        _ => Unit::Count,
    }
}

/// Numbers of each standing that has some.
fn numbers<T>(comparison: &Comparison, of: impl Fn(&Standing) -> Vec<T>) -> Vec<Numbers<T>> {
    let row = |(series, standing): (usize, &Standing)| {
        let numbers = of(standing);
        (!numbers.is_empty()).then(|| Numbers { label: standing.candidate.label.clone(), series, numbers })
    };
    comparison.standings.iter().enumerate().filter_map(row).collect()
}

fn every_run(comparison: &Comparison) -> Section {
    let strip = |measure: RunMeasure| {
        let rows = numbers(comparison, |standing| standing.numbers(measure));
        Figure { caption: measure.title().to_owned(), picture: Picture::Strips { unit: unit(measure), rows } }
    };
    let figures = comparison.measures().into_iter().map(strip).chain(both(comparison)).collect();
    Section::new("Every run", [Block::Figures(Figures(figures))])
        .aside("A point is a run that counts, the bar is the median.")
}

/// CPU time and memory together; nothing if one of them is not there.
fn both(comparison: &Comparison) -> Option<Figure> {
    let memory = [RunMeasure::AfterSettle, RunMeasure::AfterLoad, RunMeasure::PeakRss];
    let memory = memory.into_iter().find(|m| comparison.measures().contains(m))?;
    let median = |standing: &Standing, measure| standing.spread(measure).map(|spread| spread.median);
    let rows = numbers(comparison, |standing| {
        let both = median(standing, RunMeasure::Cpu).zip(median(standing, memory));
        both.map(|(x, y)| [x, y]).into_iter().collect()
    });
    let picture = Picture::Scatter {
        titles: [RunMeasure::Cpu, memory].map(|measure| measure.title().to_owned()),
        units: [Unit::Nanos, Unit::Bytes],
        rows,
        emphasis: Vec::new(),
        legend: Vec::new(),
    };
    let caption = "CPU time and memory together: none is better in both than those on the dashed line; the noise is not drawn";
    let is_empty = matches!(&picture, Picture::Scatter { rows, .. } if rows.is_empty());
    (!is_empty).then(|| Figure { caption: caption.to_owned(), picture })
}

/// One run of each: the last one that counts.
fn over_time(comparison: &Comparison) -> Section {
    let rows = numbers(comparison, |standing| {
        let points = standing.counted().last().map(|sample| sample.timeline.points()).unwrap_or_default();
        let points: Vec<_> = points.iter().map(|p| [p.time_ns as f64, p.rss_bytes as f64]).collect();
        if points.len() < 2 { Vec::new() } else { points }
    });
    let caption = "The last run of each that counts".to_owned();
    let is_empty = rows.is_empty();
    let figure = Figure { caption, picture: Picture::Lines { units: [Unit::Nanos, Unit::Bytes], rows } };
    let figures = if is_empty { Vec::new() } else { vec![figure] };
    Section::new("Resident memory over time", [Block::Figures(Figures(figures))])
}

/// All numbers.
fn all_runs(comparison: &Comparison) -> Section {
    let measures = comparison.measures();
    let titles = ["allocator", "round", "ended"].into_iter().chain(measures.iter().map(|m| m.title()));
    let mut table = Table::new(titles.map(Column::new));
    let round = |sample: &Sample| match sample.round {
        0 => "first, does not count".to_owned(),
        round => round.to_string(),
    };
    for standing in &comparison.standings {
        for sample in &standing.samples {
            let label = Cell::text(Words::name(standing.candidate.label.as_str()));
            let words = [label, Cell::own(round(sample)).at_the_right(), Cell::text(sample.outcome.words())];
            let number = |m: &RunMeasure| m.of(sample).map(|n| Cell::number(wording::number(*m, n)));
            let numbers = measures.iter().map(|m| number(m).unwrap_or_else(Cell::nothing));
            table.row(words.into_iter().chain(numbers));
        }
    }
    Section::new("All runs", [Block::Table(table)]).folded().only(Shown::Browser)
}
