//! The workload of this name.

#![forbid(unsafe_code)]

#[path = "../../../workloads/hashmap.rs"]
mod hashmap;
#[path = "../recorded.rs"]
mod recorded;

fn main() {
    recorded::recorded(hashmap::main);
}
