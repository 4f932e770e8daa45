//! A call site: its stack, and how it changed from release to release, from day to day, and from host to host.

use super::service::{WHERE, link, title, values};
use super::{Made, Problem, table, trail};
use crate::serve::look::Look;
use heapwise_report::document::{Block, Cell, Column, Document, Figures, Section, Table, Words};
use std::collections::HashMap;

const NUMBERS: &str = "count(*) as recordings, cast(avg(sites.peak_bytes) as bigint) as peak_bytes, \
    cast(avg(sites.allocated_bytes) as bigint) as allocated_bytes, cast(avg(sites.allocations) as bigint) as allocations, \
    cast(avg(sites.live_at_exit_bytes) as bigint) as live_at_exit_bytes";

pub(super) async fn page(look: &Look<'_>) -> Made {
    let site = look.parameter("site");
    let [folder, service, release, host] = values(look);
    let values = [folder, service, release, host, ("site", site)];
    let by = async |what: &str, order: &str| {
        let sql = format!(
            "select {what} as label, {NUMBERS} from sites join recordings on sites.recording = recordings.recording \
             where {WHERE} and sites.service = $folder and sites.stack_id = $site group by {what} order by {order} limit 60"
        );
        look.rows(&sql, &values).await
    };
    let releases = by("release", "min(recordings.started) desc").await?;
    if releases.is_empty() {
        return Err(Problem::Nothing(format!("No such recording has the call site {site}.")));
    }
    let days = by("cast(cast(started as date) as varchar)", "label desc").await?;
    let hosts = by("host", "peak_bytes desc, label").await?;
    let numbers = [
        ("recordings", "recordings"),
        ("live at the peak", "peak_bytes"),
        ("allocated", "allocated_bytes"),
        ("allocations", "allocations"),
        ("never freed", "live_at_exit_bytes"),
    ];
    let columns = |first: &'static str| [&[(first, "label")], &numbers[..]].concat();
    let bars = days.iter().map(|row| (row.text("label").to_owned(), vec![row.number("peak_bytes")]));
    let bars =
        Figures::bars("Live bytes at the peak by day, means", true, ["live at the peak".to_owned()], bars);
    let sections = vec![
        trail([title(look).to(&link(look, &[], &[]))]),
        Section::untitled([Block::Figures(bars)]),
        Section::new(
            "Releases",
            [table(&releases, &columns("release"), |row| {
                row.is_known("label").then(|| link(look, &["site", site], &[("release", row.text("label"))]))
            })],
        )
        .aside("means over the recordings that have it, the newest first"),
        Section::new(
            "Hosts",
            [table(&hosts, &columns("host"), |row| {
                row.is_known("label").then(|| link(look, &["site", site], &[("host", row.text("label"))]))
            })],
        ),
        Section::new("Stack", [stack(look, site).await?]).aside("from the innermost outwards"),
    ];
    Ok(Document { title: Words::own("call site ").then(Words::name(site)), sections, ..Document::default() })
}

/// The frames of a stack. Each leads to what it requests in all stacks.
async fn stack(look: &Look<'_>, site: &str) -> Result<Block, Problem> {
    const STACK: &str = "select frame_ids from stacks where service = $folder and stack_id = $site limit 1";
    const FRAMES: &str = "select frame_id, min(function) as function, min(module) as module, min(file) as file from frames \
        where service = $folder and frame_id in (select unnest(frame_ids) from (select frame_ids from stacks where service = $folder and stack_id = $site limit 1)) \
        group by frame_id";
    let values = [("folder", look.parameter("folder")), ("site", site)];
    let (stack, frames) = (look.rows(STACK, &values).await?, look.rows(FRAMES, &values).await?);
    let known: HashMap<&str, _> = frames.iter().map(|row| (row.text("frame_id"), row)).collect();
    let mut table = Table::new([Column::new("function"), Column::new("module"), Column::new("file")]);
    for id in stack.first().map(|row| row.texts("frame_ids")).unwrap_or_default() {
        let text = |name| known.get(id).map(|row| row.text(name)).unwrap_or_default();
        let function =
            Words::name(super::name_of(text("function"))).to(&link(look, &["flame"], &[("focus", id)]));
        table.row([
            Cell::text(function),
            Cell::text(Words::name(text("module"))),
            Cell::text(Words::name(text("file"))),
        ]);
    }
    Ok(Block::Table(table))
}
