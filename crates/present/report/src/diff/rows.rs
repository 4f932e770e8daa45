//! Places that became better or worse, and in what.

use super::{Diff, DiffOptions};
use crate::report::rows::{file_name, function_of, place_of, via_of};
use heapwise_analysis::{Analysis, Site, SiteId};
use heapwise_diagnosis::compare::{Change, Difference, Measure, OF_SITES, PlaceDifference, Status};

/// Which way something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Better,
    Worse,
}

impl Way {
    fn is_of(self, change: &Change) -> bool {
        if self == Self::Better { change.amount() < 0 } else { change.amount() > 0 }
    }
}

/// One place and what changed there.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Short name of the function.
    pub(super) function: String,
    /// `file:line` of the site that changed most.
    pub(super) at: String,
    /// Whether that site is in the older recording only, while the place is in both.
    pub(super) is_past: bool,
    /// What the place calls there.
    pub(super) via: String,
    pub(super) status: Status,
    /// What changed notably in this direction, the most important first.
    pub(super) changes: Vec<Change>,
    /// The site that changed most, and whose it is.
    pub(super) site: Option<(&'a Analysis, &'a Site)>,
}

/// The places that went one way, those with the largest part of the whole first.
pub(super) fn rows<'a>(diff: &Diff<'a>, options: &DiffOptions, way: Way) -> Vec<Row<'a>> {
    let part = |change: &Change| {
        let whole = diff.comparison.whole(change.measure).max(1);
        change.amount().unsigned_abs() * 1_000_000 / u128::from(whole)
    };
    let mut rows: Vec<(u128, Row<'a>)> = Vec::new();
    for place in &diff.comparison.places {
        let changes: Vec<Change> = OF_SITES
            .iter()
            .map(|&measure| place.sum.change(measure))
            .filter(|change| way.is_of(change) && diff.comparison.is_notable(change))
            .collect();
        // Of several equally important ones, the first in the order of the measures.
        let Some(main) = changes.iter().rev().max_by_key(|change| part(change)).copied() else { continue };
        rows.push((part(&main), row(diff, options, place, changes, main.measure, way)));
    }
    rows.sort_by_key(|(part, _)| std::cmp::Reverse(*part));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn row<'a>(
    diff: &Diff<'a>,
    options: &DiffOptions,
    place: &PlaceDifference,
    mut changes: Vec<Change>,
    main: Measure,
    way: Way,
) -> Row<'a> {
    let sites = place.sites.iter().map(|&i| &diff.comparison.sites[i]);
    let changed_most = sites
        .filter(|site| way.is_of(&site.change(main)))
        .max_by_key(|site| site.change(main).amount().unsigned_abs())
        .unwrap_or(&place.sum);
    let site = site_of(diff, changed_most);
    let (mut function, mut at, mut via) = ("(stack unknown)".to_owned(), String::new(), String::new());
    if let Some((analysis, site)) = site {
        let stack = analysis.up_to_place(site);
        if let Some(frame) = stack.last() {
            // All frames without a name in a module are one place: their addresses mean nothing in another build.
            function = match (frame.function, frame.module) {
                (None, Some(module)) => format!("{} (no names)", file_name(&module.path)),
                _ => function_of(frame),
            };
            at = place_of(frame, options.folder.as_deref());
        }
        via = via_of(&stack, site.user_frame).unwrap_or_default();
    }
    // The bytes imply it already.
    if changes.iter().any(|change| change.measure == Measure::LiveAtExitBytes) {
        changes.retain(|change| change.measure != Measure::LiveAtExitBlocks);
    }
    let is_past = changed_most.status == Status::Gone && place.sum.status != Status::Gone;
    Row { function, at, is_past, via, status: place.sum.status, changes, site }
}

/// The site that represents a difference: the newer one if it exists.
pub(super) fn site_of<'a>(diff: &Diff<'a>, difference: &Difference) -> Option<(&'a Analysis, &'a Site)> {
    let get =
        |analysis: &'a Analysis, id: SiteId| analysis.sites().get(id.0 as usize).map(|site| (analysis, site));
    match (difference.new_site, difference.old_site) {
        (Some(id), _) => get(diff.new.analysis, id),
        (None, Some(id)) => get(diff.old.analysis, id),
        (None, None) => None,
    }
}
