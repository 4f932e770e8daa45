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
            let len = (end_of(lines, start) - start).min(MOST_STACK) as usize;
            let len = memory.read_at(&mut bytes[..len], start).unwrap_or_default();
            words.clear();
            words.extend(bytes[..len].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
            is(&words, &memory)
        })
    }
}

/// Where what is mapped at an address ends, in however many pieces it is; the address itself where nothing is.
fn end_of(lines: &[Line<'_>], address: u64) -> u64 {
    let from = lines.partition_point(|line| line.range.end <= address);
    lines[from..].iter().filter(|line| !line.closed).fold(address, |end, line| {
        let goes_on = line.range.start <= end;
        if goes_on { line.range.end } else { end }
    })
}

/// Words from the beginning of a signal's frame, where the address is that its handler returns to, to that of the interrupted instruction:
/// the fields of `struct ucontext` up to `rip` of `struct sigcontext`.
const INTERRUPTED_AT: usize = 1 + 2 + 3 + 16;
/// What a handler returns to: `mov $__NR_rt_sigreturn, %rax; syscall`. glibc and musl have the same instructions, for unwinders know the
/// frame by them.
const GATE: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps;

    #[test]
    fn a_stack_ends_where_nothing_follows_it() {
        let text = "\
1000-2000 rw-p 00000000 00:00 0
2000-4000 rw-p 00000000 00:00 0 [stack]
4000-5000 ---p 00000000 00:00 0
5000-6000 rw-p 00000000 00:00 0
7000-8000 rw-p 00000000 00:00 0";
        let lines: Vec<_> = text.lines().filter_map(maps::line).collect();
        let ends =
            [0x800, 0x1800, 0x2000, 0x3ff8, 0x4100, 0x5000, 0x6000, 0x9000].map(|at| end_of(&lines, at));
        assert_eq!(ends, [0x800, 0x4000, 0x4000, 0x4000, 0x4100, 0x6000, 0x6000, 0x9000]);
    }
}
