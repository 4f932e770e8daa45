//! `heapwise replay`: what real programs did, done again with each allocator. No test looks at a time.

mod accounts;
mod candidates;
mod command;
mod page;
mod recordings;
mod stopped;
