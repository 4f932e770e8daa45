//! Facts on Linux: from `/proc`, `/sys` and the environment.

mod cgroup;
mod machine;
mod process;

use super::{Facts, Library, Origin, Subject, Variables};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Where the system shows itself. Other folders are for tests.
#[derive(Clone, Debug)]
pub struct Roots {
    pub proc: PathBuf,
    pub sys: PathBuf,
    pub etc: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), etc: "/etc".into() }
    }
}

impl Roots {
    /// What a command would have if it were started from this process with these variables.
    pub fn inherited(&self, subject: Subject, variables: Variables) -> Facts {
        let mut libraries = preload_list(&variables);
        libraries.extend(self.system_preloads());
        let machine = self.machine("self");
        Facts { subject, variables, libraries, machine, ..Facts::default() }
    }

    /// What a running process has.
    ///
    /// # Errors
    ///
    /// If there is no such process, or it may not be looked at.
    pub fn of_process(&self, pid: u32) -> io::Result<Facts> {
        Ok(Facts { machine: self.machine(&pid.to_string()), ..self.of_process_itself(pid)? })
    }

    /// The same without what it has in common with all processes of the machine or of its control group.
    ///
    /// # Errors
    ///
    /// If there is no such process, or it may not be looked at.
    pub fn of_process_itself(&self, pid: u32) -> io::Result<Facts> {
        let folder = pid.to_string();
        let process = self.process(pid)?;
        let variables = self.variables_of(&folder)?;
        let mut libraries = self.mapped(&folder)?;
        libraries.extend(self.preloaded_in_vain(&folder, &variables));
        let subject = if pid == std::process::id() { Subject::Own } else { Subject::Process(pid) };
        let machine = machine::common();
        Ok(Facts { subject, variables, libraries, process: Some(process), machine, ..Facts::default() })
    }

    /// What a process was to load and could not: it is not mapped, hence would not be known of.
    fn preloaded_in_vain(&self, folder: &str, variables: &Variables) -> Vec<Library> {
        let root = self.proc.join(folder).join("root");
        let is_missing = |library: &Library| {
            let relative = library.path.strip_prefix("/");
            relative.is_ok_and(|relative| !root.join(relative).exists())
        };
        preload_list(variables).into_iter().filter(is_missing).collect()
    }

    /// The environment that a process was started with.
    fn variables_of(&self, folder: &str) -> io::Result<Variables> {
        let all = std::fs::read(self.proc.join(folder).join("environ"))?;
        let pairs = all.split(|byte| *byte == 0).filter_map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&pair[..at]), text(&pair[at + 1..])))
        });
        Ok(Variables::of(pairs))
    }

    /// `/etc/ld.so.preload`, which applies to every program of the machine.
    fn system_preloads(&self) -> Vec<Library> {
        let text = std::fs::read_to_string(self.etc.join("ld.so.preload")).unwrap_or_default();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let names = lines.flat_map(|line| line.split([' ', '\t', ':'])).filter(|name| !name.is_empty());
        names.map(|name| Library { path: name.into(), origin: Origin::SystemPreload }).collect()
    }

    fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }
}

/// The libraries that `LD_PRELOAD` names.
pub fn preload_list(variables: &Variables) -> Vec<Library> {
    let list = variables.get("LD_PRELOAD").unwrap_or_default();
    let names = list.split([' ', ':']).filter(|name| !name.is_empty());
    names.map(|name| Library { path: name.into(), origin: Origin::Preload }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lists_of_preloads_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("ld.so.preload"), "# for all\n/lib/a.so /lib/b.so\n")
            .expect("a file");
        let roots = Roots { etc: folder.path().into(), ..Roots::default() };
        let facts = roots.inherited(Subject::Command, [("LD_PRELOAD", "c.so:/lib/d.so e.so")].into());
        let all: Vec<_> =
            facts.libraries.iter().map(|l| (l.path.to_str().unwrap_or_default(), l.origin)).collect();
        let (own, system) = (Origin::Preload, Origin::SystemPreload);
        let expected =
            [("c.so", own), ("/lib/d.so", own), ("e.so", own), ("/lib/a.so", system), ("/lib/b.so", system)];
        assert_eq!(all, expected);
    }

    #[test]
    fn this_process_has_facts() {
        let facts = Roots::default().of_process(std::process::id()).expect("we may look at ourselves");
        assert_eq!(facts.subject, Subject::Own);
        assert!(facts.process.is_some() && facts.libraries.len() > 1);
    }
}
