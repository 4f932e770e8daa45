//! How large an allocator's blocks really are: what `malloc_usable_size` says for every size.
//!
//! Asking in the recorded program would cost a call per event, and would be asking the allocator in other people's
//! processes about blocks that they are using. The answer is a property of the allocator and its settings, so it is asked
//! for in a process of ours: this program, started once more with that allocator preloaded, which tries all sizes and
//! prints what it was told.

#![expect(unsafe_code, reason = "asks the allocator of this process, through its C functions")]

use heapwise_trace::file::pages::UsableSizes;
use heapwise_trace::file::records::ProcessInfo;
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The command of this program that answers; see [`ask_here`].
pub const COMMAND: &str = "usable-sizes";
/// Sizes up to here are tried. What is larger goes on in the last steps.
const LARGEST: usize = 64 << 20;
/// Steps of one length that are enough to believe that it stays so.
const STEADY: usize = 2048;
/// A process that has not answered by then will not.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the allocator of this process: for each size that blocks have, the next larger one.
pub fn ask_here() -> Vec<u64> {
    #[cfg(target_env = "gnu")]
    // SAFETY: an integer argument. Without mappings of their own, large blocks of glibc have the sizes that they have in
    // the heap; those that have are told apart by their addresses. Other allocators do not know the function's option.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX)
    };
    let mut sizes: Vec<u64> = Vec::new();
    let mut requested = 1usize;
    let mut steady = 0;
    while requested <= LARGEST && steady < STEADY {
        // SAFETY: the block is asked about and given back at once.
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

/// Whether a file may be loaded into a process of ours. The recorded program has named it, and that may have fewer rights
/// than we have: only what its owner, us or root, alone can change is believed, and what the loader would not take apart.
fn is_trustworthy(path: &Path) -> bool {
    let plain = path.is_absolute() && !path.as_os_str().as_bytes().iter().any(|b| b" :".contains(b));
    // SAFETY: asks for a number.
    let own = unsafe { libc::geteuid() };
    let believed = |part: &Path| {
        let facts = part.metadata();
        facts.is_ok_and(|f| {
            (f.uid() == 0 || f.uid() == own) && (f.mode() & 0o022 == 0 || f.mode() & 0o1000 != 0)
        })
    };
    plain && path.canonicalize().is_ok_and(|real| real.is_file() && real.ancestors().all(believed))
}

/// Asks an allocator, named by the path of the object that provides `malloc`. `None` if it does not answer.
pub fn measure(allocator: &str) -> Option<UsableSizes> {
    if allocator.is_empty() {
        return None;
    }
    if !is_trustworthy(Path::new(allocator)) {
        return None;
    }
    let is_glibc = allocator.rsplit('/').next().is_some_and(|file| file.starts_with("libc.so"));
    let mut command = Command::new("/proc/self/exe");
    command.arg(COMMAND).env_remove("LD_PRELOAD");
    if !is_glibc {
        command.env("LD_PRELOAD", allocator);
    }
    ask(&mut command, allocator, is_glibc)
}

/// Asks with a command that runs [`ask_here`] with an allocator, whose name is only passed on. `None` if it does not answer.
pub fn ask(command: &mut Command, allocator: &str, is_glibc: bool) -> Option<UsableSizes> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut output = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let began = Instant::now();
    while !reader.is_finished() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let _ = child.wait();
    let text = reader.join().ok()?.ok()?;
    let sizes: Vec<u64> = text.lines().map_while(|line| line.parse().ok()).collect();
    let ascending = sizes.is_sorted_by(|a, b| a < b);
    // The size and flags of a block of glibc lie in front of it.
    let header_bytes = if is_glibc { 8 } else { 0 };
    (ascending && sizes.len() > 1).then(|| UsableSizes { allocator: allocator.into(), header_bytes, sizes })
}

/// Questions under way: each allocator that occurs is asked once, beside everything else.
#[derive(Debug, Default)]
pub struct Probes {
    /// Nobody may be asked: this program is not ours, and must not be started once more.
    off: bool,
    asked: BTreeSet<String>,
    running: Vec<JoinHandle<Option<UsableSizes>>>,
}

impl Probes {
    /// Asks nobody.
    pub fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// Asks the allocator of a process that has just been described, unless it was asked before.
    pub fn want(&mut self, process: Option<&ProcessInfo>) {
        let Some(path) = process.map(|p| p.allocator.clone()) else { return };
        if !self.off && self.asked.insert(path.clone()) {
            let thread = std::thread::Builder::new().name("usable sizes".into());
            self.running.extend(thread.spawn(move || measure(&path)).ok());
        }
    }

    /// What was answered since the last time; with `wait` everything.
    pub fn answers(&mut self, wait: bool) -> Vec<UsableSizes> {
        let (done, running) = self.running.drain(..).partition(|thread| wait || thread.is_finished());
        self.running = running;
        let done: Vec<JoinHandle<_>> = done;
        done.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_others_can_change_is_not_loaded() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("lib.so");
        std::fs::write(&library, b"").expect("it can be written");
        let set =
            |mode| std::fs::set_permissions(&library, Permissions::from_mode(mode)).expect("it is ours");
        set(0o644);
        assert!(is_trustworthy(&library));
        set(0o666);
        assert!(!is_trustworthy(&library), "anybody can write to it");
        set(0o644);
        let odd = folder.path().join("a:b.so");
        std::fs::write(&odd, b"").expect("it can be written");
        assert!(!is_trustworthy(&odd), "the loader would take it for two");
        assert!(!is_trustworthy(Path::new("lib.so")) && !is_trustworthy(&folder.path().join("none.so")));
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("it is ours");
        assert!(!is_trustworthy(&library), "anybody can put another one in its place");
    }

    #[test]
    fn sizes_of_this_process_ascend_and_hold_what_was_asked_for() {
        let sizes = ask_here();
        assert!(sizes.len() > 100, "{sizes:?}");
        assert!(sizes.is_sorted_by(|a, b| a < b));
        let usable = UsableSizes { sizes, ..UsableSizes::default() };
        // What glibc documents: 8 bytes of header, multiples of 16, and never less than 24 usable bytes.
        assert_eq!([1, 24, 25, 40, 41, 1000].map(|n| usable.of(n)), [24, 24, 40, 40, 56, 1000]);
        assert_eq!(usable.of(50 << 20) % 16, 8);
    }
}
