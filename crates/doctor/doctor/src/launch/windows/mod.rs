//! Starting and waiting.

mod emulation;
#[expect(unsafe_code, reason = "calls functions of Windows")]
mod sys;

use crate::launch::error::Repr;
use crate::launch::{Condition, Error, Launch, Outcome, variable};
use heapwise_environment::NO_DEBUG_HEAP;
use heapwise_environment::facts::windows::wine_version;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

/// `DEBUG_ONLY_THIS_PROCESS`: we are its debugger, but not that of what it starts.
const DEBUG_ONLY_THIS_PROCESS: u32 = 2;

pub(crate) fn run(launch: &Launch) -> Result<Outcome, Error> {
    let (program, arguments) = launch.command.split_first().ok_or(Repr::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments);
    start(&mut command, launch.condition != Condition::Plain, launch.with_variable, launch.captures)
}

/// Starts a command and waits for its end.
pub(crate) fn start(
    command: &mut Command,
    is_debugged: bool,
    with_variable: bool,
    captures: bool,
) -> Result<Outcome, Error> {
    if with_variable && let Some(value) = variable::needed(value_of(command).as_deref()) {
        command.env(NO_DEBUG_HEAP, value);
    }
    if captures {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    if is_debugged {
        command.creation_flags(DEBUG_ONLY_THIS_PROCESS);
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| Repr::Start { program, error })?;
    // The process was not allowed a single instruction yet: it waits for us to see that it was created.
    let emulated_by = if is_debugged { emulation::apply(&child, command)? } else { None };
    if !captures {
        // Ctrl-C is for the program, which shares our console and decides how to handle it.
        sys::leave_interrupts_to_the_program();
    }
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    if is_debugged {
        // Wine 8 loses a register when a debugger has seen an exception, and the program is lost when it unwinds its stack.
        // The heap is made before the first breakpoint, so there the debugger has done what it is for.
        sys::debug(child.id(), wine_version().is_some())
            .map_err(|error| Repr::Call { what: "debug the program", error })?;
    }
    let code = wait(&mut child)?;
    Ok(Outcome { code, stdout: read(stdout), stderr: read(stderr), emulated_by })
}

/// The value of `_NO_DEBUG_HEAP` that a command will have.
fn value_of(command: &Command) -> Option<OsString> {
    let mut own = command.get_envs().filter(|(name, _)| name.eq_ignore_ascii_case(NO_DEBUG_HEAP));
    match own.next() {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os(NO_DEBUG_HEAP),
    }
}

fn wait(child: &mut Child) -> Result<u32, Error> {
    let status = child.wait().map_err(|error| Repr::Call { what: "wait for the program", error })?;
    // Windows' codes are unsigned and always there.
    Ok(status.code().unwrap_or_default() as u32)
}

/// Reads in a separate thread: a program that fills one pipe while we wait at the other would wait for ever.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Option<JoinHandle<Vec<u8>>> {
    pipe.map(|mut pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What could be read is better than nothing.
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    })
}

fn read(thread: Option<JoinHandle<Vec<u8>>>) -> Vec<u8> {
    thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
}
