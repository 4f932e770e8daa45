//! x86-64, System V calling convention.

pub mod clock;
pub mod entry;
pub mod go;
pub mod jump;
pub mod note;
pub mod probes;
pub mod registers;
pub mod syscall;
pub mod tls;
pub mod weak;
