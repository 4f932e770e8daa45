//! Facts about this system, behind functions that are the same on all systems.

use super::{Facts, Subject, Variables};
use std::io;

/// What a command would have if it were started from this process with these variables.
pub fn inherited(subject: Subject, variables: Variables) -> Facts {
    #[cfg(target_os = "linux")]
    return super::Roots::default().inherited(subject, variables);
    #[cfg(windows)]
    return super::windows::inherited(subject, variables);
    #[cfg(not(any(target_os = "linux", windows)))]
    Facts { subject, variables, ..Facts::default() }
}

/// What a running process has.
///
/// # Errors
///
/// If there is no such process, or it may not be looked at, or there is no way to do so on this system.
pub fn of_process(pid: u32) -> io::Result<Facts> {
    #[cfg(target_os = "linux")]
    return super::Roots::default().of_process(pid);
    #[cfg(windows)]
    return super::windows::of_process(pid);
    #[cfg(not(any(target_os = "linux", windows)))]
    if pid == std::process::id() {
        Ok(inherited(Subject::Own, Variables::own()))
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What this process has, with probes of its allocator.
pub fn own() -> Facts {
    // A process that may not look at itself, as in a sandbox, still has its variables.
    let facts = of_process(std::process::id()).unwrap_or_else(|_| inherited(Subject::Own, Variables::own()));
    #[cfg(unix)]
    let facts = Facts { probes: Some(super::probe()), ..facts };
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_out_about() {
        let facts = own();
        assert_eq!((facts.subject, facts.system), (Subject::Own, super::super::System::HERE));
        assert_eq!(facts.probes.is_some(), cfg!(unix));
        assert_eq!(facts.process.is_some(), cfg!(any(target_os = "linux", windows)));
        assert_eq!(facts.windows.is_some(), cfg!(windows));
    }
}
