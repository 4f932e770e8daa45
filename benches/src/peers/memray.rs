//! memray for Python, with native frames as well. It is installed into a folder of its own.

use super::commands;
use super::formats::folded;
use super::peer::{Answer, Left, Peer, Place, Subject, Way};
use super::truth::Stack;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct Memray;

/// Prints folded stacks, native frames and those of Python in one.
const FOLD: &str = "\
import collections, memray, sys
calls = collections.Counter()
with memray.FileReader(sys.argv[1]) as reader:
    for record in reader.get_allocation_records():
        if record.allocator not in (memray.AllocatorType.FREE, memray.AllocatorType.MUNMAP):
            calls[tuple(frame[0] for frame in record.hybrid_stack_trace())] += record.n_allocations
for frames, count in calls.items():
    print(';'.join(reversed(frames)), count)
";

fn python(place: &Place) -> PathBuf {
    place.installed.join("memray/bin/python")
}

impl Peer for Memray {
    fn name(&self) -> &'static str {
        "memray --native"
    }

    fn version(&self, place: &Place) -> Result<String> {
        let print = "import memray; print(memray.__version__)";
        let text = commands::printed(Command::new(python(place)).args(["-c", print]));
        Ok(text.context("`python3 -m venv` and `pip install memray` have not worked")?.trim().to_owned())
    }

    fn cannot(&self, subject: &Subject<'_>) -> Option<&'static str> {
        (!subject.is_python).then_some("only Python")
    }

    fn way(&self, place: &Place, subject: &Subject<'_>, files: &Path, _: &Path) -> Way {
        let mut way = Way::plain(subject);
        let words = ["-m", "memray", "run", "--native", "--quiet", "-o"].map(Into::into);
        let file = files.join("recording.bin").into();
        // The interpreter is the same: that of the other folder is a link to it.
        way.inside.splice(0..1, [python(place).into()].into_iter().chain(words).chain([file]));
        way
    }

    fn answer(&self, place: &Place, left: &Left<'_>) -> Result<Answer> {
        let words = ["-m", "memray", "stats"].map(Into::into);
        let file = left.file("recording")?.into();
        Ok(Answer::Command([python(place).into()].into_iter().chain(words).chain([file]).collect()))
    }

    fn stacks(&self, place: &Place, left: &Left<'_>) -> Result<Vec<Stack>> {
        let mut fold = Command::new(python(place));
        Ok(folded(&commands::printed(fold.args(["-c", FOLD]).arg(left.file("recording")?))?))
    }
}
