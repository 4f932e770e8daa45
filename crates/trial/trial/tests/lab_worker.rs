//! The worker has the allocator that its variable names, from its first block on: mimalloc itself says which blocks are its own.

use heapwise_trial::lab::ALLOCATOR_VARIABLE;
use heapwise_trial::lab::worker::Answer;
use std::process::{Command, Output};

fn worker(arguments: &[&str], value: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapwise-lab-worker"));
    command.args(arguments).env_remove(ALLOCATOR_VARIABLE);
    if let Some(value) = value {
        command.env(ALLOCATOR_VARIABLE, value);
    }
    command.output().expect("the worker can be started")
}

/// What a worker with this value of the variable found out about its heap.
fn allocator_with(value: Option<&str>) -> String {
    let output = worker(&["words-chained", "20000"], value);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Answer::of_line(&String::from_utf8_lossy(&output.stdout)).expect("an answer").heap.allocator
}

#[test]
fn a_worker_has_the_allocator_that_its_variable_names() {
    assert_eq!(allocator_with(None), "system");
    assert_eq!(allocator_with(Some("mimalloc")), "mimalloc");
    for other in ["", "system", "tcmalloc", "mimallo", "mimalloc2", "a-value-that-is-longer-than-the-buffer"]
    {
        assert_eq!(allocator_with(Some(other)), "system", "{other}");
    }
}

#[test]
fn what_a_worker_cannot_do_is_an_error_in_one_line() {
    for (arguments, reason) in
        [(&["nothing\n", "1"][..], "nothing"), (&["hash-map"], "how much"), (&[], "workload")]
    {
        let output = worker(arguments, None);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(reason) && errors.lines().count() == 1, "{errors}");
        assert!(output.stdout.is_empty());
    }
}
