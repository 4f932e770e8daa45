//! A stopped thread of another process, by the kernel's `ptrace`: its registers, its memory, and calls made in its name.

#![expect(unsafe_code, reason = "one request that has no function elsewhere")]

use super::Refused;
use crate::maps;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The registers of a thread.
pub(crate) type Registers = libc::user_regs_struct;

/// A stopped thread. All calls have to come from the thread of ours that traces it.
#[derive(Debug)]
pub(crate) struct Tracee {
    id: Pid,
    memory: File,
    /// Signals that arrived while it worked for us. It gets them when it goes on.
    held: Vec<Signal>,
}

/// What the instruction for a system call is.
const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];
/// The number that the kernel keeps for a stop that is not at a system call: nothing is to be made again.
const NO_CALL: u64 = u64::MAX;
/// Bytes of the kernel's code in the process that are looked at.
const MOST_CODE: u64 = 64 << 10;

impl Tracee {
    /// Waits until a child that has asked to be traced stops at its new program; nothing if it has ended instead.
    pub(crate) fn at_start(pid: u32) -> Result<Option<Self>, Refused> {
        let id = Pid::from_raw(pid as i32);
        let which = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(id), which).map_err(Refused::system("waitid"))? {
            WaitStatus::Stopped(..) | WaitStatus::PtraceEvent(..) => {}
            // Whoever waits for the program is to hear of it.
            _ => return Ok(None),
        }
        waitpid(id, None).map_err(Refused::system("waitpid"))?;
        Self::open(id).map(Some)
    }

    /// Goes on from the stop at which a program has been executed to its first instruction.
    pub(crate) fn at_execution(id: Pid) -> Result<Self, Refused> {
        let mut tracee = Self::open(id)?;
        // At the stop itself the kernel is about to set the register for results.
        ptrace::interrupt(id).map_err(Refused::system("stop it"))?;
        ptrace::cont(id, None).map_err(Refused::system("let it go on"))?;
        tracee.wait_for_trap()?;
        Ok(tracee)
    }

    fn open(id: Pid) -> Result<Self, Refused> {
        let memory = fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{id}/mem"));
        let memory = memory.map_err(|error| Refused::System("open its memory", error))?;
        Ok(Self { id, memory, held: Vec::new() })
    }

    pub(crate) fn registers(&self) -> Result<Registers, Refused> {
        ptrace::getregs(self.id).map_err(Refused::system("read its registers"))
    }

    pub(crate) fn set_registers(&self, registers: Registers) -> Result<(), Refused> {
        ptrace::setregs(self.id, registers).map_err(Refused::system("set its registers"))
    }

    /// Writes to its memory, whatever that is protected from.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Refused> {
        self.memory.write_all_at(bytes, at).map_err(|error| Refused::System("write its memory", error))
    }

    /// Where an instruction for system calls is: in the code that the kernel maps into each process.
    pub(crate) fn gate(&self) -> Result<u64, Refused> {
        let maps = fs::read(format!("/proc/{}/maps", self.id))
            .map_err(|error| Refused::System("read its mappings", error))?;
        let text = String::from_utf8_lossy(&maps);
        let range =
            text.lines().filter_map(maps::line).find(|line| line.name == "[vdso]").map(|line| line.range);
        let range = range.ok_or(Refused::NoGate)?;
        let mut code = vec![0; (range.end - range.start).min(MOST_CODE) as usize];
        self.memory
            .read_exact_at(&mut code, range.start)
            .map_err(|error| Refused::System("read its memory", error))?;
        let at = code.windows(SYSTEM_CALL.len()).position(|bytes| bytes == SYSTEM_CALL);
        at.map(|at| range.start + at as u64).ok_or(Refused::NoGate)
    }

    /// Makes a system call in its name. The registers are afterwards those of the call.
    pub(crate) fn system_call(
        &mut self,
        gate: u64,
        number: libc::c_long,
        arguments: [u64; 6],
    ) -> Result<u64, Refused> {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        let before = self.registers()?;
        self.set_registers(Registers {
            rip: gate,
            rax: number as u64,
            orig_rax: NO_CALL,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..before
        })?;
        ptrace::step(self.id, None).map_err(Refused::system("let it make a step"))?;
        self.wait_for_trap()?;
        let result = self.registers()?.rax;
        match u32::try_from((result as i64).wrapping_neg()) {
            Ok(error @ 1..4096) => Err(Refused::call(number, error as i32)),
            _ => Ok(result),
        }
    }

    /// Has it go on with these registers until it meets a breakpoint. Returns what its register for results holds then.
    pub(crate) fn run(&mut self, registers: Registers) -> Result<u64, Refused> {
        self.set_registers(Registers { orig_rax: NO_CALL, ..registers })?;
        ptrace::cont(self.id, None).map_err(Refused::system("let it go on"))?;
        self.wait_for_trap()?;
        Ok(self.registers()?.rax)
    }

    /// Waits until it stops at an instruction of ours. Signals that arrive meanwhile are kept for it.
    fn wait_for_trap(&mut self) -> Result<(), Refused> {
        loop {
            let which = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            let signal = match waitid(Id::Pid(self.id), which).map_err(Refused::system("waitid"))? {
                WaitStatus::Stopped(_, signal) | WaitStatus::PtraceEvent(_, signal, _) => signal,
                _ => return Err(Refused::Ended),
            };
            waitpid(self.id, None).map_err(Refused::system("waitpid"))?;
            match signal {
                Signal::SIGTRAP => return Ok(()),
                Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGILL | Signal::SIGFPE => {
                    return Err(Refused::Failed(signal));
                }
                other => self.held.push(other),
            }
            ptrace::cont(self.id, None).map_err(Refused::system("let it go on"))?;
        }
    }

    /// Lets it go its own way.
    pub(crate) fn release(self) {
        let mut held = self.held.into_iter();
        // It is gone, or goes on.
        let _ = ptrace::detach(self.id, held.next());
        for signal in held {
            let _ = nix::sys::signal::kill(self.id, signal);
        }
    }
}

/// Leaves a thread stopped that the user has stopped, until that changes.
pub(super) fn listen(thread: Pid) {
    // SAFETY: the request has no arguments, and changes nothing of ours.
    let _ = unsafe { libc::ptrace(libc::PTRACE_LISTEN, thread.as_raw(), 0, 0) };
}
