//! Every victim, with every set of flags that matters to it: under the recorder it says and does the same as alone, and
//! what the report says of it is what it knows of itself.
//!
//! Each is a separate test, `victim::debug` for example, and takes the usual arguments of a test program.

use heapwise_tests::build::{FlagSet, build};
use heapwise_tests::expect::{self, Expectation};
use heapwise_tests::facts::Facts;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::report::Report;
use heapwise_tests::run::{self, Outcome};
use heapwise_tests::victim::Victim;
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

/// So many at a time: most victims have their own threads, and some watch the clock.
const AT_A_TIME: usize = 2;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_A_TIME);
    let victims = Victim::all().into_iter().filter(|victim| !victim.plugin);
    let pairs = victims.flat_map(|victim| FlagSet::ALL.map(|flags| (victim.clone(), flags)));
    let trials = pairs.filter(|(victim, flags)| matters(victim, *flags)).map(|(victim, flags)| {
        let name = format!("{}::{}", victim.name, flags.name());
        Trial::test(name, move || check(&victim, flags))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Frame pointers and missing symbols make a difference to stacks, so those whose stacks are peculiar are run with
/// them, and one of each language; all others are run without and with optimisation.
fn matters(victim: &Victim, flags: FlagSet) -> bool {
    const PECULIAR: [&str; 16] = [
        "alloca_frames",
        "coroutines_ucontext",
        "cpp_exceptions_loop",
        "cpp_new_delete",
        "deep_recursion",
        "dlopen_two_plugins",
        "leak_known",
        "longjmp_out",
        "no_frame_pointer",
        "qsort_callback",
        "rust_hash_map",
        "rust_panic_catch",
        "rust_threads_channels",
        "signal_alternate_stack",
        "stack_realignment",
        "threads_random",
    ];
    match flags {
        FlagSet::Debug | FlagSet::Release => true,
        FlagSet::FramePointer | FlagSet::Stripped => PECULIAR.contains(&victim.name.as_str()),
        FlagSet::Static if MORE_IS_SEEN.contains(&victim.name.as_str()) => false,
        FlagSet::Static => {
            !victim.flags.iter().any(|flag| ["-ldl", "-static", "-static-pie"].contains(&flag.as_str()))
        }
    }
}

/// Of these more is seen where they are static: what the unwinder of a static program allocates.
const MORE_IS_SEEN: [&str; 1] = ["cpp_new_fails"];

fn check(victim: &Victim, flags: FlagSet) -> Result<(), Failed> {
    let executable = build(victim, flags);
    let facts = Facts::of(&victim.name);
    let folder = run::private_folder();
    let folder = folder.path();
    let alone = run::finish(run::command(&executable, folder).args(facts.arguments), folder, "alone");
    let mut recording = Recording::new(folder).verify(facts.verify_every);
    if facts.wait {
        recording = recording.with(&["--wait"]);
    }
    let recorded = recording.record(&executable, facts.arguments);

    let mut wrong = same_behaviour(&alone, &recorded.outcome);
    let expectations = expect::parse(&alone.text());
    match &recorded.report {
        Err(why) => wrong.push(why.clone()),
        Ok(report) if facts.invisible => wrong.extend(says_why_empty(report, &recorded, &expectations)),
        Ok(report) => {
            wrong.extend(is_sound(report, &facts, &alone));
            if flags.has_names() {
                wrong.extend(expect::unmet(&expectations, report, &facts));
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n--- heapwise said:\n{}", wrong.join("\n"), recorded.outcome.stderr).into())
}

/// What differs between running alone and being recorded.
fn same_behaviour(alone: &Outcome, recorded: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    if alone.code() != recorded.code() {
        wrong.push(format!("ends with {}, alone with {}", recorded.code(), alone.code()));
    }
    if alone.stdout != recorded.stdout {
        wrong.push(format!("says\n{}\nalone\n{}", recorded.text(), alone.text()));
    }
    wrong
}

/// What is wrong with a report on a program of which nothing can be seen.
fn says_why_empty(report: &Report, recorded: &Recorded, expectations: &[Expectation]) -> Vec<String> {
    let mut wrong = Vec::new();
    let spots = &report.interception.blind_spots;
    if spots.is_empty() || spots.iter().any(|spot| spot.remedy.is_empty()) {
        wrong.push(format!("the report does not say what to do about its emptiness: {spots:?}"));
    }
    if !recorded.outcome.stderr.contains("help: ") {
        wrong.push("nothing was said before the start".into());
    }
    let said = expectations.iter().any(Expectation::says_invisible);
    if (said || report.processes.is_empty()) && report.totals.requests() > 0 {
        wrong.push(format!("blocks were seen where there can be none: {:?}", report.totals));
    }
    wrong
}

/// What makes a report doubtful.
fn is_sound(report: &Report, facts: &Facts, alone: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |good: bool, what: String| {
        if !good {
            wrong.push(what);
        }
    };
    let exit = report.exit.code.or(report.exit.signal.map(|signal| 128 + signal));
    check(exit == Some(alone.code()), format!("the report has the end {:?}", report.exit));
    let seen = report.processes.len();
    let commands: Vec<_> = report.processes.iter().map(|process| &process.command).collect();
    check(
        facts.processes.is_none_or(|n| n == seen),
        format!("{seen} processes, not {:?}: {commands:?}", facts.processes),
    );
    let lost = report.totals.lost_events;
    check(lost == 0 || facts.may_lose, format!("{lost} events were lost"));
    let stacks = report.stacks;
    check(stacks.verified > 0, "no stack was compared with a full unwind".into());
    check(stacks.verify_failed == 0, format!("stacks differ from a full unwind: {stacks:?}"));
    check(stacks.cut_captures == 0 || !facts.whole_stacks, format!("stacks end early: {stacks:?}"));
    let order = report.order;
    let known = order.unknown_frees == 0 && order.implicit_frees == 0;
    check(known || facts.unknown_blocks, format!("blocks appear or vanish: {order:?}"));
    let sites: u64 = report.sites.iter().map(|site| site.allocations + site.reallocations).sum();
    let blocks = report.totals.requests();
    check(sites == blocks, format!("the sites have {sites} blocks together, the totals {blocks}"));
    wrong
}
