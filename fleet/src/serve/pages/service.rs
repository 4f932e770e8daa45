//! A service: its releases, hosts, call sites and recordings, and how its memory changed from day to day.

use super::{Made, Problem, table, trail, trend};
use crate::serve::look::Look;
use heapwise_report::document::{Document, Link, Section, Words};

/// Recordings of the service, of a release and a host if these are named.
pub(super) const WHERE: &str = "recordings.service = $folder and service_name = $service and ($release = '' or release = $release) and ($host = '' or host = $host)";

/// The values of [`WHERE`]. Files in other folders than that of the service are not opened.
pub(super) fn values<'a>(look: &'a Look<'_>) -> [(&'static str, &'a str); 4] {
    ["folder", "service", "release", "host"].map(|name| (name, look.parameter(name)))
}

/// The page of the service with these conditions, or one below it.
pub(super) fn link(look: &Look<'_>, below: &[&str], changed: &[(&'static str, &str)]) -> Link {
    let service = look.parameter("service");
    let path: Vec<&str> = ["service", service].into_iter().chain(below.iter().copied()).collect();
    let kept = ["release", "host"].map(|name| (name, look.parameter(name)));
    let is_changed = |name: &str| changed.iter().any(|(other, _)| *other == name);
    let query = kept.into_iter().filter(|(name, _)| !is_changed(name)).chain(changed.iter().copied());
    Link::new(&path, query.filter(|(_, value)| !value.is_empty()))
}

/// The service, and which of its recordings are meant.
pub(super) fn title(look: &Look<'_>) -> Words {
    let mut title = Words::own("service ").then(Words::name(look.parameter("service")));
    for (what, name) in [(", release ", "release"), (", host ", "host")] {
        if !look.parameter(name).is_empty() {
            title = title.then(Words::own(what)).then(Words::name(look.parameter(name)));
        }
    }
    title
}

const NUMBERS: &str = "count(*) as recordings, cast(avg(peak_live_bytes) as bigint) as peak_live_bytes, \
    cast(avg(peak_rss_bytes) as bigint) as peak_rss_bytes, cast(avg(allocated_bytes) as bigint) as allocated_bytes, \
    cast(avg(never_freed_bytes) as bigint) as never_freed_bytes";

pub(super) async fn page(look: &Look<'_>) -> Made {
    let values = values(look);
    let ask = async |sql: String| look.rows(&sql, &values).await;
    let releases = ask(format!(
        "select release, cast(cast(min(started) as date) as varchar) as first_day, count(distinct host) as hosts, {NUMBERS} \
         from recordings where {WHERE} group by release order by min(started) desc limit 100"
    ))
    .await?;
    if releases.is_empty() {
        return Err(Problem::Nothing(format!(
            "There are no such recordings of {}.",
            look.parameter("service")
        )));
    }
    let days = ask(format!(
        "select cast(cast(started as date) as varchar) as label, {NUMBERS} from recordings where {WHERE} \
         group by cast(started as date) order by label desc limit 30"
    ))
    .await?;
    let hosts = ask(format!(
        "select host, {NUMBERS} from recordings where {WHERE} group by host order by peak_rss_bytes desc, host limit 200"
    ))
    .await?;
    let sites = ask(format!(
        "select min(sites.place) as place, sites.stack_id, count(*) as recordings, \
             cast(avg(sites.peak_bytes) as bigint) as peak_bytes, \
             cast(avg(sites.allocated_bytes) as bigint) as allocated_bytes, \
             cast(avg(sites.allocations) as bigint) as allocations, \
             cast(avg(sites.live_at_exit_bytes) as bigint) as live_at_exit_bytes \
         from sites join recordings on sites.recording = recordings.recording \
         where {WHERE} and sites.service = $folder and sites.stack_id is not null group by sites.stack_id \
         order by sum(sites.peak_bytes) desc, sites.stack_id limit 30"
    ))
    .await?;
    let recordings = ask(format!(
        "select cast(started as varchar) as started, recording, host, release, duration_ns, peak_live_bytes, peak_rss_bytes, \
             lost_events, verdict from recordings where {WHERE} order by started desc, recording limit 50"
    ))
    .await?;
    let numbers = [
        ("recordings", "recordings"),
        ("live at the peak", "peak_live_bytes"),
        ("peak RSS", "peak_rss_bytes"),
        ("allocated", "allocated_bytes"),
        ("never freed", "never_freed_bytes"),
    ];
    let with_numbers = |first: &[(&'static str, &'static str)]| [first, &numbers[..]].concat();
    let flames = [
        ("peak_bytes", "live at the peak"),
        ("allocated_bytes", "allocated"),
        ("live_at_exit_bytes", "never freed"),
    ]
    .map(|(by, what)| Words::own(format!("flame graph: {what}")).to(&link(look, &["flame"], &[("by", by)])));
    let everything =
        Words::own("all releases and hosts").to(&link(look, &[], &[("release", ""), ("host", "")]));
    let sections = vec![
        trail([everything].into_iter().chain(flames)),
        Section::untitled([trend("Memory by day, means", &days)]),
        Section::new(
            "Releases",
            [table(
                &releases,
                &with_numbers(&[("release", "release"), ("first recorded", "first_day"), ("hosts", "hosts")]),
                |row| row.is_known("release").then(|| link(look, &[], &[("release", row.text("release"))])),
            )],
        )
        .aside("means over recordings, the newest first"),
        Section::new(
            "Call sites",
            [table(
                &sites,
                &[
                    ("place", "place"),
                    ("recordings", "recordings"),
                    ("live at the peak", "peak_bytes"),
                    ("allocated", "allocated_bytes"),
                    ("allocations", "allocations"),
                    ("never freed", "live_at_exit_bytes"),
                ],
                |row| Some(link(look, &["site", row.text("stack_id")], &[])),
            )],
        )
        .aside("those with most live bytes at the peak; means over the recordings that have them"),
        Section::new(
            "Hosts",
            [table(&hosts, &with_numbers(&[("host", "host")]), |row| {
                row.is_known("host").then(|| link(look, &[], &[("host", row.text("host"))]))
            })],
        )
        .aside("means over recordings, those with most memory first"),
        Section::new(
            "Recordings",
            [table(
                &recordings,
                &[
                    ("started", "started"),
                    ("host", "host"),
                    ("release", "release"),
                    ("duration", "duration_ns"),
                    ("live at the peak", "peak_live_bytes"),
                    ("peak RSS", "peak_rss_bytes"),
                    ("lost events", "lost_events"),
                    ("verdict", "verdict"),
                ],
                |row| Some(Link::new(&["recording", row.text("recording")], [])),
            )],
        )
        .aside("the newest"),
    ];
    Ok(Document { title: title(look), sections, ..Document::default() })
}
