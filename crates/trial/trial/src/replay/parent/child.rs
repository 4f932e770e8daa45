//! The replaying process as seen from outside.

#![expect(unsafe_code, reason = "waits for a process with what it used, which std does not tell")]

use heapwise_analysis::{Bytes, Nanos};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// A process that is certainly ended and waited for.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    ended: Option<(ExitStatus, Usage)>,
}

/// What a process used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) cpu: Nanos,
    /// Page faults without reading, and with.
    pub(super) faults: (u64, u64),
}

impl Process {
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.spawn()?, ended: None })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub(super) fn poll(&mut self) -> Option<(ExitStatus, Usage)> {
        if self.ended.is_none() {
            self.ended = self.wait4(libc::WNOHANG);
        }
        self.ended
    }

    /// Waits for its end.
    pub(super) fn wait(&mut self) -> (ExitStatus, Usage) {
        loop {
            if let Some(ended) = self.poll() {
                return ended;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    pub(super) fn kill(&mut self) {
        if self.poll().is_none() {
            let _ = self.child.kill();
            self.wait();
        }
    }

    fn wait4(&self, options: i32) -> Option<(ExitStatus, Usage)> {
        let mut status = 0;
        // SAFETY: zeros are a valid structure of numbers; the kernel writes both while the call lasts.
        let (pid, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            let pid = libc::wait4(self.child.id().cast_signed(), &raw mut status, options, &raw mut usage);
            (pid, usage)
        };
        if pid < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            // Somebody else has waited for it, which nobody here does.
            return Some((ExitStatus::from_raw(0), Usage::default()));
        }
        if pid <= 0 {
            return None;
        }
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
        let usage = Usage {
            cpu: Nanos(ns(usage.ru_utime) + ns(usage.ru_stime)),
            faults: (usage.ru_minflt as u64, usage.ru_majflt as u64),
        };
        Some((ExitStatus::from_raw(status), usage))
    }

    /// Resident anonymous memory, roughly: the kernel's counters lag behind by some pages for each processor.
    pub(super) fn anonymous(&self) -> Option<Bytes> {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.id())).ok()?;
        let mut fields = statm.split(' ').skip(1);
        let mut pages = || fields.next()?.parse::<u64>().ok();
        let (resident, shared) = (pages()?, pages()?);
        Some(Bytes(resident.saturating_sub(shared) * heapwise_collector::page_bytes()))
    }

    /// Resident anonymous memory and the part of it that the kernel may take, exactly.
    pub(super) fn anonymous_now(&self) -> Option<(Bytes, Bytes)> {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.id())).ok()?;
        Some((field(&text, "Anonymous:")?, field(&text, "LazyFree:").unwrap_or_default()))
    }

    /// Highest resident memory of all kinds so far, and that of files and shared memory now.
    pub(super) fn high_water(&self) -> Option<(Bytes, Bytes)> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let files = field(&text, "RssFile:")? + field(&text, "RssShmem:")?;
        Some((field(&text, "VmHWM:")?, files))
    }

    /// Forgets what was highest so far.
    pub(super) fn reset_high_water(&self) {
        // It fails where the system does not let us, and then the start of the process counts as well.
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.id()), "5");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn field(text: &str, name: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(Bytes(kib << 10))
}
