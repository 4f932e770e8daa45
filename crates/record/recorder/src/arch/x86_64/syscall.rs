//! Raw system calls: no libc, no `errno`.

use core::arch::asm;

/// Makes a system call. Returns what the kernel returned: a negative error number on failure.
///
/// # Safety
/// That of the call: pointers among the arguments must be valid for what the kernel does with them.
#[inline]
pub unsafe fn syscall6(number: usize, a: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the caller vouches for the arguments; the kernel preserves all registers but rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0],
            in("rsi") a[1],
            in("rdx") a[2],
            in("r10") a[3],
            in("r8") a[4],
            in("r9") a[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Numbers of the system calls that the recorder makes.
pub mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const OPEN: usize = 2;
    pub const CLOSE: usize = 3;
    pub const FSTAT: usize = 5;
    pub const LSTAT: usize = 6;
    pub const MMAP: usize = 9;
    pub const MPROTECT: usize = 10;
    pub const MUNMAP: usize = 11;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const SCHED_YIELD: usize = 24;
    pub const MREMAP: usize = 25;
    pub const MINCORE: usize = 27;
    pub const MADVISE: usize = 28;
    pub const GETPID: usize = 39;
    pub const EXECVE: usize = 59;
    pub const KILL: usize = 62;
    pub const READLINK: usize = 89;
    pub const GETEUID: usize = 107;
    pub const GETEGID: usize = 108;
    pub const GETPPID: usize = 110;
    pub const SIGALTSTACK: usize = 131;
    pub const PRCTL: usize = 157;
    pub const GETTID: usize = 186;
    pub const FGETXATTR: usize = 193;
    pub const FUTEX: usize = 202;
    pub const EXIT_GROUP: usize = 231;
    pub const TGKILL: usize = 234;
    pub const PRLIMIT64: usize = 302;
    pub const PROCESS_VM_READV: usize = 310;
    pub const PROCESS_VM_WRITEV: usize = 311;
    pub const SECCOMP: usize = 317;
    pub const EXECVEAT: usize = 322;
}
