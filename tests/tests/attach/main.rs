//! `heapwise attach`: processes that run already are recorded, and go on as they were.

mod afterwards;
mod process;
mod recorded;
mod refused;
