//! Names of files: `TABLE/date=YYYY-MM-DD/service=NAME/STEM.parquet`.

use object_store::path::Path;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::SystemTime;

/// The day and the service of recordings: a folder of each table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct Partition {
    /// Such as `2026-11-26`.
    pub(crate) date: String,
    /// As it is in paths: what is no plain character is `%` and two digits.
    pub(crate) service: String,
}

/// What the name of a file says of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Stem {
    /// The id of the one recording that it has the rows of.
    Recording(String),
    /// It has the rows of those that the log names.
    Compacted(String),
}

/// Where a file of a table is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) partition: Partition,
    pub(crate) stem: Stem,
}

/// The digits of an id.
const DIGITS: usize = 32;
/// What the name of a compacted file begins with.
const COMPACTED: char = 'c';

impl Stem {
    /// `None` if it is the name of something else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_id =
            |text: &str| text.len() == DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match text.strip_prefix(COMPACTED) {
            Some(id) if is_id(id) => Some(Self::Compacted(text.to_owned())),
            _ if is_id(text) => Some(Self::Recording(text.to_owned())),
            _ => None,
        }
    }

    /// A name for a compacted file that no other file has or had: one that is written again could be removed as what was left before.
    pub(crate) fn new_compacted() -> Self {
        let random = [(); 2].map(|()| RandomState::new().build_hasher().finish().to_le_bytes()).concat();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let own = std::process::id().to_le_bytes();
        let id = heapwise_tables::Id::of(&[&random, &now.to_le_bytes(), &own]);
        Self::Compacted(format!("{COMPACTED}{id}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Recording(text) | Self::Compacted(text) => text,
        }
    }
}

impl Name {
    /// `None` for a path that is none of a file of this table.
    pub(crate) fn parse(table: &str, path: &Path) -> Option<Self> {
        let parts: Vec<_> = path.parts().collect();
        let [first, date, service, file] = parts.as_slice() else { return None };
        let date = date.as_ref().strip_prefix("date=")?;
        let service = service.as_ref().strip_prefix("service=")?;
        let stem = Stem::parse(file.as_ref().strip_suffix(".parquet")?)?;
        (first.as_ref() == table && is_date(date)).then(|| Self {
            partition: Partition { date: date.to_owned(), service: service.to_owned() },
            stem,
        })
    }

    /// Its path in a table.
    ///
    /// # Errors
    /// If a part of it cannot be that of a path.
    pub(crate) fn path(&self, table: &str) -> Result<Path, object_store::path::Error> {
        let Partition { date, service } = &self.partition;
        Path::parse(format!("{table}/date={date}/service={service}/{}.parquet", self.stem.as_str()))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "date={}/service={}", self.date, self.service)
    }
}

/// Whether it has the form `YYYY-MM-DD`; such texts are in the order of time.
pub(crate) fn is_date(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn only_names_of_tables_are_names() {
        let path = |text: &str| Path::parse(text).expect("a path");
        let good = format!("sites/date=2026-11-26/service=a%2Fb/{ID}.parquet");
        let name = Name::parse("sites", &path(&good)).expect("a name");
        assert_eq!(name.partition.service, "a%2Fb");
        assert_eq!(name.path("sites").expect("a path").as_ref(), good);
        let compacted = format!("sites/date=2026-11-26/service=x/c{ID}.parquet");
        assert!(matches!(
            Name::parse("sites", &path(&compacted)),
            Some(Name { stem: Stem::Compacted(_), .. })
        ));
        for bad in [
            format!("sites/date=2026-11-26/service=x/{ID}x.parquet"),
            format!("sites/date=2026-11-26/service=x/{ID}.csv"),
            format!("sites/date=2026-11-26/service=x/d{ID}.parquet"),
            format!("sites/date=today/service=x/{ID}.parquet"),
            format!("sites/date=2026-11-26/{ID}.parquet"),
            format!("stacks/date=2026-11-26/service=x/{ID}.parquet"),
            format!("sites/date=2026-11-26/service=x/more/{ID}.parquet"),
        ] {
            assert_eq!(Name::parse("sites", &path(&bad)), None, "{bad}");
        }
    }

    #[test]
    fn no_two_compacted_files_have_the_same_name() {
        let names: std::collections::HashSet<Stem> = (0..1000).map(|_| Stem::new_compacted()).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| Stem::parse(name.as_str()).as_ref() == Some(name)));
    }
}
