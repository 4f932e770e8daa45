//! The tables of a trial.

use super::Replay;
use super::facts::{after, last, main, measured, per_call, trouble};
use crate::document::{Block, Cell, Column, Row, Section, Table};
use crate::names;
use crate::units::{bytes, count, signed_percent, time};
use heapwise_allocators::Candidate;
use heapwise_analysis::{Breakdown, Frame};
use heapwise_trial::replay::CallTimes;
use heapwise_trial::replay::trial::Results;
use heapwise_trial::statistics::Spread;

fn difference(value: f64, base: Option<f64>) -> Cell {
    match base {
        Some(base) if base > 0.0 => Cell::number(signed_percent(value / base - 1.0, 1)),
        _ => Cell::nothing(),
    }
}

/// A range of nanoseconds, with its median as the short form.
fn times(spread: Option<Spread>) -> Cell {
    let Some(Spread { median, low, high }) = spread else { return Cell::nothing() };
    let word = |ns: f64| time(ns.round() as u64);
    Cell::spread(word(median), format!("{} ({}..{})", word(median), word(low), word(high)))
}

fn nanoseconds(spread: Option<Spread>) -> Cell {
    let Some(Spread { median, low, high }) = spread else { return Cell::nothing() };
    Cell::spread(format!("{median:.1}"), format!("{median:.1} ({low:.1}..{high:.1})"))
}

/// A version without the revision that jemalloc appends to it.
pub(crate) fn version(reported: &str) -> &str {
    reported.split_once('-').map_or(reported, |(version, _)| version)
}

/// Whether more than 1 % of what is resident after the load is lazily freed: only then a narrow terminal has a column for it.
fn is_lazy(results: &Results) -> bool {
    after(results).is_some_and(|(rss, lazy)| lazy as f64 > rss as f64 * 0.01)
}

/// Each candidate in a row. Others are compared with the recorded program's allocator, or else with the first one that has
/// results.
pub(super) fn overview(replay: &Replay<'_>) -> Section {
    let trial = replay.trial;
    let has = |f: &dyn Fn(&Results) -> bool| measured(&trial.tried).any(|(_, r)| f(r));
    let (has_after, has_time) = (has(&|r| after(r).is_some()), has(&|r| r.allocator_ns.is_some()));
    let peak = |is_base: &dyn Fn(&Candidate) -> bool| {
        measured(&trial.tried).find_map(|(t, r)| r.peak_rss.filter(|_| is_base(&t.candidate)))
    };
    let base = peak(&|candidate| candidate == replay.now).or_else(|| peak(&|_| true)).map(|s| s.median);
    let mut columns = vec![
        Column::new("allocator"),
        Column::new("version"),
        Column::new("peak RSS"),
        Column::new(""),
        Column::detail("RSS at the end"),
    ];
    if has_after {
        let lazy = if has(&is_lazy) { Column::new } else { Column::detail };
        columns.extend([Column::new("after load"), lazy("of it lazy")]);
    }
    if has_time {
        // A line of 80 columns has room for one of them next to memory after the load.
        let whole = if has_after { Column::detail } else { Column::new };
        columns.extend([whole("in the allocator"), Column::new("ns a call"), Column::detail("page faults")]);
    }
    let row = |tried: &heapwise_trial::replay::trial::Tried| {
        let mut row = vec![Cell::text(tried.candidate.to_string()), Cell::text(version(&tried.version))];
        let results = tried.results.as_ref().ok();
        let (Some(results), None) = (results, trouble(tried)) else {
            // The reason is given below: a sentence here would take the room of all numbers.
            let outcome = trouble(tried).map_or("", |(outcome, _)| outcome);
            let short = if outcome == "interrupted" { "not run" } else { "failed" };
            row.push(Cell::text(outcome).or(short));
            row.resize(columns.len(), Cell::nothing());
            return Row::of(row);
        };
        let peak = results.peak_rss;
        row.push(match peak {
            Some(Spread { median, low, high }) => Cell::spread(
                bytes(median as u64),
                format!("{} ({}..{})", bytes(median as u64), bytes(low as u64), bytes(high as u64)),
            ),
            None => Cell::nothing(),
        });
        row.push(peak.map_or_else(Cell::nothing, |peak| difference(peak.median, base)));
        row.push(main(results).map_or_else(Cell::nothing, |m| Cell::number(bytes(m.end_rss.0))));
        if has_after {
            let after = after(results);
            row.push(after.map_or_else(Cell::nothing, |(rss, _)| Cell::number(bytes(rss))));
            row.push(after.map_or_else(Cell::nothing, |(_, lazy)| Cell::number(bytes(lazy))));
        }
        if has_time {
            row.push(times(results.allocator_ns));
            row.push(nanoseconds(per_call(results, trial.counts.calls())));
            row.push(main(results).map_or_else(Cell::nothing, |m| Cell::number(count(m.page_faults.0))));
        }
        Row::of(row)
    };
    let rows = trial.tried.iter().map(row).collect();
    Section::new("Candidates", [Block::Table(Table { rows, ..Table::new(columns) })])
}

/// What resident memory consists of at a moment, if that was measured.
pub(super) fn waterfall(
    replay: &Replay<'_>,
    title: &'static str,
    moment: fn(&Results) -> Option<Breakdown>,
) -> Option<Section> {
    let rows: Vec<(String, Breakdown)> = measured(&replay.trial.tried)
        .filter_map(|(tried, results)| Some((tried.candidate.to_string(), moment(results)?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let columns = ["allocator", "live", "internal frag.", "external frag.", "free pages", "metadata", "lazy"];
    let mut table = Table::new(columns.map(Column::new).into_iter().chain([Column::detail("huge pages")]));
    for (name, b) in rows {
        let metadata = b.metadata.0 + b.unaccounted.0;
        let fragmentation = [b.internal_fragmentation, b.external_fragmentation].map(|part| part.0);
        let [internal, external] = fragmentation;
        let others = [b.free_pages.0, metadata, b.lazily_freed.0, b.huge_pages.0];
        let parts = [b.live.0, internal, external].into_iter().chain(others);
        table.row(std::iter::once(Cell::text(name)).chain(parts.map(|part| Cell::number(bytes(part)))));
    }
    Some(Section::new(title, [Block::Table(table)]).aside("lazy and huge are parts of others"))
}

/// A section with a table, if that has any row.
fn section<const N: usize>(
    title: &'static str,
    aside: &str,
    columns: [&str; N],
    rows: Vec<Row>,
) -> Option<Section> {
    let table = Table { rows, ..Table::new(columns.map(Column::new)) };
    (!table.rows.is_empty()).then(|| Section::new(title, [Block::Table(table)]).aside(aside))
}

/// What allocators report about themselves at the end, for comparison with the measurements. Omitted if none reports anything.
pub(super) fn own(replay: &Replay<'_>) -> Option<Section> {
    let rows: Vec<Row> = measured(&replay.trial.tried)
        .filter_map(|(tried, results)| {
            let own = last(results)?.own?;
            let parts = [
                own.allocated_bytes,
                own.active_bytes,
                own.metadata_bytes,
                own.resident_bytes,
                own.mapped_bytes,
                own.retained_bytes,
            ];
            let parts = parts.map(|part| part.map_or_else(Cell::nothing, |n| Cell::number(bytes(n))));
            Some(Row::of(std::iter::once(Cell::text(tried.candidate.to_string())).chain(parts)))
        })
        .collect();
    let columns = ["allocator", "allocated", "active", "metadata", "resident", "mapped", "retained"];
    section("Statistics of the allocators at the end", "as each allocator defines them", columns, rows)
}

/// How long single calls take.
pub(super) fn latency(replay: &Replay<'_>) -> Option<Section> {
    let of = |times: &CallTimes| -> Vec<Cell> {
        [times.p50_ns, times.p99_ns, times.p999_ns, times.p9999_ns]
            .iter()
            .map(|q| q.map_or_else(Cell::nothing, |ns| Cell::number(time(ns.round() as u64))))
            .collect()
    };
    let rows: Vec<Row> = measured(&replay.trial.tried)
        .filter_map(|(tried, results)| {
            let first = results.first.as_ref().filter(|m| m.allocate.timed > 0)?;
            let mut row = vec![Cell::text(tried.candidate.to_string())];
            row.extend(of(&first.allocate));
            row.extend(of(&first.free));
            Some(Row::of(row))
        })
        .collect();
    let columns = ["allocator", "p50", "p99", "p99.9", "p99.99", "free p50", "p99", "p99.9", "p99.99"];
    let clock =
        replay.trial.harness.map(|harness| format!("; with {:.0} ns for the clock", harness.bias_ns[0]));
    let what = format!("allocating, then freeing{}", clock.unwrap_or_default());
    section("How long calls take", &what, columns, rows)
}

/// How many of the slowest calls are shown for each candidate.
const SHOWN: usize = 3;

/// The slowest calls and their callers.
pub(super) fn slowest(replay: &Replay<'_>) -> Option<Section> {
    let mut rows = Vec::new();
    for (tried, results) in measured(&replay.trial.tried) {
        let slowest = results.first.iter().flat_map(|m| &m.slowest);
        for slow in slowest.filter(|slow| slow.stack.is_some()).take(SHOWN) {
            rows.push(Row::of([
                Cell::text(tried.candidate.to_string()),
                Cell::number(time(slow.ns.round() as u64)),
                caller(replay, slow).map_or_else(Cell::nothing, Cell::text),
            ]));
        }
    }
    section("The slowest allocation calls", "and their callers", ["allocator", "takes", "from"], rows)
}

/// The user's nearest frame of a slow call.
pub(super) fn caller(replay: &Replay<'_>, slow: &heapwise_trial::replay::SlowCall) -> Option<String> {
    let site = replay.analysis.site_of_stack(replay.process, slow.stack?)?;
    let site = replay.analysis.sites().iter().find(|s| s.id == site)?;
    let frames: Vec<Frame<'_>> = replay.analysis.stack(site);
    let frame = site.user_frame.and_then(|at| frames.get(at)).or(frames.first())?;
    let function = names::function(frame.function?);
    let place = match (frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" {}:{line}", file.rsplit('/').next().unwrap_or(file)),
        _ => String::new(),
    };
    Some(format!("{function}{place}"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failed, interrupted, replayed, with};
    use super::super::{html, markdown, text};
    use crate::style::Style;

    const LONG: &str = "jemalloc:background_thread=true:dirty_decay_ms=1000";
    const WHY: &str = "cannot read \"./nix.so\": No such file or directory (os error 2)";

    /// The line that begins with a candidate, or with as much of its name as there is room for.
    fn line<'a>(page: &'a str, name: &str) -> &'a str {
        page.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{page}"))
    }

    #[test]
    fn who_failed_does_not_take_the_room_of_others() {
        let trial = with([
            replayed("glibc", 14, 13, 0),
            replayed(LONG, 12, 3, 0),
            failed("./nix.so", WHY),
            interrupted("snmalloc"),
        ]);
        let page = trial.show(|replay| text(replay, Style { color: false, width: 80 }));
        let (glibc, long) = (line(&page, "glibc"), line(&page, "jemalloc:b"));
        assert!(glibc.contains("14.0 MiB") && glibc.contains("13.0 MiB"), "{page}");
        assert!(long.contains("12.0 MiB") && long.contains("−14.3 %") && long.contains("3.00 MiB"), "{page}");
        assert!(line(&page, "./nix.so").contains("failed") && line(&page, "snmalloc").contains("not run"));
        assert_eq!(page.matches("No such file").count(), 1, "{page}");
        for page in [trial.show(markdown), trial.show(html)] {
            assert_eq!(page.matches("No such file").count(), 1, "{page}");
            assert!(page.contains("unavailable") && page.contains("interrupted"), "{page}");
        }
    }

    #[test]
    fn what_is_lazily_freed_has_a_column_where_there_is_some() {
        let shown = |lazy| {
            let trial = with([replayed("glibc", 14, 13, 0), replayed("snmalloc", 12, 11, lazy)]);
            trial.show(|replay| text(replay, Style { color: false, width: 80 })).contains("of it lazy")
        };
        assert!(shown(4) && !shown(0));
    }
}
