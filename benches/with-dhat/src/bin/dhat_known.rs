//! The workload of this name.

#![forbid(unsafe_code)]

#[path = "../../../workloads/known.rs"]
mod known;
#[path = "../recorded.rs"]
mod recorded;

fn main() {
    recorded::recorded(known::main);
}
