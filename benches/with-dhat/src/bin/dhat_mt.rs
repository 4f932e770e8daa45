//! The workload of this name.

#![forbid(unsafe_code)]

#[path = "../../../workloads/mt.rs"]
mod mt;
#[path = "../recorded.rs"]
mod recorded;

fn main() {
    recorded::recorded(mt::main);
}
