//! The ordinary report of what was read so far, as a page beside the recording.

use crate::args::{Form, Format, Look};
use crate::{lines, report};
use heapwise_report::Style;
use heapwise_report::escape::file::{self, Existing};
use heapwise_report::escape::terminal::escape;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// Names that are tried, for pages of one moment.
const MOST: u32 = 1000;

/// What makes pages, on a thread of its own.
#[derive(Debug)]
pub(super) struct Pages {
    /// What the page is called after, if not after the recording.
    beside: Option<PathBuf>,
    look: Look,
    working: Option<Receiver<String>>,
}

impl Pages {
    /// Beside the recording, and called like it.
    pub(super) fn new() -> Self {
        let form = Form { format: Format::Html, open: false };
        let look =
            Look { form, full: false, stacks: false, top: 10, no_source: false, source_root: Vec::new() };
        Self { beside: None, look, working: None }
    }

    /// The same elsewhere.
    #[cfg(target_os = "linux")]
    pub(super) fn beside(self, beside: PathBuf) -> Self {
        Self { beside: Some(beside), ..self }
    }

    /// As the user wants it.
    #[cfg(target_os = "linux")]
    pub(super) fn with(self, look: &Look) -> Self {
        Self { look: Look { form: self.look.form, ..look.clone() }, ..self }
    }

    /// Begins a page of the first `bytes` of the recording, and says so.
    pub(super) fn begin(&mut self, recording: &Path, bytes: u64, time_ns: u64) -> String {
        if self.working.is_some() {
            return "a page is being written already".to_owned();
        }
        let (sender, receiver) = channel();
        let (recording, look) = (recording.to_owned(), self.look.clone());
        let beside = self.beside.clone().unwrap_or_else(|| recording.clone());
        let thread = std::thread::Builder::new().name("page".into()).spawn(move || {
            let text = match write(&recording, &beside, &look, bytes, time_ns) {
                Ok(path) => format!("report in {}", path.display()),
                Err(error) => format!("no report: {error:#}"),
            };
            // When the view is over this goes nowhere.
            let _ = sender.send(escape(&text).into_owned());
        });
        match thread {
            Ok(_) => {
                self.working = Some(receiver);
                "writing a report of what was read so far …".to_owned()
            }
            Err(error) => format!("no report: {error}"),
        }
    }

    /// What came of the page that was begun, once.
    pub(super) fn finished(&mut self) -> Option<String> {
        let text = match self.working.as_ref()?.try_recv() {
            Ok(text) => text,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => "no report, by a defect of heapwise".to_owned(),
        };
        self.working = None;
        Some(text)
    }
}

fn write(recording: &Path, beside: &Path, look: &Look, bytes: u64, time_ns: u64) -> anyhow::Result<PathBuf> {
    let file = report::open(recording).map_err(|failure| failure.error)?;
    let read = report::read_from(BufReader::new((&file).take(bytes)), &file, recording)?;
    let mut analysis = report::named(read);
    lines::explain(&mut analysis);
    let text = report::render(&analysis, recording, look, Style { color: false, width: 100 });
    for n in 1..MOST {
        let path = name(beside, time_ns, n);
        match file::write(&path, &text, Existing::Keep) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(anyhow::anyhow!("cannot write {}: {error}", path.display())),
        }
    }
    Err(anyhow::anyhow!("there are {MOST} of this moment already"))
}

/// `server.at-12.3s.html` for `server.hw`, and `server.at-12.3s.2.html` where that is taken.
fn name(beside: &Path, time_ns: u64, n: u32) -> PathBuf {
    let seconds = time_ns as f64 / 1e9;
    let number = if n == 1 { String::new() } else { format!(".{n}") };
    let stem = beside.with_extension("");
    let mut whole = stem.into_os_string();
    whole.push(format!(".at-{seconds:.1}s{number}.html"));
    PathBuf::from(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_called_like_the_recording_and_their_moment() {
        let of = |n| name(Path::new("/a/heapwise.app.7.hw"), 12_345_000_000, n);
        assert_eq!(of(1), Path::new("/a/heapwise.app.7.at-12.3s.html"));
        assert_eq!(of(2), Path::new("/a/heapwise.app.7.at-12.3s.2.html"));
    }
}
