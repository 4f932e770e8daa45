//! Whether a process's filters of system calls let the recorder work.
//!
//! A filter is a small program of the kernel's (classic BPF, `struct seccomp_data`). It is read and run here, for each call that the
//! recorder makes: so it is known before, and not by the death of the process.

use super::requests::FilterStep;

/// What a filter says of a call, and what comes of several: the strictest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// It is made.
    Allowed,
    /// It is not, and the caller gets an error, or something else decides.
    Refused,
    /// The process is ended, or gets a signal.
    Fatal,
}

/// A call that the recorder makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    number: i64,
    arguments: [u64; 6],
    /// Whether nothing can be recorded without it.
    is_needed: bool,
}

const fn call(name: &'static str, number: i64, arguments: [u64; 6], is_needed: bool) -> Call {
    Call { name, number, arguments, is_needed }
}

/// Stands for an address or a descriptor, which no filter can look behind.
const SOME: u64 = 0x7f00_0000_1000;
const SHARED: u64 = libc::MAP_SHARED as u64;
const ANONYMOUS: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;
const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const CODE: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
const ALL: u64 = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as u64;

/// All of them.
const CALLS: &[Call] = &[
    call("memfd_create", libc::SYS_memfd_create, [SOME, 3, 0, 0, 0, 0], true),
    call("mmap", libc::SYS_mmap, [0, 4096, READ_WRITE, SHARED, 5, 0], true),
    call("mmap", libc::SYS_mmap, [0, 4096, READ_WRITE, ANONYMOUS, u64::MAX, 0], true),
    call("mremap", libc::SYS_mremap, [SOME, 0, 4096, 1, 0, 0], true),
    call("mprotect", libc::SYS_mprotect, [SOME, 4096, CODE, 0, 0, 0], true),
    call("mprotect", libc::SYS_mprotect, [SOME, 4096, ALL, 0, 0, 0], true),
    call("munmap", libc::SYS_munmap, [SOME, 4096, 0, 0, 0, 0], true),
    call("close", libc::SYS_close, [5, 0, 0, 0, 0, 0], true),
    call("madvise", libc::SYS_madvise, [SOME, 4096, 18, 0, 0, 0], true),
    call("madvise", libc::SYS_madvise, [SOME, 4096, libc::MADV_DONTNEED as u64, 0, 0, 0], true),
    call("futex", libc::SYS_futex, [SOME, 0, 0, SOME, 0, 0], true),
    call("rt_sigprocmask", libc::SYS_rt_sigprocmask, [0, SOME, SOME, 8, 0, 0], true),
    call("pselect6", libc::SYS_pselect6, [0, 0, 0, 0, SOME, 0], true),
    call("rt_sigreturn", libc::SYS_rt_sigreturn, [0; 6], true),
    call("sigaltstack", libc::SYS_sigaltstack, [0, SOME, 0, 0, 0, 0], false),
    call("getpid", libc::SYS_getpid, [0; 6], true),
    call("gettid", libc::SYS_gettid, [0; 6], true),
    call("getppid", libc::SYS_getppid, [0; 6], false),
    call("geteuid", libc::SYS_geteuid, [0; 6], false),
    call("getegid", libc::SYS_getegid, [0; 6], false),
    call("kill", libc::SYS_kill, [1, 0, 0, 0, 0, 0], false),
    call("tgkill", libc::SYS_tgkill, [1, 1, 0, 0, 0, 0], false),
    call("prctl", libc::SYS_prctl, [16, SOME, 0, 0, 0, 0], false),
    call("prctl", libc::SYS_prctl, [25, SOME, 0, 0, 0, 0], false),
    call("prlimit64", libc::SYS_prlimit64, [0, 9, 0, SOME, 0, 0], false),
    call("process_vm_readv", libc::SYS_process_vm_readv, [1, SOME, 1, SOME, 1, 0], true),
    call("mincore", libc::SYS_mincore, [SOME, 4096, SOME, 0, 0, 0], false),
    call("open", libc::SYS_open, [SOME, 0o2000000, 0, 0, 0, 0], true),
    call("read", libc::SYS_read, [5, SOME, 1024, 0, 0, 0], true),
    call("readlink", libc::SYS_readlink, [SOME, SOME, 64, 0, 0, 0], false),
    call("sched_yield", libc::SYS_sched_yield, [0; 6], false),
];

/// The first call that a process with these filters cannot make.
pub(super) fn obstacle(filters: &[Vec<FilterStep>]) -> Option<&'static str> {
    let verdict = |call: &Call| {
        let data = data(call);
        filters.iter().map(|filter| run(filter, &data)).max().unwrap_or(Verdict::Allowed)
    };
    let stands = |call: &&Call| match verdict(call) {
        Verdict::Allowed => false,
        Verdict::Refused => call.is_needed,
        Verdict::Fatal => true,
    };
    CALLS.iter().find(stands).map(|call| call.name)
}

/// `struct seccomp_data`: number, architecture, instruction pointer, six arguments; as words of four bytes.
fn data(call: &Call) -> [u32; 16] {
    const X86_64: u32 = 0xc000_003e;
    let mut words = [0; 16];
    (words[0], words[1]) = (call.number as u32, X86_64);
    let long = |value: u64| [value as u32, (value >> 32) as u32];
    words[2..4].copy_from_slice(&long(SOME));
    for (place, argument) in words[4..].chunks_exact_mut(2).zip(call.arguments) {
        place.copy_from_slice(&long(argument));
    }
    words
}

/// Runs a filter. What is no program that the kernel would have taken is fatal.
fn run(filter: &[FilterStep], data: &[u32; 16]) -> Verdict {
    let (mut a, mut x, mut memory, mut at) = (0u32, 0u32, [0u32; 16], 0usize);
    // It only goes forward.
    for _ in 0..=filter.len() {
        let Some(step) = filter.get(at) else { return Verdict::Fatal };
        at += 1;
        let k = step.value;
        let operand = if step.code & 0x08 != 0 { x } else { k };
        let place = (k as usize).min(memory.len() - 1);
        match (step.code & 0x07, step.code & 0xf0, step.code & 0xe0) {
            // A load: an immediate, the size of the data, a word of memory or of the data.
            (0x00, _, 0x00) => a = k,
            (0x00, _, 0x80) => a = 64,
            (0x00, _, 0x60) => a = memory[place],
            (0x00, _, 0x20) => match data.get(k as usize / 4) {
                Some(word) => a = *word,
                None => return Verdict::Fatal,
            },
            (0x01, _, 0x00) => x = k,
            (0x01, _, 0x80) => x = 64,
            (0x01, _, 0x60) => x = memory[place],
            (0x02, ..) => memory[place] = a,
            (0x03, ..) => memory[place] = x,
            (0x04, operation, _) => {
                let result = match operation {
                    0x00 => Some(a.wrapping_add(operand)),
                    0x10 => Some(a.wrapping_sub(operand)),
                    0x20 => Some(a.wrapping_mul(operand)),
                    0x30 => a.checked_div(operand),
                    0x40 => Some(a | operand),
                    0x50 => Some(a & operand),
                    0x60 => a.checked_shl(operand),
                    0x70 => a.checked_shr(operand),
                    0x80 => Some(a.wrapping_neg()),
                    0xa0 => Some(a ^ operand),
                    _ => None,
                };
                match result {
                    Some(result) => a = result,
                    None => return Verdict::Fatal,
                }
            }
            (0x05, operation, _) => {
                let holds = match operation {
                    0x00 => {
                        at += k as usize;
                        continue;
                    }
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    0x40 => a & operand != 0,
                    _ => return Verdict::Fatal,
                };
                at += usize::from(if holds { step.if_true } else { step.if_false });
            }
            (0x06, ..) => return verdict(if step.code & 0x18 == 0x10 { a } else { k }),
            (0x07, ..) if step.code & 0xf8 == 0x80 => a = x,
            (0x07, ..) => x = a,
            _ => return Verdict::Fatal,
        }
    }
    Verdict::Fatal
}

/// What the kernel makes of a filter's result (`SECCOMP_RET_…`).
fn verdict(result: u32) -> Verdict {
    match result & 0xffff_0000 {
        0x7fff_0000 | 0x7ffc_0000 => Verdict::Allowed,
        // An error, a tracer, a supervisor.
        0x0005_0000 | 0x7ff0_0000 | 0x7fc0_0000 => Verdict::Refused,
        _ => Verdict::Fatal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(code: u16, value: u32, if_true: u8, if_false: u8) -> FilterStep {
        FilterStep { code, if_true, if_false, value }
    }

    /// What a filter says of `numbers`, and of all other calls.
    fn filter(numbers: &[i64], said: u32, otherwise: u32) -> Vec<FilterStep> {
        let mut steps = vec![step(0x20, 0, 0, 0)];
        for number in numbers {
            steps.push(step(0x15, *number as u32, 0, 1));
            steps.push(step(0x06, said, 0, 0));
        }
        steps.push(step(0x06, otherwise, 0, 0));
        steps
    }

    const ALLOW: u32 = 0x7fff_0000;
    const KILL: u32 = 0x8000_0000;
    const ERRNO: u32 = 0x0005_0001;

    #[test]
    fn a_filter_is_run_as_the_kernel_does() {
        assert_eq!(obstacle(&[]), None);
        assert_eq!(obstacle(&[filter(&[libc::SYS_ptrace], KILL, ALLOW)]), None);
        assert_eq!(obstacle(&[filter(&[libc::SYS_futex], KILL, ALLOW)]), Some("futex"));
        assert_eq!(obstacle(&[filter(&[libc::SYS_readlink], ERRNO, ALLOW)]), None, "it does without");
        assert_eq!(obstacle(&[filter(&[libc::SYS_readlink], KILL, ALLOW)]), Some("readlink"));
        assert_eq!(obstacle(&[filter(&[libc::SYS_mmap], ERRNO, ALLOW)]), Some("mmap"));
        let both = [filter(&[], 0, ALLOW), filter(&[libc::SYS_mremap], KILL, ALLOW)];
        assert_eq!(obstacle(&both), Some("mremap"), "the strictest counts");
        // Whatever may be executed may not be written: the third argument is looked at.
        let of_argument = vec![
            step(0x20, 0, 0, 0),
            step(0x15, libc::SYS_mprotect as u32, 0, 3),
            step(0x20, 32, 0, 0),
            step(0x54, 4, 0, 0),
            step(0x15, 4, 1, 0),
            step(0x06, ALLOW, 0, 0),
            step(0x06, KILL, 0, 0),
        ];
        assert_eq!(obstacle(&[of_argument]), Some("mprotect"));
    }

    #[test]
    fn what_is_no_filter_is_fatal() {
        let call = &CALLS[0];
        for odd in [vec![], vec![step(0x05, 7, 0, 0)], vec![step(0x34, 0, 0, 0)], vec![step(0xffff, 0, 0, 0)]]
        {
            assert_eq!(run(&odd, &data(call)), Verdict::Fatal, "{odd:?}");
        }
    }
}
