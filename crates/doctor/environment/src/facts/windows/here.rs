//! Facts on Windows: the counterpart of the folder `linux`.

use super::{ImageOptions, WindowsHeap, layout, sys};
use crate::facts::{Facts, Library, Machine, Origin, Process, Program, Subject, Variables};
use std::ffi::OsStr;
use std::io;
use std::path::Path;

const OPTIONS: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options";
const SESSION_MANAGER: &str = r"SYSTEM\CurrentControlSet\Control\Session Manager";

/// What a command would have if it were started from this process with these variables.
pub fn inherited(subject: Subject, variables: Variables) -> Facts {
    Facts { subject, variables, machine: machine(), windows: Some(around()), ..Facts::default() }
}

/// What a running process has.
///
/// # Errors
///
/// If there is no such process, or it may not be looked at.
pub fn of_process(pid: u32) -> io::Result<Facts> {
    let process = sys::Process::open(pid)?;
    let path = process.image().unwrap_or_default();
    let libraries: Vec<Library> =
        process.modules().into_iter().map(|path| Library { path, origin: Origin::Mapped }).collect();
    // A process of 32 bits has blocks and heaps of another layout.
    let peb = if process.has_64_bits() { process.peb() } else { None };
    let memory = |at, size| process.read(at, size);
    let flags = peb.map(|peb| layout::flags(peb, &memory)).unwrap_or_default();
    let variables = match peb {
        _ if pid == std::process::id() => Variables::own(),
        Some(peb) => {
            let all = layout::environment(peb, &memory);
            Variables::of(all.into_iter().map(|(name, value)| (name.into(), value.into())))
        }
        None => Variables::default(),
    };
    let mut facts = Facts {
        subject: if pid == std::process::id() { Subject::Own } else { Subject::Process(pid) },
        variables,
        process: Some(Process {
            pid,
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            threads: sys::threads_of(pid),
            resident_bytes: process.resident_bytes(),
            ..Process::default()
        }),
        machine: machine(),
        ..Facts::default()
    };
    facts.windows = Some(WindowsHeap {
        being_debugged: flags.being_debugged,
        nt_global_flag: flags.nt_global_flag,
        heap_flags: flags.heap_flags,
        force_flags: flags.force_flags,
        image_options: image_options(&path),
        has_debug_crt: facts_have_debug_crt(&libraries),
        ..around()
    });
    facts.libraries = libraries;
    facts.program = Some(Program { path, ..Program::default() });
    Ok(facts)
}

/// The registry's options for programs with the name of this one.
pub fn image_options(program: &Path) -> Vec<ImageOptions> {
    let Some(image) = program.file_name().map(OsStr::to_string_lossy) else { return Vec::new() };
    // A command may be typed without its ending, but keys have it.
    let image = if program.extension().is_some() { image.into_owned() } else { format!("{image}.exe") };
    let mut found: Vec<ImageOptions> = Vec::new();
    for (view, note) in [(sys::View::Bits64, "/reg:64"), (sys::View::Bits32, "/reg:32")] {
        let Some(key) = sys::Key::open(&format!(r"{OPTIONS}\{image}"), view) else { continue };
        let options = ImageOptions {
            key: format!(r#""HKLM\{OPTIONS}\{image}" {note}"#),
            global_flag: key.number("GlobalFlag"),
            page_heap_flags: key.number("PageHeapFlags"),
            verifier_dlls: key.text("VerifierDlls"),
            tracing_flags: key.number("TracingFlags"),
        };
        // Since Windows 7 both views may be the same key.
        let is_same =
            |other: &ImageOptions| ImageOptions { key: options.key.clone(), ..other.clone() } == options;
        if !found.iter().any(is_same) {
            found.push(options);
        }
    }
    found
}

/// What does not depend on a process.
fn around() -> WindowsHeap {
    let manager = sys::Key::open(SESSION_MANAGER, sys::View::Bits64);
    WindowsHeap {
        machine_global_flag: manager.and_then(|key| key.number("GlobalFlag")),
        wine: sys::wine_version(),
        ..WindowsHeap::default()
    }
}

fn machine() -> Machine {
    Machine {
        processors: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
        ..Machine::default()
    }
}

/// `ucrtbased.dll`, or before Visual Studio 2015 `msvcr120d.dll` and the like.
fn facts_have_debug_crt(libraries: &[Library]) -> bool {
    libraries.iter().filter_map(|library| library.path.file_stem()).any(|stem| {
        let name = stem.to_string_lossy().to_ascii_lowercase();
        name == "ucrtbased" || name == "msvcrtd" || (name.starts_with("msvcr") && name.ends_with("0d"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn this_process_is_known() {
        let facts = of_process(std::process::id()).expect("we may look at ourselves");
        let process = facts.process.expect("it runs");
        assert!(process.name.ends_with(".exe") && process.threads >= 1 && process.resident_bytes > 100 << 10);
        assert!(
            facts.libraries.iter().any(|library| library.path.ends_with("ntdll.dll")),
            "{:?}",
            facts.libraries
        );
        let heap = facts.windows.expect("this is Windows");
        // The header was recognised: every process heap can grow.
        assert_eq!(heap.heap_flags.map(|flags| flags & 2), Some(2), "{heap:?}");
        assert!(heap.nt_global_flag.is_some() && heap.being_debugged.is_some());
        assert!(!heap.has_debug_crt);
    }

    #[test]
    fn another_process_has_variables_of_its_own() {
        let mut other = Command::new("cmd.exe");
        other.args(["/c", "echo begun& pause"]).env("_no_debug_heap", "7");
        let mut child =
            other.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("there is always cmd.exe");
        // Before it has begun its own work, its variables are not yet where they belong.
        let said = child.stdout.take().expect("it was to be piped");
        BufReader::new(said).read_line(&mut String::new()).expect("it says something");
        let facts = of_process(child.id()).expect("it is ours");
        drop(child.stdin.take());
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(facts.subject, Subject::Process(child.id()));
        assert_eq!(facts.variables.get("_NO_DEBUG_HEAP"), Some("7"), "names have no case on Windows");
        assert_eq!(facts.process.expect("it ran").name.to_ascii_lowercase(), "cmd.exe");
    }

    #[test]
    fn nobody_is_an_error() {
        assert_eq!(of_process(0xFFFF_FFF0).map(drop).map_err(|e| e.kind()), Err(io::ErrorKind::NotFound));
    }
}
