//! One run of a real program: started under an allocator or a recorder, loaded if it is a service, and waited for.

use super::allocators::Allocator;
use super::workloads::{Output, PORT, Prepared};
use crate::launcher::Measured;
use anyhow::{Context, Result, bail, ensure};
use heapwise_trial::supervise::memory::Resident;
use heapwise_trial::supervise::{self, Child};
use std::ffi::{OsStr, OsString};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a service may take until it listens.
const READY: Duration = Duration::from_secs(20);
/// How long anything may take. Programs here take seconds; one that hangs under an allocator must not stop everything.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);

/// Where runs leave their files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) launcher: &'a Path,
    pub(crate) scratch: &'a Path,
}

/// Runs the program under an allocator. Returns what it took, and what it printed if that is the same each time.
pub(crate) fn run(
    bench: &Bench<'_>,
    prepared: &Prepared,
    allocator: &Allocator,
) -> Result<(Measured, Vec<u8>)> {
    // The launcher is linked statically, so the library is loaded into the program alone.
    run_with(bench, prepared, &[("LD_PRELOAD", allocator.library.as_os_str())])
}

/// Runs the program with these variables. Returns what it took, and what it printed if that is the same each time.
pub(crate) fn run_with(
    bench: &Bench<'_>,
    prepared: &Prepared,
    environment: &[(&str, &OsStr)],
) -> Result<(Measured, Vec<u8>)> {
    // A file of the run before must not be taken for one of this run.
    let _ = std::fs::remove_dir_all(bench.scratch);
    std::fs::create_dir_all(bench.scratch)?;
    let path = |name: &str| bench.scratch.join(name);
    let command = [bench.launcher.into(), path("result").into(), path("output").into()];
    execute(bench, prepared, &command, environment, |_| Ok(End::AsUsual))?;
    // The loader reports that and goes on with the default allocator.
    let messages = std::fs::read(path("messages"))?;
    let messages = String::from_utf8_lossy(&messages);
    if let Some(line) = messages.lines().find(|line| line.contains("cannot be preloaded")) {
        bail!("{line}");
    }
    let measured = Measured::read(&path("result"))?;
    Ok((measured, comparable(prepared.output, std::fs::read(path("output"))?)))
}

/// Runs the program within a command. Returns what the commands of its load have printed.
pub(crate) fn run_within(bench: &Bench<'_>, prepared: &Prepared, before: &[OsString]) -> Result<Vec<String>> {
    let _ = std::fs::remove_dir_all(bench.scratch);
    std::fs::create_dir_all(bench.scratch)?;
    execute(bench, prepared, before, &[], |_| Ok(End::AsUsual))
}

/// Runs a service under an allocator with settings, and returns what is resident, in bytes, so long after its load.
pub(crate) fn resident_after_load(
    bench: &Bench<'_>,
    prepared: &Prepared,
    environment: &[(&str, &OsStr)],
    settle: Duration,
) -> Result<u64> {
    let _ = std::fs::remove_dir_all(bench.scratch);
    std::fs::create_dir_all(bench.scratch)?;
    let path = |name: &str| bench.scratch.join(name);
    let command = [bench.launcher.into(), path("result").into(), path("output").into()];
    let mut bytes = 0;
    execute(bench, prepared, &command, environment, |launcher| {
        sleep(settle);
        bytes = resident(launcher)?;
        Ok(End::AsUsual)
    })?;
    Ok(bytes)
}

/// What is resident of the only child of a process.
fn resident(parent: i32) -> Result<u64> {
    let resident = Resident::of(only_child(parent)?).context("the kernel does not say what is resident")?;
    Ok(resident.rss_bytes)
}

fn only_child(parent: i32) -> Result<i32> {
    supervise::children(parent).first().copied().context("nothing was started")
}

/// How a recorded service comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As it always does, and it may free all that it has.
    AsUsual,
    /// At once when its load is over, so that the recording ends with what is live then.
    AfterTheLoad,
}

/// Records the program under glibc's allocator.
pub(crate) fn record(
    bench: &Bench<'_>,
    prepared: &Prepared,
    heapwise: &Path,
    recording: &Path,
    end: End,
) -> Result<()> {
    let _ = std::fs::remove_dir_all(bench.scratch);
    std::fs::create_dir_all(bench.scratch)?;
    let before: Vec<OsString> = vec![
        heapwise.into(),
        "run".into(),
        "--force".into(),
        "--no-report".into(),
        "-o".into(),
        recording.into(),
        "--".into(),
    ];
    execute(bench, prepared, &before, &[], |recorder| {
        if end == End::AfterTheLoad {
            supervise::end(only_child(recorder)?);
        }
        Ok(end)
    })?;
    Ok(())
}

/// Runs a command around the program, with everything that belongs to it. When a service has had its load, `loaded` is called
/// with the id of the command's process, and returns whether it has ended the service itself. What its load has printed is returned.
fn execute(
    bench: &Bench<'_>,
    prepared: &Prepared,
    before: &[OsString],
    environment: &[(&str, &OsStr)],
    loaded: impl FnOnce(i32) -> Result<End>,
) -> Result<Vec<String>> {
    let port = free_port()?;
    let messages = bench.scratch.join("messages");
    let line: Vec<_> = before.iter().cloned().chain(with_port(&prepared.command, port)).collect();
    let mut command = Command::new(&line[0]);
    command
        .args(&line[1..])
        .envs(prepared.environment.iter().copied())
        .envs(environment.iter().copied())
        .current_dir(bench.scratch)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&messages)?);
    let mut child =
        Child::start(&mut command).with_context(|| format!("cannot run {}", line[0].display()))?;
    let ended = drive(&mut child, prepared, port, loaded).and_then(|(end, printed)| {
        let late = || format!("not ended after {} s", PATIENCE.as_secs());
        Ok((end, printed, child.wait_within(PATIENCE).with_context(late)?.status))
    });
    let said = || std::fs::read_to_string(&messages).unwrap_or_default();
    let (end, printed, status) = ended.with_context(said)?;
    ensure!(
        status.success() || end == End::AfterTheLoad,
        "{} ended with {status}\n{}",
        prepared.command[0].display(),
        said()
    );
    Ok(printed)
}

/// Waits for a service and gives it its load.
fn drive(
    child: &mut Child,
    prepared: &Prepared,
    port: u16,
    loaded: impl FnOnce(i32) -> Result<End>,
) -> Result<(End, Vec<String>)> {
    let Some((end, load)) = prepared.load.split_last() else { return Ok((End::AsUsual, Vec::new())) };
    let start = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if let Some(ended) = child.poll() {
            bail!("the service ended before it listened, with {}", ended.status);
        }
        ensure!(start.elapsed() < READY, "the service does not listen on port {port}");
        sleep(PAUSE);
    }
    let printed = load.iter().map(|command| client(command, port)).collect::<Result<_>>()?;
    ensure!(child.poll().is_none(), "the service has ended");
    let ending = loaded(child.id())?;
    if ending == End::AsUsual {
        client(end, port)?;
    }
    Ok((ending, printed))
}

/// Runs a command against the service, and returns what it prints.
fn client(command: &[OsString], port: u16) -> Result<String> {
    let command = with_port(command, port);
    let output = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", command[0].display()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} ended with {}\n{messages}", command[0].display(), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn with_port(command: &[OsString], port: u16) -> Vec<OsString> {
    command.iter().map(|word| if word == PORT { port.to_string().into() } else { word.clone() }).collect()
}

/// A port that is free now; if another process takes it before the service does, the service reports that.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn comparable(output: Output, text: Vec<u8>) -> Vec<u8> {
    match output {
        Output::Same => text,
        Output::SameLines => {
            let mut lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
            lines.sort_unstable();
            lines.concat()
        }
        Output::Differs => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(script: &str, load: &[&str]) -> Prepared {
        let shell = |script: &str| ["sh", "-c", script, "sh", PORT].map(OsString::from).to_vec();
        Prepared {
            command: shell(script),
            environment: vec![("GREETING", "hello")],
            load: load.iter().map(|script| shell(script)).collect(),
            output: Output::SameLines,
        }
    }

    fn run_here(prepared: &Prepared) -> Result<(Measured, Vec<u8>)> {
        let folder = tempfile::tempdir().unwrap();
        let launcher = crate::launcher::build(folder.path()).unwrap();
        let scratch = folder.path().join("scratch");
        // No library at all: the loader warns about an empty one neither.
        let allocator = Allocator { name: "none", library: "".into() };
        run(&Bench { launcher: &launcher, scratch: &scratch }, prepared, &allocator)
    }

    #[test]
    fn a_program_is_measured_and_its_lines_are_sorted() {
        let (measured, output) = run_here(&prepared("echo b; echo $GREETING; echo a", &[])).unwrap();
        assert_eq!(output, b"a\nb\nhello\n");
        assert!(measured.peak_rss_kib > 0);
    }

    #[test]
    fn a_failure_is_reported_with_what_the_program_said() {
        let error = format!("{:#}", run_here(&prepared("echo broken >&2; exit 3", &[])).unwrap_err());
        assert!(error.contains("exit status: 3") && error.contains("broken"), "{error}");
        let error = format!("{:#}", run_here(&prepared("exit 0", &["true"])).unwrap_err());
        assert!(error.contains("before it listened"), "{error}");
    }

    #[test]
    fn a_library_that_is_not_loaded_is_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let launcher = crate::launcher::build(folder.path()).unwrap();
        let allocator = Allocator { name: "none", library: folder.path().join("missing.so") };
        let bench = Bench { launcher: &launcher, scratch: &folder.path().join("scratch") };
        let error = run(&bench, &prepared("true", &[]), &allocator).unwrap_err().to_string();
        assert!(error.contains("missing.so") && error.contains("cannot be preloaded"), "{error}");
    }

    #[test]
    fn a_service_is_loaded_and_ended() {
        let python = "python3 -c 'import socket, sys
s = socket.create_server((\"127.0.0.1\", int(sys.argv[1])))
while s.accept()[0].recv(9) != b\"end\": pass
print(\"ended\")' $1";
        let send = "python3 -c 'import socket, sys
socket.create_connection((\"127.0.0.1\", int(sys.argv[1]))).sendall(b\"end\")' $1";
        assert_eq!(run_here(&prepared(python, &["true", send])).unwrap().1, b"ended\n");
        // A load that fails ends the service, which would go on for ever.
        let error = run_here(&prepared(python, &["exit 4"])).unwrap_err();
        assert!(format!("{error:#}").contains("exit status: 4"), "{error:#}");
    }
}
