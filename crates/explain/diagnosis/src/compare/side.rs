//! The call sites of one recording, put together by their names.

use super::key::{StackKey, SymbolId, Symbols};
use super::measure::Amounts;
use heapwise_analysis::{Analysis, SiteId};
use std::collections::HashMap;

/// Where in the source a site is: the function of the user's nearest frame, and the name of its file. No line: an edit
/// above it must not make it another place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PlaceKey {
    function: Option<SymbolId>,
    file: Option<String>,
}

impl PlaceKey {
    /// The same with the function's bare name. A file is needed for that: many functions are called `new`.
    pub(super) fn bare(&self, symbols: &Symbols<'_>) -> Self {
        match &self.file {
            Some(file) => {
                Self { function: self.function.map(|id| symbols.bare(id)), file: Some(file.clone()) }
            }
            None => self.clone(),
        }
    }
}

/// Sites that have the same names: they differ in lines or addresses.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: StackKey,
    /// The one with most bytes.
    pub(super) site: SiteId,
    pub(super) amounts: Amounts,
    /// Index of its place in [`Side::places`].
    pub(super) place: usize,
}

/// A place, with the sums of its sites.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) key: PlaceKey,
    /// The site with most bytes.
    pub(super) site: SiteId,
    pub(super) amounts: Amounts,
}

#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) groups: Vec<Group>,
    pub(super) places: Vec<Place>,
}

/// Frames by which stacks are distinguished. A recursion may be deeper and have a site at each depth: then the deepest
/// are one.
const MOST_FRAMES: usize = 4096;

impl Side {
    pub(super) fn new<'a>(analysis: &'a Analysis, symbols: &mut Symbols<'a>) -> Self {
        let mut side = Self::default();
        let mut by_key: HashMap<StackKey, usize> = HashMap::new();
        let mut by_place: HashMap<PlaceKey, usize> = HashMap::new();
        for site in analysis.sites() {
            let stack = analysis.innermost(site, MOST_FRAMES);
            let amounts = Amounts::of(site);
            let key = symbols.key(&stack);
            let group = match by_key.get(&key) {
                Some(&known) => known,
                None => {
                    let at = site.user_frame.and_then(|i| stack.get(i));
                    let file = at.and_then(|frame| frame.file);
                    let place = PlaceKey {
                        function: at.map(|frame| symbols.of(frame)),
                        file: file.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned()),
                    };
                    let place = *by_place.entry(place.clone()).or_insert_with(|| {
                        side.places.push(Place { key: place, site: site.id, amounts: Amounts::default() });
                        side.places.len() - 1
                    });
                    by_key.insert(key.clone(), side.groups.len());
                    side.groups.push(Group { key, site: site.id, amounts: Amounts::default(), place });
                    side.groups.len() - 1
                }
            };
            let group = &mut side.groups[group];
            group.amounts.add(&amounts);
            side.places[group.place].amounts.add(&amounts);
        }
        side
    }
}
