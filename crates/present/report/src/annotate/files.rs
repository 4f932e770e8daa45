//! The files of a recording, as tables.

use super::{AnnotateOptions, Annotation};
use crate::document::{Block, Cell, Column, Document, Mark, Role, Section, Table, Words};
use crate::names;
use crate::report::{command_of, counted, rest, warnings};
use crate::units::{bytes, count, time};
use heapwise_analysis::owner::Owner;
use heapwise_diagnosis::FileCosts;

/// Files of the user's that are shown.
const OWN: usize = 20;
/// Files of dependencies that are shown.
const FOREIGN: usize = 5;
/// From so many columns on there is room for all amounts.
const WIDE: usize = 120;

pub(super) fn document(annotation: &Annotation<'_>, options: &AnnotateOptions) -> Document {
    let of = |is_shown: fn(Owner) -> bool| -> Vec<&FileCosts<'_>> {
        let files = annotation.files.iter();
        files.filter(|file| is_shown(file.owner) && !file.whole.is_nothing()).collect()
    };
    let own = of(|owner| owner == Owner::User);
    let foreign = of(|owner| owner == Owner::Dependency);
    let others = of(|owner| !matches!(owner, Owner::User | Owner::Dependency));
    let most = |most| if options.full { usize::MAX } else { most };
    let mut sections = caveats(annotation);
    let groups = [
        ("Your code", &own, most(OWN)),
        ("Dependencies", &foreign, most(FOREIGN)),
        ("Standard libraries and the system", &others, most(0)),
    ];
    sections.extend(
        groups.into_iter().filter_map(|(title, files, most)| group(annotation, options, title, files, most)),
    );
    sections.push(Section::untitled([Block::line(
        Mark::Plain,
        Words::faint(hint(&own, &foreign, &others, options, annotation.analysis.sites().is_empty())),
    )]));
    Document {
        title: Words::own("heapwise annotate: ").and(Role::Name, command_of(annotation.analysis)),
        sections,
        ..Document::default()
    }
}

/// What was not recorded, and what makes the numbers less reliable or keeps lines from being known.
pub(super) fn caveats(annotation: &Annotation<'_>) -> Vec<Section> {
    let (analysis, diagnosis) = (annotation.analysis, annotation.diagnosis);
    [warnings::not_seen(analysis, diagnosis), warnings::warnings(analysis)].concat()
}

fn group(
    annotation: &Annotation<'_>,
    options: &AnnotateOptions,
    title: &'static str,
    files: &[&FileCosts<'_>],
    most: usize,
) -> Option<Section> {
    let shown = &files[..files.len().min(most)];
    if shown.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::new("allocations"),
        Column::new("bytes").least(8),
        Column::new("at peak").least(8),
        Column::new("temporary").needs(WIDE),
        Column::new("est. time").needs(WIDE),
        Column::new("with callees"),
        Column::new("findings").needs(100),
        Column::new("file"),
    ]);
    for file in shown {
        let own = &file.own;
        let findings = match annotation.findings.of_file(file.path).len() {
            0 => String::new(),
            n => count(n as u64),
        };
        let numbers = [
            count(own.allocations),
            bytes(own.allocated_bytes),
            bytes(own.peak_bytes),
            count(own.temporary_allocations),
            time(own.time.0),
            count(file.whole.allocations),
            findings,
        ];
        let path = Cell::text(Words::name(names::file(file.path, options.folder.as_deref())));
        table.row(numbers.map(Cell::number).into_iter().chain([path]));
    }
    table.rest = rest(files.len(), shown.len(), "file", "files");
    Some(Section::new(title, [Block::Table(table)]))
}

/// What there is besides, and what the columns are. `is_empty` says that there was no allocation at all.
fn hint(
    own: &[&FileCosts<'_>],
    foreign: &[&FileCosts<'_>],
    others: &[&FileCosts<'_>],
    options: &AnnotateOptions,
    is_empty: bool,
) -> String {
    if own.is_empty() && foreign.is_empty() && others.is_empty() {
        return match is_empty {
            true => "No allocation was seen; heapwise report has the reason.".to_owned(),
            false => "No stack has a line of source: the program was built without line tables.".to_owned(),
        };
    }
    let mut text = "Files with the largest share of all allocations, or of the live peak, come first. Each allocation counts for the file of the nearest line that is your own; with callees: for each file in \
                    its stack. heapwise annotate FILE PATH shows the lines of a file; the end of its path is enough."
        .to_owned();
    if !options.full && !others.is_empty() {
        let others = counted(others.len() as u64, "file", "files");
        text.push_str(&format!(" --full also has {others} of standard libraries and the system."));
    }
    text
}
