//! How large an allocator's blocks really are: what `malloc_usable_size` says for every size.
//!
//! Measuring in the recorded program would cost a call per event, on blocks that it is using. The result depends only
//! on the allocator and its settings, so a process of ours measures it: this program, started once more with that
//! allocator preloaded. It tries all sizes and prints the results.
//!
//! An allocator inside of a program cannot be preloaded. Where there is a build of the same allocator that can, that is measured in its
//! place; the analysis believes it as long as no block of the program's contradicts it.

#![expect(unsafe_code, reason = "asks the allocator of this process, through its C functions")]

use crate::joins::Memory;
use crate::loaded::Library;
use crate::maps;
use crate::process::Process;
use crate::refusals::{Refusals, Refused};
use heapwise_trace::event::AllocatorNumber;
use heapwise_trace::file::allocator::{is_glibc, is_musl};
use heapwise_trace::file::pages::UsableSizes;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// The command of this program that answers; see [`ask_here`].
pub const COMMAND: &str = "usable-sizes";
/// Sizes up to here are tried. What is larger goes on in the last steps.
const LARGEST: usize = 64 << 20;
/// Steps of one length that are enough to believe that it stays so.
const STEADY: usize = 2048;
/// A process that has not answered by then will not.
const PATIENCE: Duration = Duration::from_secs(3);
/// A longer answer is refused.
const MOST_ANSWER_BYTES: u64 = 4 << 20;
/// Most allocators of one recording that are measured.
const MOST_ASKED: usize = 16;

/// Asks the allocator of this process: for each size that blocks have, the next larger one. Nothing if the library that was to be
/// preloaded is not: the loader goes on without one that it cannot load, and the answer would be the C library's.
pub fn ask_here() -> Vec<u64> {
    let sizes = ask_any();
    // Afterwards, since what this frees would be handed out again.
    if is_preloaded() { sizes } else { Vec::new() }
}

/// Whether the first library of those to be preloaded is loaded, if it is named by a path.
fn is_preloaded() -> bool {
    let list = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let mut names = list.as_bytes().split(|byte| b": ".contains(byte)).filter(|name| !name.is_empty());
    let Some(path) =
        names.next().filter(|name| name.contains(&b'/')).map(|name| Path::new(OsStr::from_bytes(name)))
    else {
        return true;
    };
    let (Ok(facts), Ok(maps)) = (fs::metadata(path), fs::read("/proc/self/maps")) else { return false };
    let real = path.canonicalize().unwrap_or_default();
    // Some file systems have other numbers in the list of mappings, and a file in memory has no name there.
    let is_it = |line: maps::Line<'_>| line.inode == facts.ino() || Path::new(line.name) == real;
    String::from_utf8_lossy(&maps).lines().filter_map(maps::line).any(is_it)
}

fn ask_any() -> Vec<u64> {
    #[cfg(target_env = "gnu")]
    // SAFETY: an integer argument. Without separate mappings, large blocks of glibc have the sizes that they have in
    // the heap; those with a mapping are distinguished by their addresses. Other allocators do not know the function's
    // option.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX)
    };
    let mut sizes: Vec<u64> = Vec::new();
    let mut requested = 1usize;
    let mut steady = 0;
    while requested <= LARGEST && steady < STEADY {
        // SAFETY: only the size of the block is queried; it is freed at once.
        let usable = unsafe {
            let block = libc::malloc(requested);
            let usable = libc::malloc_usable_size(block);
            libc::free(block);
            usable
        };
        if usable < requested {
            break;
        }
        let step = usable as u64 - sizes.last().copied().unwrap_or(0);
        let step_before = sizes.len().checked_sub(2).map(|i| sizes[i + 1] - sizes[i]);
        steady = if step_before == Some(step) { steady + 1 } else { 0 };
        sizes.push(usable as u64);
        requested = usable + 1;
    }
    sizes
}

/// A build of an allocator that can be measured in place of one that is inside of a program.
#[derive(Clone, Debug)]
pub struct Build {
    /// What it is called, with its version.
    pub name: String,
    /// A library that can be preloaded for as long as this program runs; `None` for the C library.
    pub library: Option<PathBuf>,
}

/// Asks the allocator of a library, or the C library's, which this program has as well. `None` if it does not answer.
fn measure(allocator: &str, library: Option<&Path>) -> Option<UsableSizes> {
    let mut command = Command::new("/proc/self/exe");
    command.arg(COMMAND).env_remove("LD_PRELOAD");
    if let Some(library) = library {
        command.env("LD_PRELOAD", library);
    }
    ask(&mut command, allocator, library.is_none())
}

/// Asks with a command that runs [`ask_here`] with an allocator, whose name is only passed on. `None` if it does not answer.
pub fn ask(command: &mut Command, allocator: &str, is_glibc: bool) -> Option<UsableSizes> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let output = child.stdout.take()?;
    let (sender, receiver) = sync_channel(1);
    // What it has started may keep its output open for ever; then this thread is left behind.
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = output.take(MOST_ANSWER_BYTES).read_to_string(&mut text);
        let _ = sender.send(read.map(|_| text));
    });
    let text = receiver.recv_timeout(PATIENCE);
    let _ = child.kill();
    let _ = child.wait();
    let text = text.ok()?.ok()?;
    let sizes: Vec<u64> = text.lines().map_while(|line| line.parse().ok()).collect();
    let ascending = sizes.is_sorted_by(|a, b| a < b);
    // The size and flags of a block of glibc lie in front of it.
    let header_bytes = if is_glibc { 8 } else { 0 };
    let number = AllocatorNumber::BY_NAME;
    (ascending && sizes.len() > 1).then(|| UsableSizes {
        allocator: allocator.into(),
        number,
        header_bytes,
        sizes,
    })
}

/// Measurements under way: each allocator that occurs is measured once, in the background.
#[derive(Debug, Default)]
pub struct Probes {
    /// No allocator is measured: that would start this program once more, which is the user's.
    off: bool,
    asked: BTreeSet<String>,
    /// The builds for families of allocators inside of programs.
    build: Option<fn(&str) -> Option<Build>>,
    /// How many of the allocators with numbers were looked at.
    numbered: usize,
    /// Those that have said their sizes.
    said: BTreeSet<AllocatorNumber>,
    /// What they said that was not handed on yet.
    heard: Vec<UsableSizes>,
    running: Vec<JoinHandle<Option<UsableSizes>>>,
}

impl Probes {
    /// Measures no allocator.
    pub fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// With builds for families of allocators inside of programs.
    pub fn with_builds(build: fn(&str) -> Option<Build>) -> Self {
        Self { build: Some(build), ..Self::default() }
    }

    /// Measures the allocator of a process, unless that was done before. The process has to exist and be proven to be
    /// the one that it claims to be; its word alone loads nothing.
    pub(crate) fn want(&mut self, process: &Process, memory: &Memory, refusals: &mut Refusals) {
        let path = process.allocator_library();
        if self.off || path.is_empty() || self.asked.len() == MOST_ASKED || self.asked.contains(&path) {
            return;
        }
        let library = if is_glibc(&path) {
            None
        } else if is_musl(&path) {
            // This program has another C library, and cannot load a second one.
            return;
        } else if !path.starts_with('/') || !process.is_proven() {
            // Not a library; or one that cannot be asked for any more, which another process may bring again.
            return;
        } else {
            match Library::of_process(&path, process.info.pid, memory) {
                Ok(Some(library)) => Some(library),
                // Another process with the same allocator may still be there to ask.
                Ok(None) => return,
                Err(why) => return refusals.note(Refused::Sizes, || format!("{path}: {why}")),
            }
        };
        self.asked.insert(path.clone());
        // The path is good as long as the library is open.
        self.start(move || measure(&path, library.as_ref().map(Library::path).as_deref()));
    }

    /// Measures builds of the allocators inside of programs, which have numbers from 1 on: of each one its family.
    pub(crate) fn want_inside(&mut self, families: impl Iterator<Item = &'static str>) {
        let Some(build) = self.build else { return };
        for family in families.skip(self.numbered) {
            self.numbered += 1;
            let number = AllocatorNumber(u8::try_from(self.numbered).unwrap_or(u8::MAX));
            if number < AllocatorNumber::OTHERS && self.numbered <= MOST_ASKED {
                self.start(move || {
                    let Build { name, library } = build(family)?;
                    Some(UsableSizes { number, ..measure(&name, library.as_deref())? })
                });
            }
        }
    }

    fn start(&mut self, measure: impl FnOnce() -> Option<UsableSizes> + Send + 'static) {
        let thread = std::thread::Builder::new().name("usable sizes".into());
        self.running.extend(thread.spawn(measure).ok());
    }

    /// Hears what the allocators inside of a process say of their own sizes: no build counts in place of that.
    pub(crate) fn hear(&mut self, process: &mut Process) {
        while let Some(sizes) = process.said_sizes() {
            if self.said.insert(sizes.number) {
                self.heard.push(sizes);
            }
        }
    }

    /// The results since the last call; with `wait` all of them.
    pub fn answers(&mut self, wait: bool) -> Vec<UsableSizes> {
        let (done, running) = self.running.drain(..).partition(|thread| wait || thread.is_finished());
        self.running = running;
        let done: Vec<JoinHandle<_>> = done;
        let measured = done.into_iter().filter_map(|thread| thread.join().ok().flatten());
        let measured = measured.filter(|sizes: &UsableSizes| !self.said.contains(&sizes.number));
        measured.chain(self.heard.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn an_answer_that_does_not_end_is_none() {
        let began = Instant::now();
        let mut endless = Command::new("yes");
        assert_eq!(ask(endless.arg("1"), "an allocator", false), None);
        // Its output stays open after its end.
        let mut leaves = Command::new("sh");
        assert_eq!(ask(leaves.args(["-c", "echo 16; sleep 20 & echo 32"]), "an allocator", false), None);
        assert!(began.elapsed() < 5 * PATIENCE);
        let mut answers = Command::new("printf");
        let sizes = ask(answers.arg("16\n32\n"), "an allocator", true).expect("an answer");
        assert_eq!((sizes.sizes.as_slice(), sizes.header_bytes), (&[16, 32][..], 8));
    }

    /// Set for the second process.
    const INNER: &str = "HEAPWISE_TEST_INNER";

    #[test]
    fn prints_sizes() {
        if std::env::var_os(INNER).is_some() {
            println!();
            ask_here().iter().for_each(|size| println!("{size}"));
        }
    }

    #[test]
    fn sizes_of_a_process_ascend_and_hold_what_was_asked_for() {
        // Alone: what other tests have freed may be larger than what is asked for, and is then handed out as a whole.
        let mut again = Command::new(std::env::current_exe().expect("a test knows its own file"));
        again.args(["--exact", "usable::tests::prints_sizes", "--nocapture"]).env(INNER, "1");
        let output = again.output().expect("it can be started again");
        let text = String::from_utf8(output.stdout).expect("it is text");
        let sizes: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(sizes.len() > 100, "{sizes:?}");
        assert!(sizes.is_sorted_by(|a, b| a < b));
        let usable = UsableSizes { sizes, ..UsableSizes::default() };
        // Without the library whose sizes they would be, there are none.
        let output =
            again.env("LD_PRELOAD", "/nowhere/libjemalloc.so").output().expect("it can be started again");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.lines().all(|line| line.parse::<u64>().is_err()), "{text}");
        // What glibc documents: 8 bytes of header, multiples of 16, and never less than 24 usable bytes.
        assert_eq!([1, 24, 25, 40, 41, 1000].map(|n| usable.of(n)), [24, 24, 40, 40, 56, 1000]);
        assert_eq!(usable.of(50 << 20) % 16, 8);
    }
}
