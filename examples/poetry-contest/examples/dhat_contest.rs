//! The contest program, recorded by dhat-rs: for `cargo xtask bench peers`.

#![forbid(unsafe_code)]

#[path = "../src/bin/poetry-contest.rs"]
mod contest;
#[path = "../../../benches/with-dhat/src/recorded.rs"]
mod recorded;

fn main() -> std::process::ExitCode {
    recorded::recorded(contest::main)
}
