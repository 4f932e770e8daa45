//! Which files of a fleet count.

use super::log::{self, State};
use super::{Name, Partition, Place, Stem};
use anyhow::Result;
use object_store::ObjectMeta;
use object_store::path::Path;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Which days and services are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Range {
    /// As they are in paths; all if there are none.
    pub(crate) services: Vec<String>,
    /// The first day.
    pub(crate) since: Option<String>,
    /// The last day.
    pub(crate) until: Option<String>,
}

impl Range {
    /// One day of one service.
    pub(crate) fn of(partition: &Partition) -> Self {
        let Partition { date, service } = partition.clone();
        Self { services: vec![service], since: Some(date.clone()), until: Some(date) }
    }

    fn has(&self, partition: &Partition) -> bool {
        self.has_date(&partition.date)
            && (self.services.is_empty() || self.services.contains(&partition.service))
    }

    fn has_date(&self, date: &str) -> bool {
        self.since.as_deref().is_none_or(|since| date >= since)
            && self.until.as_deref().is_none_or(|until| date <= until)
    }
}

/// The files that count, all of one moment.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) state: State,
    /// Each has a file in every table that is not sparse.
    pub(crate) names: BTreeSet<Name>,
}

/// The table that says which recordings there are.
pub(crate) const RECORDINGS: &str = "recordings";

impl Live {
    /// Lists what there is, and looks at the log after that: whatever was replaced, and removed before it was listed, is in the state
    /// that is found then.
    ///
    /// # Errors
    /// If something cannot be listed, or the log cannot be read.
    pub(crate) async fn read(place: &Place, range: &Range) -> Result<Self> {
        let found = list(place, RECORDINGS, range).await?;
        let state = State::read(place).await?;
        Ok(Self::of(state, found, range))
    }

    /// Whether nothing was compacted since.
    ///
    /// # Errors
    /// If the log cannot be listed.
    pub(crate) async fn is_newest(&self, place: &Place) -> Result<bool> {
        Ok(log::newest(place).await?.unwrap_or(0) == self.state.number)
    }

    fn of(state: State, found: Found, range: &Range) -> Self {
        let compacted = state.recordings();
        let is_whole = |name: &Name| match &name.stem {
            Stem::Recording(id) => !compacted.contains(id.as_str()),
            // Those of the log come from there, whether they were found or not: a missing one has to be named.
            Stem::Compacted(_) => false,
        };
        let mut names: BTreeSet<Name> = found.files.into_keys().filter(is_whole).collect();
        // Two hosts may have added the same recording under two services at the same time.
        let mut once = HashSet::new();
        names.retain(|name| once.insert(name.stem.clone()));
        drop(compacted);
        names.extend(state.files.iter().filter(|file| range.has(&file.partition)).map(|file| file.name()));
        Self { state, names }
    }
}

/// What is in the folder of a table.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: BTreeMap<Name, ObjectMeta>,
    pub(crate) foreign: Vec<Path>,
}

impl Found {
    fn add(&mut self, table: &str, file: ObjectMeta) {
        match Name::parse(table, &file.location) {
            Some(name) => {
                self.files.insert(name, file);
            }
            // What is being written has another ending.
            None if file.location.extension() == Some("parquet") => self.foreign.push(file.location),
            None => {}
        }
    }
}

/// Lists the files of a table. Days and services that are not asked for are not looked into.
///
/// # Errors
/// If a folder cannot be listed.
pub(crate) async fn list(place: &Place, table: &str, range: &Range) -> Result<Found> {
    let mut found = Found::default();
    for folder in place.folders(&Path::parse(table)?).await? {
        let date = folder.filename().and_then(|name| name.strip_prefix("date="));
        if date.is_some_and(|date| !range.has_date(date)) {
            continue;
        }
        let services =
            range.services.iter().map(|service| Path::parse(format!("{folder}/service={service}")));
        let folders = match range.services.is_empty() {
            true => vec![folder],
            false => services.collect::<Result<_, _>>()?,
        };
        for folder in folders {
            for file in place.list(&folder).await? {
                found.add(table, file);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::log::Compacted;
    use super::*;

    fn partition(date: &str, service: &str) -> Partition {
        Partition { date: date.to_owned(), service: service.to_owned() }
    }

    fn id(digit: char) -> String {
        digit.to_string().repeat(32)
    }

    fn found(stems: &[String]) -> Found {
        let meta = |path: Path| ObjectMeta {
            location: path,
            last_modified: chrono::DateTime::default(),
            size: 1,
            e_tag: None,
            version: None,
        };
        let file = |stem: &String| {
            let name =
                Name { partition: partition("2026-11-26", "api"), stem: Stem::parse(stem).expect("a stem") };
            let path = name.path(RECORDINGS).expect("a path");
            (name, meta(path))
        };
        Found { files: stems.iter().map(file).collect(), foreign: Vec::new() }
    }

    #[test]
    fn what_is_in_a_compacted_file_counts_once() {
        let [a, b, c] = ['a', 'b', 'c'].map(id);
        let compacted = Compacted {
            partition: partition("2026-11-26", "api"),
            file: format!("c{}", id('1')),
            recordings: BTreeSet::from([a.clone(), b.clone()]),
            bytes: 1,
        };
        let state = State { number: 1, files: vec![compacted.clone()] };
        // The compaction was killed before it removed `a`, and another one left a file that nothing refers to.
        let files = found(&[a.clone(), c.clone(), compacted.file.clone(), format!("c{}", id('2'))]);
        let live = Live::of(state.clone(), files, &Range::default());
        let stems: Vec<&str> = live.names.iter().map(|name| name.stem.as_str()).collect();
        assert_eq!(stems, [c.as_str(), compacted.file.as_str()]);
        // A day that is not asked for.
        let range = Range { since: Some("2026-11-27".to_owned()), ..Range::default() };
        assert!(Live::of(state, Found::default(), &range).names.is_empty());
    }

    #[test]
    fn days_and_services_are_a_range() {
        let range = Range {
            services: vec!["api".to_owned()],
            since: Some("2026-11-02".to_owned()),
            until: Some("2026-11-03".to_owned()),
        };
        let has = |date, service| range.has(&partition(date, service));
        assert!(has("2026-11-02", "api") && has("2026-11-03", "api"));
        assert!(!has("2026-11-01", "api") && !has("2026-11-04", "api") && !has("2026-11-02", "web"));
        assert!(Range::default().has(&partition("1970-01-01", "anything")));
    }
}
