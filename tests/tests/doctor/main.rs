//! `heapwise doctor` finds each thing that slows a heap on a real process that was prepared with it, and on a command that
//! would inherit it; and does not find it on a clean one.
//!
//! What cannot be prepared without changing the machine for all users, such as strict overcommit and swap, is tested on
//! made-up facts beside the checks.

mod ask;
mod cases;
mod command_line;
mod processes;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let mut trials: Vec<Trial> = cases::CASES
        .iter()
        .map(|case| Trial::test(case.name, move || cases::prepared_and_clean(case)))
        .collect();
    type Test = fn() -> Result<(), Failed>;
    let alone: &[(&str, Test)] = &[
        ("allocator_that_fills", processes::allocator_that_fills),
        ("mimalloc_secure", processes::mimalloc_secure),
        ("address_space_limit", processes::address_space_limit),
        ("traced", processes::traced),
        ("valgrind", processes::valgrind),
        ("recorded", processes::recorded),
        ("musl", processes::musl),
        ("control_group_at_its_limit", processes::control_group_at_its_limit),
        ("clean_machine", command_line::clean_machine),
        ("configuration_is_set_right", command_line::configuration_is_set_right),
        ("broken_configuration_is_left_alone", command_line::broken_configuration_is_left_alone),
        ("bad_requests", command_line::bad_requests),
        ("markdown_and_text", command_line::markdown_and_text),
    ];
    trials.extend(alone.iter().map(|(name, test)| Trial::test(*name, *test)));
    libtest_mimic::run(&arguments, trials).exit_code()
}
