//! A running process, from its folder in `/proc`.

use super::Roots;
use crate::facts::{Library, Origin, Process, Tracer};
use std::io;
use std::path::PathBuf;

impl Roots {
    pub(super) fn process(&self, pid: u32) -> io::Result<Process> {
        let folder = self.proc.join(pid.to_string());
        let status = std::fs::read_to_string(folder.join("status"))?;
        let status = Status(&status);
        let tracer = status.number("TracerPid").filter(|tracer| *tracer != 0).map(|tracer| {
            let tracer = tracer as u32;
            let name = self.read(self.proc.join(tracer.to_string()).join("comm")).unwrap_or_default();
            Tracer { pid: tracer, name: name.trim().to_owned() }
        });
        let maps = std::fs::read_to_string(folder.join("maps")).unwrap_or_default();
        Ok(Process {
            pid,
            name: status.text("Name").unwrap_or_default().to_owned(),
            tracer,
            threads: status.number("Threads").unwrap_or_default() as u32,
            mappings: maps.lines().count() as u64,
            swapped_bytes: status.kibibytes("VmSwap"),
            resident_bytes: status.kibibytes("VmRSS"),
            refuses_huge_pages: status.number("THP_enabled") == Some(0),
        })
    }

    /// Files that are mapped with code in them.
    pub(super) fn mapped(&self, folder: &str) -> io::Result<Vec<Library>> {
        let maps = std::fs::read_to_string(self.proc.join(folder).join("maps"))?;
        let mut libraries: Vec<Library> = Vec::new();
        for line in maps.lines() {
            // address perms offset dev inode path, and the path may have spaces.
            let mut fields = line.splitn(6, ' ');
            let executable = fields.nth(1).is_some_and(|perms| perms.contains('x'));
            let path = fields.nth(3).map(str::trim_start).unwrap_or_default();
            let path = PathBuf::from(path.trim_end_matches(" (deleted)"));
            if executable && path.is_absolute() && libraries.iter().all(|library| library.path != path) {
                libraries.push(Library { path, origin: Origin::Mapped });
            }
        }
        Ok(libraries)
    }
}

/// The lines of a `status` file.
struct Status<'a>(&'a str);

impl<'a> Status<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.split_whitespace().next()?.parse().ok()
    }

    fn kibibytes(&self, name: &str) -> u64 {
        self.number(name).unwrap_or_default() << 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_known() {
        let process = Roots::default().process(std::process::id()).expect("we may look at ourselves");
        assert!(process.threads >= 1 && process.mappings > 10 && process.resident_bytes > 100 << 10);
        assert_eq!(process.tracer, None);
        let mapped = Roots::default().mapped("self").expect("we may look at ourselves");
        assert!(mapped.iter().any(|library| library.path.to_string_lossy().contains("libc.so")));
    }

    #[test]
    fn nobody_is_an_error() {
        assert!(Roots::default().process(u32::MAX).is_err());
    }
}
