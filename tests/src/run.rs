//! Runs a command to its end, within a time limit.
//!
//! Output goes to files, not to pipes: a daemon that the command leaves behind would keep a pipe open, and the output of a
//! command that is killed half way is still complete so far.

#![expect(unsafe_code, reason = "makes system calls that std lacks")]

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A command that takes longer hangs. The machine may be slow, so it is far more than any command needs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The result of a command.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Outcome {
    /// Its exit code as in a shell: 128 plus the number of the signal that ended it.
    pub fn code(&self) -> i32 {
        self.status.code().or(self.status.signal().map(|s| 128 + s)).unwrap_or(-1)
    }

    /// Allocations, reallocations and bytes that a program and its child have counted, and say in lines that begin with `expect`.
    pub fn counted(&self) -> [u64; 3] {
        let text = self.text();
        let lines = text.lines().filter_map(|line| line.strip_prefix("expect "));
        let numbers = lines.map(|line| {
            let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
            std::array::from_fn(|_| words.next().expect("three numbers"))
        });
        let sum = numbers.reduce(|a: [u64; 3], b| std::array::from_fn(|i| a[i] + b[i]));
        sum.expect("the program says what it did")
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A command that runs, and the folder that is its own.
#[derive(Debug)]
pub struct Running {
    child: Child,
    folder: PathBuf,
    line: String,
    name: String,
}

/// A folder that is removed with the test.
pub fn private_folder() -> TempDir {
    let made = tempfile::Builder::new().prefix("heapwise-test-").tempdir();
    made.expect("a folder for temporary files")
}

/// A command in `folder`, in an environment that is the same on every machine: its size shows in the byte counts of
/// programs that copy it.
pub fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear();
    for name in ["PATH", "RUSTUP_HOME", "CARGO_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let home = std::env::var_os("HOME").unwrap_or_else(|| "/".into());
    command.env("HOME", home).env("LC_ALL", "C").env("TZ", "UTC").env("TMPDIR", folder);
    command.stdin(Stdio::null());
    // SAFETY: `signal` may be called between fork and exec.
    unsafe { command.pre_exec(heed_signals) };
    command
}

/// Shells without job control have what they start in the background ignore interrupts, and `nohup` has it ignore hang-ups.
/// The tests may have been started so, and programs inherit it.
fn heed_signals() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        // SAFETY: no handler, but the default action.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}

/// Starts a command in a separate process group, with its output in files in `folder`.
pub fn start(command: &mut Command, folder: &Path, name: &str) -> Running {
    let create = |what: &str| {
        let path = folder.join(format!(".{name}.{what}"));
        File::create(&path).unwrap_or_else(|e| panic!("cannot create {}: {e}", path.display()))
    };
    command.stdout(create("out")).stderr(create("err")).process_group(0);
    let line = format!("{command:?}");
    let child = command.spawn().unwrap_or_else(|e| panic!("cannot start {line}: {e}"));
    Running { child, folder: folder.to_owned(), line, name: name.to_owned() }
}

/// Sends a signal to a process that was started by another one.
pub fn signal_to(pid: i32, signal: i32) {
    // SAFETY: integer arguments.
    unsafe { libc::kill(pid, signal) };
}

/// Runs a command to its end.
///
/// # Panics
/// If it does not end within [`PATIENCE`].
pub fn finish(command: &mut Command, folder: &Path, name: &str) -> Outcome {
    start(command, folder, name).wait(PATIENCE)
}

impl Running {
    /// Its process id, which is also that of its group.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Sends a signal to it alone.
    pub fn signal(&self, signal: i32) {
        // The child was not waited for, so its id is still its own.
        signal_to(self.pid(), signal);
    }

    /// Sends a signal to it and to all that it started, as a terminal does.
    pub fn signal_group(&self, signal: i32) {
        // SAFETY: as for `signal`.
        unsafe { libc::kill(-self.pid(), signal) };
    }

    /// Its standard output so far.
    pub fn said(&self) -> String {
        self.read("out")
    }

    /// Waits until its output holds `text`.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn wait_for(&mut self, text: &str) {
        self.wait_for_in("out", text);
    }

    /// The same for its errors.
    ///
    /// # Panics
    /// If that does not happen.
    pub fn wait_for_complaint(&mut self, text: &str) {
        self.wait_for_in("err", text);
    }

    fn wait_for_in(&mut self, what: &str, text: &str) {
        let began = Instant::now();
        while !self.read(what).contains(text) {
            let over = self.child.try_wait().expect("a child can be waited for").is_some();
            if (over && !self.read(what).contains(text)) || began.elapsed() > PATIENCE {
                self.give_up(&format!("did not say {text:?}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end within `patience`; then it is killed, with all that it started.
    pub fn wait(mut self, patience: Duration) -> Outcome {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                let stdout =
                    std::fs::read(self.folder.join(format!(".{}.out", self.name))).unwrap_or_default();
                let stderr = self.read("err");
                return Outcome { status, stdout, stderr };
            }
            if began.elapsed() > patience {
                self.give_up(&format!("did not end within {patience:?}"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn give_up(&mut self, why: &str) -> ! {
        self.signal_group(libc::SIGKILL);
        let _ = self.child.wait();
        panic!("{} {why}\n--- output:\n{}\n--- errors:\n{}", self.line, self.said(), self.read("err"));
    }

    fn read(&self, what: &str) -> String {
        let bytes = std::fs::read(self.folder.join(format!(".{}.{what}", self.name))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A test that fails leaves nothing behind that would disturb the others.
impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal_group(libc::SIGKILL);
            let _ = self.child.wait();
        }
    }
}
