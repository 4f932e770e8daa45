//! Odd programs: an independent count agrees with the report of the same run, to the block and to the byte.
//!
//! Each is a separate test, with the counting library behind the recorder, and many once more with it in front, where the
//! recorder has glibc as its next (`threads_ended::5000::front`). It counts what the recorder has to count: blocks that were handed out, resized and freed by
//! the C functions, requested bytes, and refusals. A `free` of NULL is none of these, `realloc` of NULL is an allocation, and
//! `realloc` to nothing frees.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::oracle::{Oracle, Place, Sums};
use heapwise_tests::recording::Recording;
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::PathBuf;
use std::process::ExitCode;

/// So many at a time: most have their own threads.
const AT_A_TIME: usize = 2;
/// How many threads are started and ended one after the other.
const THREADS: &str = "HEAPWISE_ODD_THREADS";
/// Set it to have all of them with the library in front as well.
const ALL: &str = "HEAPWISE_ODD_ALL";

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A victim of all tests.
    Victim,
    /// One that is only for this test.
    Odd,
    /// A program of the system.
    Program,
}

/// A program, and what has to be known of it.
#[derive(Clone, Debug)]
struct Odd {
    name: &'static str,
    kind: Kind,
    arguments: Vec<String>,
    /// Programs that it needs besides.
    needs: &'static [&'static str],
    code: i32,
    /// Whether it is also run with the library in front.
    in_front: bool,
    /// Whether the recording has to wait for a process that outlives the first one.
    waits: bool,
    /// Calls that may be under way when a process is ended in their midst: one for each thread.
    in_flight: u64,
    /// Whether only root can do what it does.
    is_for_root: bool,
    /// How many of its images, its last ones, start without the variable that has the counting library loaded.
    uncounted: usize,
}

fn new(name: &'static str, kind: Kind, arguments: &[&str]) -> Odd {
    let arguments = arguments.iter().map(|&a| a.to_owned()).collect();
    Odd {
        name,
        kind,
        arguments,
        needs: &[],
        code: 0,
        in_front: false,
        waits: false,
        in_flight: 0,
        is_for_root: false,
        uncounted: 0,
    }
}

fn victim(name: &'static str) -> Odd {
    new(name, Kind::Victim, &[])
}

fn odd(name: &'static str, arguments: &[&str]) -> Odd {
    new(name, Kind::Odd, arguments)
}

fn program(name: &'static str, arguments: &[&str]) -> Odd {
    new(name, Kind::Program, arguments)
}

impl Odd {
    fn ends(self, code: i32) -> Self {
        Self { code, ..self }
    }

    fn in_front(self) -> Self {
        Self { in_front: true, ..self }
    }

    fn waits(self) -> Self {
        Self { waits: true, ..self }
    }

    fn in_flight(self, in_flight: u64) -> Self {
        Self { in_flight, ..self }
    }

    fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    fn uncounted(self, uncounted: usize) -> Self {
        Self { uncounted, ..self }
    }

    fn for_root(self) -> Self {
        Self { is_for_root: true, ..self }
    }
}

const SIGABRT: i32 = 128 + libc::SIGABRT;
const SIGKILL: i32 = 128 + libc::SIGKILL;
const SIGSEGV: i32 = 128 + libc::SIGSEGV;

fn all() -> Vec<Odd> {
    let threads = std::env::var(THREADS).unwrap_or_else(|_| "5000".to_owned());
    vec![
        // Stacks.
        victim("alloca_frames"),
        victim("coroutine_stacks_freed"),
        victim("coroutines_ucontext"),
        odd("coroutines_by_hand", &[]).in_front(),
        victim("cpp_exception_through_qsort").in_front(),
        victim("cpp_exceptions_loop").in_front(),
        new("deep_recursion", Kind::Victim, &["500"]),
        odd("huge_alloca", &[]),
        victim("longjmp_out").in_front(),
        victim("qsort_callback"),
        victim("rust_panic_catch"),
        // Signals.
        victim("signal_alternate_stack").in_front(),
        victim("signal_longjmp_from_handler").in_front(),
        victim("signal_timer_guarded").in_front(),
        odd("fork_in_handler", &[]).in_front(),
        // Processes.
        victim("clearenv_fork_exec").uncounted(1),
        victim("daemon_closes_descriptors").waits(),
        odd("daemon_call", &[]).in_front().waits(),
        victim("environment_rewritten"),
        victim("exec_keeps_pid").ends(2).in_front(),
        odd("fexecve_self", &[]),
        victim("fork_chain").ends(11).in_front(),
        victim("fork_child_allocates"),
        victim("fork_exec_self"),
        victim("fork_from_thread").in_front(),
        victim("fork_handlers"),
        victim("posix_spawn_self").in_front().uncounted(1),
        victim("system_command"),
        victim("vfork_exec").in_front(),
        // Ends.
        victim("abort_midway").ends(SIGABRT),
        victim("atexit_handlers").ends(13),
        victim("exit_from_thread").ends(5).in_flight(3),
        victim("exit_underscore").ends(11),
        victim("kill_self").in_front().ends(SIGKILL),
        odd("quick_exit_handlers", &[]).in_front().ends(9),
        victim("segfault_midway").ends(SIGSEGV),
        victim("thread_main_leaves_first"),
        victim("threads_alive_at_exit").ends(3).in_flight(4),
        // Beginnings.
        victim("constructors_destructors"),
        odd("preinit_allocates", &[]).in_front(),
        victim("static_destructors").in_front(),
        // Threads.
        victim("thread_cancelled").in_front(),
        victim("thread_key_destructors"),
        victim("thread_local_destructor").in_front(),
        victim("thread_minimal_stack"),
        victim("threads_detached"),
        victim("threads_many_at_once"),
        odd("threads_ended", &[&threads]).in_front(),
        // Code that comes and goes.
        victim("dlopen_loop").in_front(),
        victim("dlopen_two_plugins"),
        victim("iterate_phdr_malloc"),
        // Other allocators, and other ways to this one.
        victim("all_allocation_functions"),
        odd("aligned_oddities", &[]).in_front(),
        victim("cpp_new_delete").in_front(),
        victim("cpp_new_fails").in_front(),
        victim("cpp_own_operator_new"),
        victim("free_null"),
        victim("growth_by_realloc"),
        victim("realloc_cases").in_front(),
        victim("reallocarray_overflow"),
        odd("trim_and_mallopt", &[]).in_front(),
        victim("wraps_malloc").in_front(),
        victim("zero_size_malloc"),
        // What they have forbidden themselves, or have no more.
        odd("chroot_and_on", &["."]).for_root(),
        odd("clock_forbidden", &[]).in_front(),
        odd("clock_forbidden", &["syscall"]),
        odd("close_range_all", &[]).in_front().ends(7),
        victim("descriptors_closed"),
        victim("drop_privileges"),
        victim("limit_address_space"),
        victim("limit_descriptors").ends(21),
        victim("seccomp_filter"),
        odd("strict_seccomp", &[]).in_front().ends(23),
        odd("strict_seccomp", &["syscall"]).ends(23),
        odd("threads_in_little_space", &[]),
        // Programs that all systems have.
        program("bash", &["-c", "for i in 1 2 3; do seq 1 500 | sort -rn | (read -r x; echo $(( x * 2 ))) ; done; (exit 4)"]).ends(4),
        program("git", &["-c", "alias.all=!git init -q . && touch a && git add a && git -c user.name=A -c user.email=a@example.org commit -qm one && git log --stat && git gc -q", "all"]),
        program("node", &["-e", "new (require('worker_threads').Worker)('JSON.stringify([...Array(999).keys()])', { eval: true })"]).in_flight(8),
        program("perl", &["-e", "my %h = map { $_ => 'x' x $_ } 1 .. 999; for (1 .. 3) { if (!fork) { $h{$_} = 1 for 1 .. 99; exit 0 } } wait for 1 .. 3; exec 'perl', '-e', 'exit 6'"]).ends(6),
        program("python3", &["-S", "-c", "import os, threading, subprocess, sys\nt = [threading.Thread(target=lambda: [str(i) * i for i in range(500)]) for _ in range(4)]\n[x.start() for x in t]; [x.join() for x in t]\nsubprocess.run([sys.executable, '-S', '-c', 'print(1)'], check=True)\nif os.fork() == 0: os._exit(0)\nos.wait()"]),
        program("sh", &["-c", "redis-server --port 0 --unixsocket s --save '' > log & until redis-cli -s s ping > /dev/null 2>&1; do sleep 0.05; done; redis-benchmark -s s -q -n 500 -t set,lpush > /dev/null; redis-cli -s s shutdown nosave; wait"]).needs(&["redis-server", "redis-cli", "redis-benchmark"]).in_flight(8),
        program("sqlite3", &[":memory:", "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) insert into t select i, hex(i) from n; select count(distinct b) from t;"]),
    ]
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_A_TIME);
    let all_in_front = std::env::var_os(ALL).is_some();
    let trials = all().into_iter().flat_map(|odd| {
        let front = (odd.in_front || all_in_front).then_some(Place::Front);
        [Some(Place::Behind), front].into_iter().flatten().map(move |place| trial(odd.clone(), place))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn trial(odd: Odd, place: Place) -> Trial {
    let argument = odd.arguments.first().filter(|_| matches!(odd.kind, Kind::Odd));
    let argument = argument.map_or(String::new(), |argument| format!("::{argument}"));
    let name = format!("{}{argument}::{}", odd.name, format!("{place:?}").to_lowercase());
    Trial::test(name, move || check(&odd, place))
}

/// The program's file; `None` if it cannot be run here, which was said.
fn find(odd: &Odd) -> Option<PathBuf> {
    if odd.is_for_root && !programs::is_root() {
        eprintln!("SKIPPED: {} is for root", odd.name);
        return None;
    }
    match odd.kind {
        Kind::Victim => Some(build(&Victim::named(odd.name), FlagSet::Release)),
        Kind::Odd => {
            let all = Victim::all_in("victims/odd");
            let victim =
                all.iter().find(|v| v.name == odd.name).expect("the table names victims that there are");
            Some(build(victim, FlagSet::Release))
        }
        Kind::Program if odd.name == "python3" => programs::python(),
        Kind::Program => {
            odd.needs.iter().try_for_each(|name| programs::find(name).map(drop))?;
            programs::find(odd.name)
        }
    }
}

fn check(odd: &Odd, place: Place) -> Result<(), Failed> {
    let Some(program) = find(odd) else { return Ok(()) };
    let folder = run::private_folder();
    let folder = folder.path();
    let oracle = Oracle::new(folder);
    let mut recording = Recording::new(folder).verify(0);
    if odd.waits {
        recording = recording.with(&["--wait"]);
    }
    let arguments: Vec<&str> = odd.arguments.iter().map(String::as_str).collect();
    let recorded = recording.record_command(&mut oracle.command(&recording, place, &program, &arguments));
    let wrong = |what: String| -> Result<(), Failed> {
        Err(format!(
            "{what}\n--- the count:\n{}\n--- heapwise said:\n{}",
            oracle.table(),
            recorded.outcome.stderr
        )
        .into())
    };
    if recorded.outcome.code() != odd.code {
        return wrong(format!("ended with {}, not with {}", recorded.outcome.code(), odd.code));
    }
    let report = match &recorded.report {
        Ok(report) => report,
        Err(why) => return wrong(why.clone()),
    };
    let (counted, seen) = (oracle.sums(), Sums::of(report, odd.uncounted));
    if counted.allocations == 0 {
        return wrong("nothing was counted, so nothing is shown".to_owned());
    }
    if report.totals.lost_events > 0 {
        return wrong(format!("{} events were lost", report.totals.lost_events));
    }
    let agrees =
        if odd.in_flight == 0 { counted == seen } else { counted.most_apart(&seen) <= odd.in_flight };
    if agrees { Ok(()) } else { wrong(format!("counted:\n{counted:?}\nrecorded:\n{seen:?}")) }
}
