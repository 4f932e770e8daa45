//! All services, and the usual questions.

use super::{Made, table, trail};
use crate::ask::QUESTIONS;
use crate::question::Question;
use crate::serve::look::Look;
use heapwise_report::document::{Block, Cell, Column, Document, Link, Section, Table, Words};

const SERVICES: &str = "\
    select service_name, count(*) as recordings, count(distinct host) as hosts, count(distinct release) as releases, \
        cast(cast(max(started) as date) as varchar) as last_day, \
        cast(avg(peak_live_bytes) as bigint) as peak_live_bytes, cast(avg(peak_rss_bytes) as bigint) as peak_rss_bytes, \
        cast(avg(never_freed_bytes) as bigint) as never_freed_bytes, sum(lost_events) as lost_events \
    from recordings group by service_name order by recordings desc, service_name limit 1000";

pub(super) async fn page(look: &Look<'_>) -> Made {
    let services = look.rows(SERVICES, &[]).await?;
    let columns = [
        ("service", "service_name"),
        ("recordings", "recordings"),
        ("hosts", "hosts"),
        ("releases", "releases"),
        ("last recorded", "last_day"),
        ("live at the peak", "peak_live_bytes"),
        ("peak RSS", "peak_rss_bytes"),
        ("never freed", "never_freed_bytes"),
        ("lost events", "lost_events"),
    ];
    let link = |service: &str| Some(Link::new(&["service", service], []));
    let mut questions = Table::new([Column::new("question"), Column::new("what it answers")]);
    for (name, sql) in QUESTIONS {
        let name_and_link = Words::name(*name).to(&Link::new(&["ask", name], []));
        questions.row([Cell::text(name_and_link), Cell::text(Question::new(sql).about())]);
    }
    let mut sections = vec![
        Section::new("Services", [table(&services, &columns, |row| link(row.text("service_name")))])
            .aside("means over all recordings"),
        Section::new("Questions", [Block::Table(questions)]),
    ];
    if services.is_empty() {
        sections.insert(0, trail([Words::own("There are no recordings.")]));
    }
    Ok(Document { title: Words::own("heapwise fleet"), sections, ..Document::default() })
}
