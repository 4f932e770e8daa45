//! Which of several allocators is a process's main one, and what they are called.

use crate::analysis::{Analysis, Process};
use crate::by_allocator::OfAllocator;
use crate::units::Bytes;

impl Analysis {
    /// The allocator that has most of what a process has live at the peak, and how much of how much that is. `None` if it has allocated
    /// nothing.
    pub fn main_allocator(&self, process: &Process) -> Option<(&OfAllocator, Bytes, Bytes)> {
        let &(number, bytes) = process.allocators.first()?;
        let all = process.allocators.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(bytes.0));
        Some((self.allocators.iter().find(|of| of.number == number)?, bytes, Bytes(all)))
    }

    /// What the main allocator of a process is called; see [`Process::calls`].
    pub fn called_main<'a>(&'a self, process: &'a Process) -> &'a str {
        self.main_allocator(process).map_or(&process.allocator, |(of, _, _)| process.calls(of))
    }
}

impl Process {
    /// What an allocator of it is called: by its path, its type below a wrapper, or its family where it is inside of a file.
    pub fn calls<'a>(&'a self, of: &'a OfAllocator) -> &'a str {
        match &of.inside {
            Some(inside) if !inside.allocator.is_empty() => &inside.allocator,
            Some(inside) => &inside.file,
            None if self.by_name.is_empty() => &self.allocator,
            None => &self.by_name,
        }
    }
}
