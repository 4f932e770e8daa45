//! The command line as it is typed.

use bytesize::ByteSize;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use heapwise_export::{FORMATS, Measure, Moment};
use std::ffi::OsString;
use std::path::PathBuf;

/// Says where a native program's memory comes from.
#[derive(Debug, Parser)]
#[command(name = "heapwise", version, help_expected = true, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  heapwise run -- ./my-program --its-option    record a program, then say where its memory comes from
  heapwise run -o base.hw -- cargo test        record it and everything that it starts into base.hw
  heapwise report base.hw --stacks             look at a recording again, with whole stacks
  heapwise report base.hw --format json        the same for machines
  heapwise report base.hw --format html -o base.html    and for a browser
  heapwise diff base.hw new.hw                 what became better or worse
  heapwise export base.hw --to pprof -o base.pb.gz    for go tool pprof; also folded, dhat and firefox
  heapwise doctor -- ./my-program              what outside the code would slow its heap
  heapwise replay base.hw                      its allocations again, with other allocators
  heapwise tune --goal rss -- ./my-program     which allocator and settings suit it, with the fix
  heapwise lab debug-heap --quick              what a checking heap costs on this machine
  heapwise compare -- ./my-program             the program under each allocator, measured

Exit codes: 0 success, 1 unexpected, 2 usage, 3 a threshold of `diff` is exceeded, `doctor` found something, a program did not do \
the same in `compare`, an allocator failed in `replay` or cannot be used in `allocators`, or nothing could be tried on the program \
in `tune`, 4 unreadable recording, 126 the program cannot be executed, 127 there is none, 130 interrupted; `run` ends with the \
program's own code (128+n for a signal), or 125 if heapwise failed.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a program, then print the diagnosis on standard error.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Print the diagnosis of a recording on standard output.
    Report(ReportArgs),
    /// Compare two recordings and say what became better or worse.
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Write a recording in the format of another tool.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Say what outside the code slows the heap, and what to do about it.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Do a recording's allocations again with other allocators, and compare memory, time and latency.
    #[cfg(target_os = "linux")]
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Search allocators and settings for what suits a program, try the best on it, and print what to paste.
    #[cfg(target_os = "linux")]
    #[command(after_help = TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// Start a program on Windows without the debug heap that debuggers give to programs.
    #[command(hide = cfg!(not(windows)), after_help = LAUNCH_EXAMPLES)]
    Launch(LaunchArgs),
    /// Try out on this machine what an environment does to a heap; without a name, list the experiments.
    #[command(after_help = LAB_EXAMPLES)]
    Lab(LabArgs),
    /// List the allocators that a program can be tried with, and what each can be told; or see that some are what they say.
    #[cfg(target_os = "linux")]
    #[command(after_help = ALLOCATORS_EXAMPLES)]
    Allocators(AllocatorsArgs),
    /// Run a program itself under one allocator after the other, and say what differs and what is noise.
    #[cfg(target_os = "linux")]
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Do one run of an experiment and print its times.
    #[command(hide = true, name = heapwise_lab::worker::COMMAND)]
    LabWorker {
        /// What to do.
        #[arg(value_name = "WORKLOAD")]
        workload: String,
        /// How much of it.
        #[arg(value_name = "N", required = true)]
        numbers: Vec<u64>,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Ask this process's allocator how large its blocks are.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = heapwise_collector::usable::COMMAND)]
    UsableSizes,
    /// Ask this process's allocator what it does with blocks.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = crate::doctor::PROBE)]
    AllocatorProbe,
    /// Tell who this process's allocator is.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = heapwise_allocators::IDENTITY_COMMAND)]
    AllocatorIdentity {
        /// Settings to tell the values of.
        #[arg(value_name = "SETTING")]
        settings: Vec<String>,
    },
    /// Write the manual pages into a folder.
    #[command(hide = true)]
    Man {
        /// The folder.
        folder: PathBuf,
    },
}

const RUN_EXAMPLES: &str = "\
Examples:
  heapwise run -- sqlite3 my.db 'select count(*) from t'
  heapwise run --no-follow -- ./supervisor            only the first process, not its children
  heapwise run --delay 10s --duration 1m -- ./server  one minute, after a warm-up
  heapwise run --wait -- ./daemon                     go on until every process that it left behind has ended

Ctrl-C goes to the program, and the diagnosis still comes; a second Ctrl-C stops at once and keeps the recording.";

const DIFF_EXAMPLES: &str = "\
Examples:
  heapwise diff base.hw new.hw
  heapwise diff base.hw new.hw --fail-on allocations+5%,peak_live_bytes+1MiB --format markdown -o comment.md
  heapwise diff base.hw new.hw --fail-on 'allocations>100000'

Thresholds: MEASURE+PERCENT% and MEASURE+AMOUNT bound the increase, 'MEASURE>AMOUNT' bounds the newer recording (in \
quotes: a shell takes > for itself). Measures: allocations, reallocations, allocated_bytes, temporary_allocations, \
peak_live_bytes, live_at_exit_bytes, live_at_exit_blocks, peak_rss_bytes. Exit code 3 if one is exceeded.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  heapwise export run.hw --to pprof -o run.pb.gz && go tool pprof -http=: run.pb.gz
  heapwise export run.hw --to pprof --at exit -o leaks.pb.gz    in use: what was live at the exit
  heapwise export run.hw --to folded --measure allocations | inferno-flamegraph > run.svg
  heapwise export run.hw --to dhat -o run.dhat.json      load it in valgrind's dh_view.html
  heapwise export run.hw --to firefox -o run.json        load it at https://profiler.firefox.com

The sums over an export are the totals of `heapwise report`.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  heapwise doctor                           this machine and this folder: variables, limits, editors' configuration
  heapwise doctor -- ./server --port 80     what the program would inherit; it is not started
  heapwise doctor --pid 4711                what a running process has
  heapwise doctor --format json             for machines
  heapwise doctor --fix                     set right what editors in this folder are configured to do

Exit codes: 0 nothing that slows the heap (notes do not count), 3 findings, 1 the process cannot be looked at.";
#[cfg(target_os = "linux")]
const ALLOCATORS_EXAMPLES: &str = "\
Examples:
  heapwise allocators                               what there is, and what each can be told
  heapwise allocators jemalloc,mimalloc:purge_delay=0
                                                    see that these are what a program gets
  heapwise allocators /usr/lib/libany.so:env.ANY_CONF=quick

A list has commas, settings have colons. Exit code 3: one of them cannot be used.";

#[cfg(target_os = "linux")]
const COMPARE_EXAMPLES: &str = "\
Examples:
  heapwise compare -- ./my-program --its-option      every allocator that is there, five rounds
  heapwise compare --with jemalloc,mimalloc:purge_delay=0 --runs 10 -- ./my-program
  heapwise compare --with glibc,path/to/libany.so --stdin input.json -- ./my-program
  heapwise compare --ready tcp:6379 --load 'redis-benchmark -q' --settle 12s -- redis-server
  heapwise compare --format markdown -o comment.md -- ./my-program
  heapwise compare --format html -o compare.html -- ./my-program

The first candidate is always `default`, the program as it is, which the others are compared with; it runs twice in each \
round to see how much is noise. See `heapwise allocators` for names and settings.

Exit codes: 0 all did the same, 3 a candidate crashed, hung, wrote something else or could not be used, 1 the program as it \
is does not work, 2 usage or a program that no allocator can be put into, 126 it cannot be executed, 127 there is none, 130 \
interrupted (what was measured is told).";

const LAB_EXAMPLES: &str = "\
Examples:
  heapwise lab                                      which experiments there are
  heapwise lab debug-heap --quick                   does it work here? numbers of no great worth
  heapwise lab debug-heap                           the whole of it: ten to twenty minutes
  heapwise lab debug-heap --workload hash-map       a part of it; may be repeated
  heapwise lab debug-heap --format markdown -o debug-heap.md

Leave the machine alone meanwhile, or let it do more rounds (--runs).";

#[cfg(target_os = "linux")]
const REPLAY_EXAMPLES: &str = "\
Examples:
  heapwise replay run.hw                                      glibc, jemalloc, mimalloc, snmalloc side by side
  heapwise replay run.hw --with glibc,jemalloc:background_thread=true:dirty_decay_ms=1000
  heapwise replay run.hw --timed --settle 12s                 with the pauses of the recording: memory after the load
  heapwise replay run.hw --with glibc,./libmy.so              an allocator of your own
  heapwise replay run.hw --format html -o replay.html          for a browser; json and markdown too

Candidates are separated by commas, settings by colons; `heapwise allocators` lists them.
Ctrl-C ends with what was measured until then.
Exit codes: 0, 3 if an allocator failed, 4 for a recording that cannot be read, 130 if it was interrupted.";

#[cfg(target_os = "linux")]
const TUNE_EXAMPLES: &str = "\
Examples:
  heapwise tune --goal cpu -- ./batch input.csv       record it, search, then try the best on it
  heapwise tune run.hw --goal rss                     search with a recording, run nothing
  heapwise tune run.hw --goal rss-after -- ./batch    search with a recording, then try the best
  heapwise tune --goal rss-after --ready tcp:80 --load ./load.sh --settle 12s -- ./server
  heapwise tune run.hw --goal rss=2,cpu=1 --with glibc,jemalloc,mimalloc:purge_delay=0

Stay with what you have is an answer, too. Nothing is recommended that was not run. --settle holds for replays, and for the \
program if it is driven as a server.

Exit codes: 0 an answer, 1 unexpected, such as a program that cannot be recorded, 2 usage or a program that no allocator can be \
put into, 3 nothing could be tried on the program (what replays found is told) or what everything is compared with cannot be \
replayed, 4 a recording that cannot be read, 126 the program cannot be executed, 127 there is none, 130 interrupted (what was \
measured is told).";

const LAUNCH_EXAMPLES: &str = "\
Examples:
  heapwise launch -- devenv.exe my.sln        a debugger, whose children inherit the variable
  heapwise launch --debugged -- my-program    see what a debugger does to it

It sets _NO_DEBUG_HEAP=1 unless the variable has a value that works, and ends with the program's own exit code.";

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Write the recording to FILE [default: heapwise.<program>.<pid>.hw in the current folder].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace FILE if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// Record only the first process, not those that it starts.
    #[arg(long)]
    pub(crate) no_follow: bool,
    /// Go on until every recorded process has ended, not only the first one.
    #[arg(long)]
    pub(crate) wait: bool,
    /// End the program when heapwise ends, however that comes.
    #[arg(long, hide = true)]
    pub(crate) end_together: bool,
    /// Begin recording after this time, such as 500ms, 10s or 2m.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) delay: Option<std::time::Duration>,
    /// Stop recording after this time; the program goes on.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<std::time::Duration>,
    /// Stop recording when the file has this size, such as 100MiB; the program goes on.
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<ByteSize>,
    /// Account for all resident memory this often, such as 10s; SIGUSR2 to heapwise does it once.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) snapshot_every: Option<std::time::Duration>,
    /// No diagnosis; the recording is complete all the same, with names.
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Write the diagnosis to a file instead of standard error; with --format html, instead of a file beside the
    /// recording.
    #[arg(long, value_name = "FILE")]
    pub(crate) report_file: Option<PathBuf>,
    /// How the diagnosis looks.
    #[command(flatten)]
    pub(crate) look: Look,
    /// Compare every N-th stack with a full unwind.
    #[arg(long, value_name = "N", env = "HEAPWISE_VERIFY", default_value_t = 0, hide = true)]
    pub(crate) verify: u32,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `replay`.
#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// Allocators with settings, such as glibc,jemalloc:dirty_decay_ms=0,./my.so [default: those that are there].
    #[arg(long, value_name = "LIST")]
    pub(crate) with: Option<String>,
    /// How many rounds count for times, besides the first; 0 for memory only.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: u32,
    /// Replay with the pauses of the recording as well, for memory after the load.
    #[arg(long)]
    pub(crate) timed: bool,
    /// With --timed: divide pauses by N, and the times that allocators are told [default: 1 up to half a minute].
    #[arg(long, value_name = "N", requires = "timed", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) compress: Option<u32>,
    /// With --timed: wait so long at the end before looking at memory again, such as 12s.
    #[arg(long, value_name = "TIME", requires = "timed", value_parser = humantime::parse_duration)]
    pub(crate) settle: Option<std::time::Duration>,
    /// The process whose part is replayed [default: the one that allocates most].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// How long an allocator may make no progress before it is given up.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    pub(crate) timeout: std::time::Duration,
    /// For people, for machines, for a browser or for a pull request.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `launch`.
#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// Be a debugger that does nothing, so that the program has the debug heap unless _NO_DEBUG_HEAP says no.
    #[arg(long)]
    pub(crate) debugged: bool,
    /// Set _NO_DEBUG_HEAP=1 for a program that is started with --debugged.
    #[arg(long, requires = "debugged")]
    pub(crate) with_variable: bool,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// How the diagnosis looks.
    #[command(flatten)]
    pub(crate) look: Look,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The recording to compare with.
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The recording that is judged.
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// For people, for machines or for a pull request.
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// How many places are shown as worse, and how many as better.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// End with exit code 3 if this is exceeded, such as allocations+5%; may be repeated, or separated by commas.
    // Parsed later, for an error in one line.
    #[arg(long, value_name = "EXPR", value_delimiter = ',')]
    pub(crate) fail_on: Vec<String>,
}

/// Arguments of `allocators`.
#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct AllocatorsArgs {
    /// Candidates, separated by commas: see whether a program gets them, with their settings.
    #[arg(value_name = "CANDIDATES")]
    pub(crate) candidates: Option<String>,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t = PlainFormat::Text)]
    pub(crate) format: PlainFormat,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// Formats of a plain list.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlainFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.allocators/1.
    Json,
}

/// Arguments of `compare`.
#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Who is compared with the program as it is, separated by commas, with settings after colons [default: all that are there].
    #[arg(long, value_name = "LIST")]
    pub(crate) with: Option<String>,
    /// How many rounds count, beside the first one [default: 5, or down to 3 if they would take more than ten minutes].
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// How the program is driven.
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
    /// For people, machines, a browser or a pull request.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// How a program is driven that is run again and again.
#[derive(Clone, Debug, Args)]
pub(crate) struct DriveArgs {
    /// Treat the program as a server that is ready when this port accepts (tcp:PORT), it has written a line with this text
    /// (line:TEXT), or this shell command succeeds.
    #[arg(long, value_name = "tcp:PORT|line:TEXT|CMD")]
    pub(crate) ready: Option<String>,
    /// How long it may take to become ready.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    pub(crate) ready_timeout: std::time::Duration,
    /// A shell command that gives the server something to do; its time is what is told.
    #[arg(long, value_name = "CMD")]
    pub(crate) load: Option<String>,
    /// Look at the server's memory again when it was left alone for so long after the load.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) settle: Option<std::time::Duration>,
    /// End a run, or a load, that takes longer [default: ten times the first one, and a minute].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) timeout: Option<std::time::Duration>,
    /// What the program reads from standard input, in each run [default: nothing].
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
}

/// Arguments of `tune`.
#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// A recording of the program; without one, CMD is recorded first.
    // That one of both is needed is said later, in a line that names both.
    #[arg(value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// What is to be little: rss, rss-after, cpu, latency, balanced, or weights such as rss=2,cpu=1.
    // Parsed later, for an error in one line.
    #[arg(long, value_name = "GOAL", default_value = "balanced")]
    pub(crate) goal: String,
    /// What everything is compared with [default: the allocator that the recorded program had].
    #[arg(long, value_name = "CANDIDATE")]
    pub(crate) now: Option<String>,
    /// Only these candidates [default: all allocators that are there, with all settings that are worth trying].
    #[arg(long, value_name = "LIST")]
    pub(crate) with: Option<String>,
    /// How many of the best are tried on the program itself; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) confirm: usize,
    /// How many rounds of the program itself count [default: 5, or down to 3 if they would take more than ten minutes].
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// The process of the recording whose part is replayed [default: the one that allocates most].
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// What a replay with pauses may take; longer recordings are compressed.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = humantime::parse_duration)]
    pub(crate) longest: std::time::Duration,
    /// How the program is driven.
    #[command(flatten)]
    pub(crate) drive: DriveArgs,
    /// For people, machines, a browser or a pull request.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// The program and its arguments, behind `--`: what is best in replays is tried on it.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// The experiment.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Small sizes and few rounds: to see that it works, not how much it is.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The largest size, in entries of a map [default: 1000000, with --quick 20000].
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<u64>,
    /// How many rounds count [default: 5, with --quick 2].
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// Only this workload; may be repeated, or separated by commas [default: all].
    // Looked up later, since each experiment has its own.
    #[arg(long = "workload", value_name = "NAME", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Only this condition, and the plain one; may be repeated, or separated by commas [default: all].
    #[arg(long = "condition", value_name = "NAME", value_delimiter = ',')]
    pub(crate) conditions: Vec<String>,
    /// For people, for machines or for a document.
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// Formats of a comparison, and of what an experiment found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.diff/1, or heapwise.lab/1.
    Json,
    /// For a comment on a pull request.
    Markdown,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Look at a running process.
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub(crate) pid: Option<u32>,
    /// Show the changes that would turn debug heaps off in the configuration of editors in this folder, ask, and make
    /// them; a backup stays beside each file.
    #[arg(long, conflicts_with_all = ["command", "pid", "format", "output"])]
    pub(crate) fix: bool,
    /// Make the changes without asking.
    #[arg(long, requires = "fix")]
    pub(crate) yes: bool,
    /// For people, for machines or for a pull request.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// The program that would be started, and its arguments, behind `--`.
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Formats of a checkup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For a terminal.
    Text,
    /// The schema heapwise.doctor/1.
    Json,
    /// For a comment on a pull request.
    Markdown,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) recording: PathBuf,
    /// The format.
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) to: &'static dyn heapwise_export::Format,
    /// Write to OUT instead of standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Which number to write, for formats with one number per stack (folded) [default: bytes].
    #[arg(long, value_name = "MEASURE", value_parser = measures())]
    pub(crate) measure: Option<Measure>,
    /// Which moment the memory in use is that of, for formats with one such moment (pprof) [default: peak].
    #[arg(long, value_name = "MOMENT", value_parser = moments())]
    pub(crate) at: Option<Moment>,
}

/// The shelf of formats as clap wants it.
fn formats() -> impl TypedValueParser<Value = &'static dyn heapwise_export::Format> {
    let named = FORMATS.iter().map(|f| PossibleValue::new(f.name()).help(f.about()));
    PossibleValuesParser::new(named).try_map(|name| heapwise_export::format(&name).ok_or("no such format"))
}

fn measures() -> impl TypedValueParser<Value = Measure> {
    let named = Measure::ALL.iter().map(|m| PossibleValue::new(m.name()).help(m.about()));
    PossibleValuesParser::new(named).try_map(|name| Measure::of_name(&name).ok_or("no such measure"))
}

fn moments() -> impl TypedValueParser<Value = Moment> {
    let named = Moment::ALL.iter().map(|m| PossibleValue::new(m.name()).help(m.about()));
    PossibleValuesParser::new(named).try_map(|name| Moment::of_name(&name).ok_or("no such moment"))
}

/// How a diagnosis looks.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Look {
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Show the whole stack of each site.
    #[arg(long)]
    pub(crate) stacks: bool,
    /// How many sites each table shows.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Leave source lines out of an HTML report.
    #[arg(long)]
    pub(crate) no_source: bool,
}

/// Formats of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Text,
    /// The schema heapwise.report/1, heapwise.compare/1, heapwise.replay/1 or heapwise.tune/1.
    Json,
    /// One file for a browser, to be opened from disk.
    Html,
    /// For a comment on a pull request.
    Markdown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_and_sizes_are_read_with_their_units() {
        let line = [
            "heapwise",
            "run",
            "--delay",
            "500ms",
            "--duration",
            "2m",
            "--max-size",
            "3MiB",
            "--",
            "ls",
            "-l",
        ];
        let Command::Run(run) = Cli::parse_from(line).command else { panic!("run was asked for") };
        assert_eq!(run.delay, Some(std::time::Duration::from_millis(500)));
        assert_eq!(run.duration, Some(std::time::Duration::from_secs(120)));
        assert_eq!(run.max_size, Some(ByteSize::mib(3)));
        assert_eq!(run.command, ["ls", "-l"]);
    }
}
