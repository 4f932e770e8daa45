//! A program with the allocator `Switch` starts itself, and checks with mimalloc which blocks are mimalloc's.
//!
//! Without a harness: the program has to be its own worker, and what it allocates before `main` belongs to the question.

use heapwise_trial::lab::worker::{self, Answer};
use heapwise_trial::lab::{ALLOCATOR_VARIABLE, Switch};
use std::process::Command;

#[global_allocator]
static ALLOCATOR: Switch = Switch;

/// What a worker with this value of the variable found out about its heap.
fn allocator_with(value: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([worker::COMMAND, "words-chained", "20000"]).env_remove(ALLOCATOR_VARIABLE);
    if let Some(value) = value {
        command.env(ALLOCATOR_VARIABLE, value);
    }
    let output = command.output().expect("this program can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Answer::of_line(&String::from_utf8_lossy(&output.stdout)).expect("an answer").heap.allocator
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, workload, n] = arguments.as_slice()
        && command == worker::COMMAND
    {
        let n = n.parse().expect("a number");
        println!("{}", worker::work(workload, &[n]).expect("a known workload"));
        return;
    }
    assert_eq!(allocator_with(None), "system");
    assert_eq!(allocator_with(Some("mimalloc")), "mimalloc");
    for other in ["", "system", "mimallo", "mimalloc2", "a-value-that-is-longer-than-the-buffer"] {
        assert_eq!(allocator_with(Some(other)), "system", "{other}");
    }
    println!("switch: ok");
}
