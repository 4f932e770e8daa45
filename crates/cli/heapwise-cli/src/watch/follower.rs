//! Reads a recording as it grows, on a thread of its own, and passes on what is known a few times a second.

use super::curve::Curve;
use super::names::Naming;
use super::state::{self, State};
use super::update::{Shown, Update};
use crate::growing::{Fate, Growing, Next, hopeless};
use crate::{Failure, exit, report};
use anyhow::anyhow;
use heapwise_analysis::{Follow, Options};
use heapwise_report::escape::terminal::escape;
use heapwise_trace::file::reader::Reader;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often there is an update.
const PACE: Duration = Duration::from_millis(200);
/// A pause where there is nothing to read.
const PAUSE: Duration = Duration::from_millis(20);
/// From here on a recording is not how things stand: there is more of it to read.
const BEHIND: u64 = 1 << 20;

/// Where the recording is.
#[derive(Clone, Debug)]
pub(super) struct Source(PathBuf);

impl Source {
    pub(super) fn of_file(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

/// What the follower has to say.
#[derive(Debug)]
pub(super) enum News {
    /// There is nothing to show yet, for a reason.
    Waits(String),
    Update(Box<Update>),
    /// Nothing can be shown.
    Failed(Failure),
}

/// The thread. It ends some time after this is dropped: what it is at is not waited for.
#[derive(Debug)]
pub(super) struct Follower {
    news: Arc<Mutex<Option<News>>>,
    stop: Arc<AtomicBool>,
}

impl Follower {
    pub(super) fn start(source: &Source) -> std::io::Result<Self> {
        let news = Arc::new(Mutex::new(None));
        let stop = Arc::new(AtomicBool::new(false));
        let work = Work { path: source.0.clone(), news: Arc::clone(&news), stop: Arc::clone(&stop) };
        std::thread::Builder::new().name("follower".into()).spawn(move || work.run())?;
        Ok(Self { news, stop })
    }

    /// The newest, if there is anything new.
    pub(super) fn news(&self) -> Option<News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Work {
    path: PathBuf,
    news: Arc<Mutex<Option<News>>>,
    stop: Arc<AtomicBool>,
}

/// What comes after a file.
enum After {
    Nothing,
    /// What has taken its name.
    Anew(&'static str),
    /// The next one of the recording.
    Part(PathBuf),
}

impl Work {
    fn run(self) {
        if let Err(failure) = self.follow_all() {
            self.tell(News::Failed(failure));
        }
    }

    fn tell(&self, news: News) {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(news);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// One file after the other.
    fn follow_all(&self) -> Result<(), Failure> {
        let mut curve = Curve::default();
        let mut shown = Shown { path: self.path.clone(), ..Shown::default() };
        while let Some(file) = self.open(&mut shown)? {
            match self.follow(&file, &shown, &mut curve)? {
                After::Nothing => break,
                After::Anew(why) => {
                    curve = Curve::default();
                    shown.why = Some(format!("{} {why}", name_of(file.path())));
                    shown.path = file.path().to_owned();
                }
                After::Part(next) => {
                    shown.why = Some(format!("the recording goes on in {}", name_of(&next)));
                    shown.path = next;
                }
            }
            shown.nth += 1;
        }
        Ok(())
    }

    /// The file, once it is there; or the newest of those that are named after it.
    fn open(&self, shown: &mut Shown) -> Result<Option<Growing>, Failure> {
        let mut looked: Option<Instant> = None;
        while !self.is_stopped() {
            if let Some(failure) = hopeless(&shown.path) {
                return Err(failure);
            }
            if shown.path.exists() {
                return Growing::open(&shown.path).map(Some);
            }
            if looked.is_none_or(|looked| looked.elapsed() >= PACE) {
                looked = Some(Instant::now());
                if let Some(part) = newest_part(&shown.path).filter(|part| part.exists()) {
                    let (name, of) = (name_of(&part), name_of(&shown.path));
                    shown.why = Some(format!("{of} is in several files: {name} is the newest"));
                    shown.path = part;
                    continue;
                }
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }

    /// Waits for the header. What has become of the file, if it never comes.
    fn begin(&self, file: &Growing) -> Result<Option<After>, Failure> {
        let began = Instant::now();
        while !self.is_stopped() {
            let why = match file.header().map_err(|error| report::unreadable(file.path(), &error))? {
                Next::Section => return Ok(None),
                Next::End => "is empty",
                Next::Part => "is cut off in its first bytes",
            };
            // One that has just been created is empty for a moment.
            if began.elapsed() >= PACE {
                self.tell(News::Waits(format!("{} {why}: waiting for more", name_of(file.path()))));
            }
            if let Some(after) = anew(file, file.size()) {
                return Ok(Some(after));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(Some(After::Nothing))
    }

    fn follow(&self, file: &Growing, shown: &Shown, curve: &mut Curve) -> Result<After, Failure> {
        if let Some(after) = self.begin(file)? {
            return Ok(after);
        }
        let unreadable = |error: anyhow::Error| {
            Failure::new(exit::UNREADABLE, anyhow!("cannot read {}: {error}", file.path().display()))
        };
        let reader = Reader::new(BufReader::with_capacity(1 << 20, file.stream()))
            .map_err(|error| unreadable(error.into()))?;
        let mut options = Options::default();
        options.memory = report::memory();
        let mut follow = Follow::new(reader, &options);
        let mut naming = Naming::start()?;
        let mut state = State::default();
        let (mut said, mut checked) = (Instant::now(), Instant::now());
        let (mut is_first, mut can_go_on, mut is_removed) = (true, true, false);
        let mut last = None;
        while !self.is_stopped() {
            let there = file.size();
            let next = match can_go_on && follow.offset() < there {
                true => file.next(follow.offset()).map_err(|error| unreadable(error.into()))?,
                false => Next::End,
            };
            let has_more = next == Next::Section;
            if has_more {
                can_go_on = follow.step().map_err(|error| unreadable(error.into()))?;
                state.note(&follow);
            } else if checked.elapsed() >= PACE {
                checked = Instant::now();
                if let Some(after) = anew(file, follow.offset()) {
                    return Ok(after);
                }
                is_removed = file.fate(follow.offset()) == Fate::Removed;
                let goes_on = follow.end().is_some_and(|end| end.goes_on);
                if let Some(next) = Some(file.path()).filter(|_| goes_on).and_then(next_part) {
                    curve.add(&follow);
                    return Ok(After::Part(next));
                }
            }
            let is_naming = naming.go_on(&mut follow);
            // The end of a recording is all there is to know of it, with its names.
            let is_done = !has_more && !is_naming && (follow.end().is_some() || !can_go_on);
            // The file may have grown since.
            let left = there.saturating_sub(follow.offset());
            let is_behind = has_more && (is_first || left > BEHIND);
            let is_cut = next == Next::Part;
            let standing =
                (follow.offset(), there, [is_done, is_removed, is_behind, is_cut], naming.rounds());
            let is_due = said.elapsed() >= PACE || is_done || (is_first && !has_more);
            if is_due && (last != Some(standing) || state.awaits_pages()) {
                let mut update = state.update(&mut follow, &naming);
                update.file = shown.clone();
                update.curve = curve.with(&follow);
                update.read = (follow.offset(), there.max(follow.offset()));
                update.is_behind = is_behind;
                update.is_cut = is_cut;
                update.is_removed = is_removed;
                if !can_go_on {
                    update.trouble = state::trouble(follow.tail(), follow.offset());
                }
                self.tell(News::Update(Box::new(update)));
                (said, last) = (Instant::now(), Some(standing));
            }
            is_first &= has_more;
            if is_done {
                // Names are written behind the end.
                std::thread::sleep(PACE);
            } else if !has_more {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(After::Nothing)
    }
}

/// Whether a file has to be read anew, of which so many bytes were read.
fn anew(file: &Growing, offset: u64) -> Option<After> {
    match file.fate(offset) {
        Fate::Replaced => Some(After::Anew("was replaced: this is the new one")),
        Fate::Shortened => Some(After::Anew("was written anew")),
        Fate::Same | Fate::Removed => None,
    }
}

/// A file's name alone, escaped.
fn name_of(path: &Path) -> String {
    escape(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()).into_owned()
}

#[cfg(target_os = "linux")]
use heapwise_collector::{newest_part, next_part};

/// Recordings in several files are made on Linux alone.
#[cfg(not(target_os = "linux"))]
fn newest_part(_named: &Path) -> Option<PathBuf> {
    None
}

#[cfg(not(target_os = "linux"))]
fn next_part(_part: &Path) -> Option<PathBuf> {
    None
}
