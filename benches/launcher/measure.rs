//! Starts a program, waits for it, and writes down when it began and ended and what it used.
//! Usage: measure RESULT OUTPUT PROGRAM [ARGUMENTS]
//! RESULT gets one line: start ns, end ns, user µs, system µs, peak resident KiB, the same two times of the whole
//! tree of processes, exit code. OUTPUT gets the program's standard output.
//! Build: rustc -O --edition 2021 -C target-feature=+crt-static measure.rs
//!
//! One copy runs around a whole tool, another one inside of it around the program: `measure A heaptrack measure B prog`.
//! It is linked statically for the sake of the inner copy: the dynamic loader never runs in it, so the tool's preload
//! library stays out, and the environment that preloads it goes on to the program untouched. So the times are those of
//! the program, with its loader, constructors and exit handlers, and without the tool's own start and analysis.

use std::ffi::{c_int, c_long, OsString};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{exit, Command, ExitStatus};

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Time {
    seconds: c_long,
    /// Nanoseconds or microseconds: `timespec` and `timeval` look alike.
    fraction: c_long,
}

/// The kernel's `struct rusage`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Usage {
    user: Time,
    system: Time,
    max_rss: c_long,
    others: [c_long; 13],
}

const CLOCK_MONOTONIC: c_int = 1;
const PR_SET_CHILD_SUBREAPER: c_int = 36;
const RUSAGE_CHILDREN: c_int = -1;

extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Time) -> c_int;
    fn getrusage(who: c_int, usage: *mut Usage) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn wait4(pid: c_int, status: *mut c_int, options: c_int, usage: *mut Usage) -> c_int;
}

fn now() -> i64 {
    let mut time = Time::default();
    // SAFETY: the clock exists, and `time` has the layout of `struct timespec`.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.seconds * 1_000_000_000 + time.fraction
}

fn micros(time: Time) -> i64 {
    time.seconds * 1_000_000 + time.fraction
}

/// Waits for a child, or for any of them with -1. `None` when there is none.
fn wait(pid: c_int) -> Option<(ExitStatus, Usage)> {
    let (mut status, mut usage) = (0, Usage::default());
    // SAFETY: both pointers are to live variables of the layout that the kernel writes.
    let waited = unsafe { wait4(pid, &mut status, 0, &mut usage) };
    (waited > 0).then(|| (ExitStatus::from_raw(status), usage))
}

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [result, output, program, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: measure RESULT OUTPUT PROGRAM [ARGUMENTS]");
        exit(2);
    };
    // Whatever a tool leaves running is adopted and waited for, so that its time counts as well.
    // SAFETY: this option takes one integer.
    unsafe { prctl(PR_SET_CHILD_SUBREAPER, 1 as c_long) };
    let output = File::create(output).expect("the file for the output can be made");
    let start = now();
    let child = match Command::new(program).args(rest).stdout(output).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("measure: cannot run {}: {error}", program.to_string_lossy());
            exit(127);
        }
    };
    let (status, usage) = wait(child.id() as c_int).expect("the child has not been waited for");
    let end = now();
    while wait(-1).is_some() {}
    let mut tree = Usage::default();
    // SAFETY: `tree` has the layout of `struct rusage`.
    unsafe { getrusage(RUSAGE_CHILDREN, &mut tree) };
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let line = format!(
        "{start} {end} {} {} {} {} {} {code}\n",
        micros(usage.user),
        micros(usage.system),
        usage.max_rss,
        micros(tree.user),
        micros(tree.system),
    );
    std::fs::write(result, line).expect("the result can be written");
    exit(code);
}
