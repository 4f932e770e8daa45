//! Searches allocators and settings for what suits a program.
//!
//! * [`Goal`]: what to minimise, as weights of measures;
//! * [`search()`]: successive halving on replays of a recording: all candidates once, then the better half more often, and so on;
//! * [`front`]: the Pareto front: candidates that no other one beats in both memory and time;
//! * [`Choice`]: the recommendation, which is always something that was run, and often is to keep the baseline.
//!
//! A replay measures memory exactly and time roughly, so its result is a shortlist. Where the program itself can be run, it
//! decides ([`Choice::confirmed`]).

mod choice;
mod front;
mod goal;
mod numbers;
mod on_program;
mod score;
mod search;
#[cfg(test)]
mod testing;

pub use choice::{Choice, Reason, Verified, has_enough_rounds, real};
pub use front::front;
pub use goal::{Goal, GoalError, Objective};
pub use numbers::Numbers;
pub use on_program::OnProgram;
pub use score::Score;
pub use search::{Found, Options, Ranked, search};
