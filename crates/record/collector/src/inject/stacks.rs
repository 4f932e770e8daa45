//! What lies on the stacks of stopped threads.

use super::threads::Threads;
use crate::maps::Line;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of a stack that are looked at from the stack pointer on.
const MOST_STACK: u64 = 64 << 10;

impl Threads {
    /// Whether a word on a stack is such a one. `lines` are the mappings of the process.
    pub(crate) fn any_on_stack(&self, lines: &[Line<'_>], wanted: impl Fn(u64) -> bool) -> bool {
        self.any_stack(lines, 0, |words, _| words.iter().any(|&word| wanted(word)))
    }

    /// Whether a signal's handler goes back to such an instruction, as its frame says. What was on a stack earlier may look like one.
    pub(crate) fn any_interrupted_at(&self, lines: &[Line<'_>], wanted: impl Fn(u64) -> bool) -> bool {
        // Where a handler has just returned to, the address of that is still there, right below.
        self.any_stack(lines, size_of::<u64>() as u64, |words, memory| {
            let frames = words.iter().zip(words.iter().skip(INTERRUPTED_AT));
            frames.filter(|(_, at)| wanted(**at)).any(|(&gate, _)| {
                let mut code = [0; GATE.len()];
                memory.read_exact_at(&mut code, gate).is_ok() && code == GATE
            })
        })
    }

    /// Looks at the words of each stack from `below` its pointer on, as far as it is mapped.
    fn any_stack(&self, lines: &[Line<'_>], below: u64, is: impl Fn(&[u64], &File) -> bool) -> bool {
        // One memory, whichever thread is asked for it.
        let registers = self.registers();
        let open = |id| File::open(format!("/proc/{id}/mem")).ok();
        let Some(memory) = registers.iter().find_map(|(id, _)| open(*id)) else { return false };
        let mut bytes = vec![0; MOST_STACK as usize];
        let mut words = Vec::new();
        registers.iter().any(|(_, registers)| {
            let start = registers.rsp.wrapping_sub(below) & !7;
            let line = lines.get(lines.partition_point(|line| line.range.end <= start));
            // Without a mapping there, or in one that has grown since, as much is read as there is.
            let end = line.filter(|line| line.range.contains(&start)).map_or(u64::MAX, |line| line.range.end);
            let len = (end - start).min(MOST_STACK) as usize;
            let len = memory.read_at(&mut bytes[..len], start).unwrap_or_default();
            words.clear();
            words.extend(bytes[..len].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
            is(&words, &memory)
        })
    }
}

/// Words from the beginning of a signal's frame, where the address is that its handler returns to, to that of the interrupted instruction:
/// the fields of `struct ucontext` up to `rip` of `struct sigcontext`.
const INTERRUPTED_AT: usize = 1 + 2 + 3 + 16;
/// What a handler returns to: `mov $__NR_rt_sigreturn, %rax; syscall`. glibc and musl have the same instructions, for unwinders know the
/// frame by them.
const GATE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
