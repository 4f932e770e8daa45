//! Starting a worker and waiting for its answer, but not forever.

use super::Answer;
use super::error::WorkerError;
use crate::lab::conditions::Condition;
use crate::lab::experiment::Options;
use std::process::{Command, Output};

/// Has a worker do something under a condition.
///
/// # Errors
///
/// If it does not answer, or its answer is not the expected one.
pub fn ask(
    options: &Options,
    condition: &dyn Condition,
    workload: &str,
    numbers: &[u64],
) -> Result<Answer, WorkerError> {
    let mut command = Command::new(&options.worker);
    command.arg(workload).args(numbers.iter().map(u64::to_string));
    condition.prepare(&mut command);
    answer_of(&condition.run(&mut command, &options.heapwise)?, workload, numbers)
}

/// What a worker answered that was to do something.
///
/// # Errors
///
/// If it failed, or its answer is not the expected one.
pub fn answer_of(output: &Output, workload: &str, numbers: &[u64]) -> Result<Answer, WorkerError> {
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(WorkerError::Failed { status: output.status, stderr });
    }
    let answer = Answer::of_line(&String::from_utf8_lossy(&output.stdout)).map_err(WorkerError::Answer)?;
    if answer.workload != workload || Some(&answer.n) != numbers.first() {
        return Err(WorkerError::Answer(format!("it did {} {}", answer.workload, answer.n)));
    }
    Ok(answer)
}
