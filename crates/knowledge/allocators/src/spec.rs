//! Candidates, and the words in which the command line names them.
//!
//! A list has commas, a candidate's settings have colons: `glibc,jemalloc:background_thread=true:dirty_decay_ms=1000`. A name
//! with a slash is the path of a library. `default` is the baseline: the program unchanged. `env.NAME=VALUE` sets a variable for
//! this candidate alone, whatever its meaning, so that a library that is not in the registry can be configured. A backslash takes
//! the meaning from a comma, a colon or a backslash.

use crate::fix::Fix;
use crate::registry::{self, Allocator};
use crate::setting::{Kind, Setting};
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The name of the baseline: the program with nothing preloaded.
pub const DEFAULT: &str = "default";
/// What the name of a variable follows.
const VARIABLE: &str = "env.";

/// Where a candidate's allocator comes from.
#[derive(Clone, Debug, Default)]
pub(crate) enum Which {
    #[default]
    AsItIs,
    Registered(&'static dyn Allocator),
    File(PathBuf),
}

/// An allocator with chosen settings, or a library of the user's, or the baseline, which is the default.
///
/// Its text is the shortest that [`Candidate::parse`] reads as the same one.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    pub(crate) which: Which,
    settings: Settings,
    variables: BTreeMap<String, String>,
}

/// Why a candidate could not be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is nothing between two commas, or nothing at all.
    #[error("a candidate is missing: name one of {names}, or the path of a library")]
    Empty {
        /// The names of the registry.
        names: String,
    },
    /// No allocator of the registry has this name.
    #[error("unknown allocator {name:?}: name one of {names}, or the path of a library, with a slash in it")]
    UnknownAllocator {
        /// As it was given.
        name: String,
        /// The names of the registry, the most similar first.
        names: String,
    },
    /// The allocator has no such setting.
    #[error("{allocator} has no setting {setting:?}: name one of {names}")]
    UnknownSetting {
        allocator: String,
        /// As it was given.
        setting: String,
        /// Its settings, the most similar first.
        names: String,
    },
    /// Nothing is known about this one's settings.
    #[error(
        "{allocator} has no settings that heapwise knows, and so no {setting:?}: set a variable for it with env.NAME=VALUE"
    )]
    NoSettings {
        allocator: String,
        /// As it was given.
        setting: String,
    },
    /// A setting does not take this value.
    #[error("{allocator}:{setting} cannot be {value:?}: it is {range}")]
    Value {
        allocator: String,
        setting: String,
        /// As it was given.
        value: String,
        /// What it takes.
        range: String,
    },
    /// A setting without a value.
    #[error("invalid setting {text:?} after {allocator}: write NAME=VALUE, with a colon before each")]
    NotAPair {
        allocator: String,
        /// As it was given.
        text: String,
    },
    /// A variable that cannot be set, or is not the user's to set here.
    #[error("{name:?} cannot be set as a variable of {allocator}: {reason}")]
    Variable {
        allocator: String,
        /// As it was given.
        name: String,
        reason: &'static str,
    },
    /// The same setting, or the same candidate, twice.
    #[error("{what} is given twice: once is enough")]
    Twice { what: String },
}

/// Cuts a text at a separator, unless a backslash is in front of it. Backslashes stay.
fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        if c == separator && !escaped {
            parts.push(&text[start..at]);
            start = at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    parts.push(&text[start..]);
    parts
}

/// Takes the backslashes away that [`escape`] puts in.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match characters.peek() {
            Some(&next) if c == '\\' && ",:\\".contains(next) => {
                plain.push(next);
                characters.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if ",:\\".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Names as a list, those that look most like what was given first.
fn nearest_first<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<_> = names.collect();
    names.sort_by_key(|name| strsim::damerau_levenshtein(given, name));
    names.join(", ")
}

fn names(given: &str) -> String {
    nearest_first(given, registry::all().iter().map(|a| a.name()).chain([DEFAULT]))
}

impl Candidate {
    /// An allocator of the registry with its defaults.
    pub(crate) fn of(allocator: &'static dyn Allocator) -> Self {
        Self { which: Which::Registered(allocator), ..Self::default() }
    }

    /// Reads one candidate.
    ///
    /// # Errors
    /// [`SpecError`], which names what would be right.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let parts = split(text, ':');
        let name = unescape(parts[0].trim());
        let which = match name.as_str() {
            "" => return Err(SpecError::Empty { names: names("") }),
            DEFAULT => Which::AsItIs,
            path if path.contains('/') => Which::File(PathBuf::from(path)),
            name => Which::Registered(
                registry::by_name(name)
                    .ok_or_else(|| SpecError::UnknownAllocator { name: name.into(), names: names(name) })?,
            ),
        };
        let mut candidate = Self { which, ..Self::default() };
        for part in &parts[1..] {
            let pair = unescape(part);
            let Some((setting, value)) = pair.split_once('=') else {
                return Err(SpecError::NotAPair { allocator: candidate.name().into(), text: pair });
            };
            let is_new = match setting.strip_prefix(VARIABLE) {
                Some(variable) => candidate.set_variable(variable, value)?,
                None => candidate.set(setting, value)?,
            };
            if !is_new {
                return Err(SpecError::Twice { what: format!("{}:{setting}", candidate.name()) });
            }
        }
        Ok(candidate)
    }

    /// Reads candidates with commas between them.
    ///
    /// # Errors
    /// [`SpecError`]; so, too, if two of them are the same.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, SpecError> {
        let mut candidates = Vec::new();
        for part in split(text, ',') {
            let candidate = Self::parse(part.trim())?;
            if candidates.contains(&candidate) {
                return Err(SpecError::Twice { what: candidate.to_string() });
            }
            candidates.push(candidate);
        }
        Ok(candidates)
    }

    /// The allocator's name in the registry, `default`, or the path of a library as it was given.
    pub fn name(&self) -> &str {
        match &self.which {
            Which::AsItIs => DEFAULT,
            Which::Registered(allocator) => allocator.name(),
            // Made of a text, so it is one.
            Which::File(path) => path.to_str().unwrap_or_default(),
        }
    }

    /// The exact version of the allocator, as in [`Allocator::version`]. Empty if it is not known before it runs.
    pub fn version(&self) -> String {
        self.allocator().map(<dyn Allocator>::version).unwrap_or_default()
    }

    /// The allocator of the registry; `None` for a library of the user's and for the baseline.
    pub fn allocator(&self) -> Option<&'static dyn Allocator> {
        match self.which {
            Which::Registered(allocator) => Some(allocator),
            _ => None,
        }
    }

    /// The path of a library of the user's, as it was given.
    pub fn file(&self) -> Option<&Path> {
        match &self.which {
            Which::File(path) => Some(path),
            _ => None,
        }
    }

    /// The settings that were chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The variables that are set besides those of the settings (`env.NAME=VALUE`).
    pub fn own_variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether it is the baseline, with nothing changed at all.
    pub fn is_as_it_is(&self) -> bool {
        matches!(self.which, Which::AsItIs) && self.variables.is_empty()
    }

    /// How to write it down for good.
    pub fn fix(&self) -> Fix {
        let mut fix = match &self.which {
            Which::AsItIs => Fix::default(),
            Which::Registered(allocator) => allocator.fix(&self.settings),
            Which::File(path) => Fix {
                environment: vec![("LD_PRELOAD".into(), path.to_string_lossy().into_owned())],
                other_languages: vec!["Link the library, or preload it with the variable.".into()],
                ..Fix::default()
            },
        };
        fix.environment.extend(self.variables.clone());
        fix
    }

    /// The same candidate with one setting more, or another value for it. A setting that begins with `env.` is a variable.
    ///
    /// # Errors
    /// [`SpecError`] if the allocator has no such setting, or the setting no such value.
    pub fn with(&self, setting: &str, value: &str) -> Result<Self, SpecError> {
        let mut other = self.clone();
        match setting.strip_prefix(VARIABLE) {
            Some(variable) => other.set_variable(variable, value)?,
            None => other.set(setting, value)?,
        };
        Ok(other)
    }

    /// The same candidate for a time that goes by faster by this factor: all times for which the allocator waits are
    /// divided, also those that were not chosen, and what it does in a second is multiplied. What is not 0 does not become 0,
    /// for that means something else.
    pub fn scaled(&self, divisor: u32) -> Self {
        let mut other = self.clone();
        let settings = self.allocator().map_or(&[][..], |a| a.settings());
        for setting in settings {
            let now = self.settings.get(setting.name).unwrap_or(setting.default);
            if let Some(value) = setting.scaled(now, divisor) {
                other.settings.0.insert(setting.name, value);
            }
        }
        other
    }

    /// Chooses a value; returns whether there was none.
    fn set(&mut self, name: &str, value: &str) -> Result<bool, SpecError> {
        let allocator = || self.name().to_owned();
        let settings: &'static [Setting] = self.allocator().map_or(&[], |a| a.settings());
        if settings.is_empty() {
            return Err(SpecError::NoSettings { allocator: allocator(), setting: name.into() });
        }
        let Some(setting) = settings.iter().find(|s| s.name == name) else {
            let names = nearest_first(name, settings.iter().map(|s| s.name));
            return Err(SpecError::UnknownSetting { allocator: allocator(), setting: name.into(), names });
        };
        let Some(value) = setting.accept(value) else {
            let range = match setting.kind {
                Kind::Choice(_) => format!("one of {}", setting.range()),
                _ => setting.range(),
            };
            let (setting, value) = (name.into(), value.into());
            return Err(SpecError::Value { allocator: allocator(), setting, value, range });
        };
        Ok(self.settings.0.insert(setting.name, value).is_none())
    }

    /// Sets a variable; returns whether it was not set before.
    fn set_variable(&mut self, name: &str, value: &str) -> Result<bool, SpecError> {
        let refused = |reason| {
            Err(SpecError::Variable { allocator: self.name().to_owned(), name: name.into(), reason })
        };
        let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        if name.is_empty() || !name.chars().all(is_word) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return refused("a name has letters, digits and underscores");
        }
        if name == "LD_PRELOAD" {
            return refused("it is how the allocator is loaded; name a library by its path instead");
        }
        if value.contains('\0') {
            return refused("its value has a zero byte");
        }
        Ok(self.variables.insert(name.to_owned(), value.to_owned()).is_none())
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(self.name()))?;
        for (name, value) in self.settings.iter() {
            write!(f, ":{name}={}", escape(value))?;
        }
        for (name, value) in &self.variables {
            write!(f, ":{VARIABLE}{name}={}", escape(value))?;
        }
        Ok(())
    }
}

/// What a candidate is, apart from the table that its allocator is in.
impl Candidate {
    fn identity(&self) -> (&str, &Settings, &BTreeMap<String, String>) {
        (self.name(), &self.settings, &self.variables)
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Candidate {}

impl Hash for Candidate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl std::str::FromStr for Candidate {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Candidate::parse_list(text).expect_err(text).to_string()
    }

    #[test]
    fn a_list_is_read_and_written_in_the_same_words() {
        let text = "default,glibc,jemalloc:background_thread=true:dirty_decay_ms=1000,mimalloc:purge_delay=0,/a/b.so";
        let list = Candidate::parse_list(text).expect("all of it is right");
        let again: Vec<_> = list.iter().map(ToString::to_string).collect();
        assert_eq!(again.join(","), text);
        assert!(list[0].is_as_it_is() && !list[1].is_as_it_is());
        assert_eq!(list[2].settings().get("dirty_decay_ms"), Some("1000"));
        assert_eq!(list[4].file(), Some(Path::new("/a/b.so")));
        // Another order, and another way to say yes.
        let same =
            Candidate::parse("jemalloc:dirty_decay_ms=+1000:background_thread=on").expect("right as well");
        assert_eq!(same, list[2]);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_near_it() {
        assert!(error("jemaloc").starts_with("unknown allocator \"jemaloc\": name one of jemalloc, "));
        assert!(error("jemalloc:dirty_decay=1").contains("name one of dirty_decay_ms, "));
        assert_eq!(
            error("mimalloc:purge_delay=soon"),
            "mimalloc:purge_delay cannot be \"soon\": it is a whole number from -1 to 86400000 ms"
        );
        assert!(error("jemalloc:thp=maybe").ends_with("it is one of default, always, never"));
        assert!(error("snmalloc:x=1").starts_with("snmalloc has no settings"));
        assert!(error("default:arena_max=1").starts_with("default has no settings"));
        assert!(error("glibc:arena_max").contains("write NAME=VALUE"));
        assert!(error("glibc:arena_max=1:arena_max=2").contains("twice"));
        assert!(error("glibc,glibc").contains("twice"));
        assert!(error("glibc:env.LD_PRELOAD=x").contains("by its path"));
        assert!(error("glibc:env.A-B=x").contains("letters"));
        for empty in ["", ",", "glibc,", ":arena_max=1"] {
            assert!(error(empty).starts_with("a candidate is missing"), "{empty}");
        }
    }

    #[test]
    fn variables_are_taken_as_they_are() {
        let text = r"/usr/lib/lib\,odd.so:env.MALLOC_CONF=thp\:always\,narenas\:1";
        let candidate = Candidate::parse(text).expect("a path and a variable");
        assert_eq!(candidate.name(), "/usr/lib/lib,odd.so");
        assert_eq!(candidate.own_variables().collect::<Vec<_>>(), [("MALLOC_CONF", "thp:always,narenas:1")]);
        assert_eq!(candidate.to_string(), text);
        let list = Candidate::parse_list(&format!("glibc,{text}")).expect("a list with it");
        assert_eq!(list[1], candidate);
        let with_variable = Candidate::parse("default:env.MALLOC_ARENA_MAX=1").expect("a variable alone");
        assert!(!with_variable.is_as_it_is());
        assert_eq!(with_variable.fix().environment_line(), "MALLOC_ARENA_MAX=1");
    }

    #[test]
    fn times_are_divided_and_nothing_else() {
        let scaled = |text| Candidate::parse(text).expect("a candidate").scaled(10).to_string();
        assert_eq!(scaled("jemalloc"), "jemalloc:dirty_decay_ms=1000");
        assert_eq!(scaled("jemalloc:dirty_decay_ms=5:narenas=20"), "jemalloc:dirty_decay_ms=1:narenas=20");
        assert_eq!(scaled("mimalloc:purge_delay=0"), "mimalloc:purge_delay=0");
        assert_eq!(scaled("mimalloc:purge_delay=-1"), "mimalloc:purge_delay=-1");
        assert_eq!(scaled("mimalloc2"), "mimalloc2:purge_delay=1:purge_extend_delay=1");
        assert_eq!(scaled("glibc:arena_max=20"), "glibc:arena_max=20");
        let rate = scaled("tcmalloc-google:background_release_rate=7:memory_limit=50");
        assert!(rate.starts_with(
            "tcmalloc-google:background_release_rate=70:background_sleep_ms=100:memory_limit=50:"
        ));
        let most = scaled("tcmalloc-google:background_release_rate=1099511627776");
        assert!(most.contains("rate=1099511627776:"), "{most}");
        assert_eq!(Candidate::parse("jemalloc").expect("it is").scaled(1).to_string(), "jemalloc");
    }

    #[test]
    fn a_setting_is_replaced() {
        let candidate = Candidate::parse("mimalloc:purge_delay=0").expect("it is");
        let other = candidate.with("purge_delay", "7").expect("another value");
        assert_eq!(other.to_string(), "mimalloc:purge_delay=7");
        assert!(candidate.with("purge", "7").is_err());
    }
}
