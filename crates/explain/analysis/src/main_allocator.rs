//! Which of several allocators is the program's main one, and what they are called.

use crate::analysis::{Analysis, Process};
use crate::by_allocator::OfAllocator;

impl Analysis {
    /// The allocator that has most of what is live at the peak; `None` if nothing was allocated.
    pub fn main_allocator(&self) -> Option<&OfAllocator> {
        self.allocators.iter().max_by_key(|of| (of.peak_live_bytes, of.allocations))
    }

    /// What the main allocator of a process is called; see [`Process::calls`].
    pub fn called_main<'a>(&'a self, process: &'a Process) -> &'a str {
        self.main_allocator().map_or(&process.allocator, |of| process.calls(of))
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
