//! What was measured, as tables: the heaps that the workers had, a table for each part of each workload, and all sizes.

use super::measure::{Job, Plan, Series};
use crate::lab::outcome::{Cell, Column, Table};

/// All tables.
pub(super) fn all(plan: &Plan, series: &Series) -> Vec<Table> {
    let mut tables = vec![heaps(plan, series)];
    for workload in 0..plan.workloads.len() {
        let phases = series.phases(workload);
        tables
            .extend(phases.iter().enumerate().map(|(at, phase)| one(plan, series, workload, phase, at == 0)));
    }
    tables.push(sizes(plan, series));
    tables
}

fn columns(pairs: &[(&str, &str)]) -> Vec<Column> {
    pairs.iter().map(|(id, title)| Column::new(*id, *title)).collect()
}

/// What workers report about their heap.
const LOOKS: &[(&str, &str)] = if cfg!(windows) {
    &[("runs", "runs"), ("allocator", "Rust's"), ("force_flags", "flags that are forced")]
} else {
    &[
        ("runs", "runs"),
        ("allocator", "Rust's"),
        ("usable_of_193", "193 is"),
        ("fresh_fill", "fresh"),
        ("freed_fill", "freed"),
        ("libraries", "libraries"),
    ]
};

/// What the workers found when they looked at their own heap.
fn heaps(plan: &Plan, series: &Series) -> Table {
    let byte = |byte: Option<u8>| byte.map_or(Cell::Nothing, |byte| Cell::text(format!("{byte:#04x}")));
    let rows = plan.conditions.iter().enumerate().map(|(at, condition)| {
        let role = condition.role().id();
        let start = [Cell::text(condition.name()), Cell::text(role), Cell::text(condition.about())];
        let rest = match series.any(at).map(|answer| &answer.heap) {
            // Windows' heap reports what it does; others are examined by allocating blocks.
            Some(heap) if heap.force_flags.is_some() => vec![
                Cell::Count(series.runs(at)),
                Cell::text(&heap.allocator),
                Cell::text(format!("{:#010x}", heap.force_flags.unwrap_or_default())),
            ],
            Some(heap) => vec![
                Cell::Count(series.runs(at)),
                Cell::text(&heap.allocator),
                Cell::Count(heap.usable_of_193),
                byte(heap.fresh_fill),
                byte(heap.freed_fill),
                if heap.libraries.is_empty() { Cell::Nothing } else { Cell::text(heap.libraries.join(" ")) },
            ],
            None => [vec![Cell::Count(0)], vec![Cell::Nothing; LOOKS.len() - 1]].concat(),
        };
        [start.to_vec(), rest].concat()
    });
    Table {
        id: "heaps".to_owned(),
        title: "THE HEAPS THAT WORKERS HAD".to_owned(),
        aside: "as they found out by asking their allocators".to_owned(),
        labels: Vec::new(),
        is_detail: false,
        columns: [
            Column::new("condition", "condition"),
            Column::detail("role", "role"),
            Column::detail("about", "what it is"),
        ]
        .into_iter()
        .chain(columns(LOOKS))
        .collect(),
        rows: rows.collect(),
    }
}

/// A part of a workload under each condition, at the largest size that it got.
fn one(plan: &Plan, series: &Series, workload: usize, phase: &str, is_first: bool) -> Table {
    let work = plan.workloads[workload];
    let sizes = &plan.sizes[workload];
    let rows = (0..plan.conditions.len()).filter_map(|condition| {
        let job = largest(series, workload, condition, phase, sizes)?;
        Some(vec![
            Cell::text(plan.conditions[condition].name()),
            Cell::Count(sizes[job.size]),
            series.time(job, phase).map_or(Cell::Nothing, Cell::Time),
            series.ratio(job, phase).map_or(Cell::Nothing, Cell::Ratio),
            series.growth(job, phase, sizes).map_or(Cell::Nothing, Cell::Growth),
        ])
    });
    Table {
        id: format!("{}/{phase}", work.name()),
        title: format!("{}: {phase}", work.name()),
        aside: if is_first { work.about().to_owned() } else { String::new() },
        labels: vec![("workload", work.name().to_owned()), ("phase", phase.to_owned())],
        is_detail: false,
        columns: columns(&[
            ("condition", "condition"),
            ("n", work.unit()),
            ("time_ns", "time"),
            ("ratio", "times plain"),
            ("growth", "growth"),
        ]),
        rows: rows.collect(),
    }
}

/// The job with the largest size that was measured.
pub(super) fn largest(
    series: &Series,
    workload: usize,
    condition: usize,
    phase: &str,
    sizes: &[u64],
) -> Option<Job> {
    let jobs = (0..sizes.len()).rev().map(|size| Job { workload, size, condition });
    jobs.into_iter().find(|job| series.time(*job, phase).is_some())
}

/// Every size, from which growth was found.
fn sizes(plan: &Plan, series: &Series) -> Table {
    let mut rows = Vec::new();
    for (workload, work) in plan.workloads.iter().enumerate() {
        for phase in series.phases(workload) {
            for (condition, name) in plan.conditions.iter().map(|c| c.name()).enumerate() {
                for (size, n) in plan.sizes[workload].iter().enumerate() {
                    let job = Job { workload, size, condition };
                    let Some(time) = series.time(job, &phase) else { continue };
                    rows.push(vec![
                        Cell::text(work.name()),
                        Cell::text(&phase),
                        Cell::text(name),
                        Cell::Count(*n),
                        Cell::Time(time),
                        series.ratio(job, &phase).map_or(Cell::Nothing, Cell::Ratio),
                    ]);
                }
            }
        }
    }
    Table {
        id: "sizes".to_owned(),
        title: "Every size".to_owned(),
        aside: String::new(),
        labels: Vec::new(),
        is_detail: true,
        columns: columns(&[
            ("workload", "workload"),
            ("phase", "phase"),
            ("condition", "condition"),
            ("n", "n"),
            ("time_ns", "time"),
            ("ratio", "times plain"),
        ]),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::tests::made_up;
    use super::*;
    use crate::statistics::Spread;

    #[test]
    fn each_part_has_a_table_with_the_largest_size() {
        let (plan, series) =
            made_up(|condition, n, _, phase| n * if condition == 1 && phase == "drop" { n } else { 10 });
        let tables = all(&plan, &series);
        let ids: Vec<_> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids, ["heaps", "hash-map/construct", "hash-map/drop", "sizes"]);
        assert!(tables.iter().all(|t| t.rows.iter().all(|row| row.len() == t.columns.len())));
        let drop = &tables[2].rows[1];
        assert_eq!(drop[1], Cell::Count(8000));
        assert_eq!(drop[3], Cell::Ratio(Spread { median: 800.0, low: 800.0, high: 800.0 }));
        let Cell::Growth(growth) = drop[4] else { panic!("{drop:?}") };
        assert_eq!(growth.words(), "O(n^2)");
        assert_eq!(tables[3].rows.len(), 2 * 2 * 4);
    }
}
