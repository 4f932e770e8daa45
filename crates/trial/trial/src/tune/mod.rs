//! Searches allocators and settings for what suits a program.
//!
//! * [`Goal`]: what is wanted, as weights of measures;
//! * [`search()`]: successive halving on replays of a recording: all candidates once, then the better half more often, and so on;
//! * [`front`]: the Pareto front: candidates that no other one beats in both memory and time;
//! * [`Choice`]: what to recommend, which only ever is something that was run, and often is to stay with what one has.
//!
//! A replay tells memory exactly and time roughly, so what it finds is a short list. What decides, where the program itself
//! can be run, is the program itself ([`Choice::confirmed`]).

mod choice;
mod front;
mod goal;
mod numbers;
mod on_program;
mod score;
mod search;
#[cfg(test)]
mod testing;

pub use choice::{Choice, Reason, Verified, is_told_by, real};
pub use front::front;
pub use goal::{Goal, GoalError, Objective};
pub use numbers::Numbers;
pub use on_program::OnProgram;
pub use score::Score;
pub use search::{Found, Options, Ranked, search};
