//! A stopped thread of another process, by the kernel's `ptrace`: its registers, its memory, and calls made in its name.
//!
//! Whatever a thread does for us, it goes back by itself once it is not looked after any more: what it returns to is the end of a signal's
//! handler, with what it was before as the frame ([`super::way_back`]). So a heapwise that is killed in the middle costs a process
//! nothing.

use super::Refused;
use super::requests;
use super::thread::{NO_CALL, Registers, Thread};
use crate::maps;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// A stopped thread. All calls have to come from the thread of ours that traces it.
#[derive(Debug)]
pub(crate) struct Tracee {
    id: Pid,
    memory: File,
    /// Signals that arrived while it worked for us. It gets them when it goes on.
    held: Vec<Signal>,
    /// Whether it can be stopped wherever it is.
    is_seized: bool,
    /// Whether it went on with the program by itself, since we did not look after it in time.
    pub(super) is_gone_on: bool,
}

/// What the instruction for a system call is.
const SYSTEM_CALL: [u8; 2] = [0x0f, 0x05];
/// Bytes of the kernel's code in the process that are looked at.
const MOST_CODE: u64 = 64 << 10;
/// The kernel's number for a stop that is no signal's and no event's.
pub(super) const EVENT_STOP: i32 = libc::PTRACE_EVENT_STOP;

/// How often a thread that works for us is looked at.
const STEP: Duration = Duration::from_micros(20);
/// How long it may take: it waits for answers of the collector, for two seconds at most.
const MOST_TIME: Duration = Duration::from_secs(6);

/// Where a thread makes system calls for us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    /// The instruction.
    pub(crate) at: u64,
    /// The stack pointer with which it goes back by itself behind the instruction, if it can.
    pub(crate) stack: Option<u64>,
}

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
        ptrace::setoptions(id, Options::PTRACE_O_TRACESYSGOOD).map_err(Refused::system("trace it"))?;
        Self::open(id).map(|tracee| Some(Self { is_seized: false, ..tracee }))
    }

    /// Goes on from the stop at which a program has been executed to its first instruction.
    pub(crate) fn at_execution(id: Pid) -> Result<Self, Refused> {
        let mut tracee = Self::open(id)?;
        // At the stop itself the kernel is about to set the register for results.
        ptrace::interrupt(id).map_err(Refused::system("stop it"))?;
        ptrace::setoptions(id, Options::PTRACE_O_TRACESYSGOOD).map_err(Refused::system("trace it"))?;
        ptrace::cont(id, None).map_err(Refused::system("let it go on"))?;
        tracee.wait_for_interrupt()?;
        Ok(tracee)
    }

    /// A thread that is stopped already, and of which the stops at system calls are distinguished from others.
    pub(super) fn open(id: Pid) -> Result<Self, Refused> {
        let memory = fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{id}/mem"));
        let memory = memory.map_err(|error| Refused::System("open its memory", error))?;
        Ok(Self { id, memory, held: Vec::new(), is_seized: true, is_gone_on: false })
    }

    pub(super) fn id(&self) -> Pid {
        self.id
    }

    pub(crate) fn registers(&self) -> Result<Registers, Refused> {
        ptrace::getregs(self.id).map_err(Refused::system("read its registers"))
    }

    pub(crate) fn set_registers(&self, registers: Registers) -> Result<(), Refused> {
        ptrace::setregs(self.id, registers).map_err(Refused::system("set its registers"))
    }

    /// What it is now, all of which it is again with [`put_back`](Self::put_back). Signals are held back from the first thing on that it
    /// does for us.
    pub(crate) fn borrow(&self) -> Result<Thread, Refused> {
        let mut registers = self.registers()?;
        if self.is_left_asleep(&registers) {
            // It goes back at once where it would have gone when it had slept enough.
            (registers.rax, registers.orig_rax) = (0, NO_CALL);
        }
        let vectors =
            requests::vectors(self.id).map_err(|error| Refused::System("read its registers", error))?;
        let mask = requests::mask(self.id).map_err(|error| Refused::System("read its signals", error))?;
        Ok(Thread { registers, vectors, mask })
    }

    /// Whether it has worked for another heapwise, which was killed before it put the thread back: the thread sleeps in an image.
    fn is_left_asleep(&self, registers: &Registers) -> bool {
        // What comes behind the sleep: mov eax, 15; syscall; jmp back to it
        const BEHIND: [u8; 9] = [0xb8, 15, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7];
        let is_asleep =
            registers.orig_rax == libc::SYS_pselect6 as u64 && registers.r8 == registers.r12.wrapping_add(8);
        is_asleep && self.read(registers.rip, BEHIND.len()).is_ok_and(|code| code == BEHIND)
    }

    /// Sets registers with which it works for us. From then on it has a way back, on which its signals are released.
    fn work_with(&self, registers: Registers) -> Result<(), Refused> {
        self.set_registers(registers)?;
        requests::set_mask(self.id, u64::MAX).map_err(|error| Refused::System("hold its signals", error))
    }

    /// The other way round.
    pub(crate) fn put_back(&self, thread: &Thread) -> Result<(), Refused> {
        requests::set_vectors(self.id, &thread.vectors)
            .map_err(|error| Refused::System("set its registers", error))?;
        requests::set_mask(self.id, thread.mask)
            .map_err(|error| Refused::System("release its signals", error))?;
        self.set_registers(thread.registers)
    }

    /// Writes to its memory, whatever that is protected from.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Refused> {
        self.memory.write_all_at(bytes, at).map_err(|error| Refused::System("write its memory", error))
    }

    /// Reads as many bytes of its memory.
    pub(crate) fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, Refused> {
        let mut bytes = vec![0; len];
        let read = self.memory.read_exact_at(&mut bytes, at);
        read.map_err(|error| Refused::System("read its memory", error)).map(|()| bytes)
    }

    /// Where an instruction for system calls is: in the code that the kernel maps into each process.
    pub(crate) fn gate(&self) -> Result<u64, Refused> {
        let maps = fs::read(format!("/proc/{}/maps", self.id))
            .map_err(|error| Refused::System("read its mappings", error))?;
        let text = String::from_utf8_lossy(&maps);
        let range =
            text.lines().filter_map(maps::line).find(|line| line.name == "[vdso]").map(|line| line.range);
        let range = range.ok_or(Refused::NoGate)?;
        let code = self.read(range.start, (range.end - range.start).min(MOST_CODE) as usize)?;
        let at = code.windows(SYSTEM_CALL.len()).position(|bytes| bytes == SYSTEM_CALL);
        at.map(|at| range.start + at as u64).ok_or(Refused::NoGate)
    }

    /// Makes a system call in its name. The registers are afterwards those of the call.
    pub(crate) fn system_call(
        &mut self,
        gate: Gate,
        number: libc::c_long,
        arguments: [u64; 6],
    ) -> Result<u64, Refused> {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        let before = self.registers()?;
        self.work_with(Registers {
            rip: gate.at,
            rsp: gate.stack.unwrap_or(before.rsp),
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
        // At the call, and behind it.
        self.go_to_system_call()?;
        self.go_to_system_call()?;
        let result = self.registers()?.rax;
        match u32::try_from((result as i64).wrapping_neg()) {
            Ok(error @ 1..4096) => Err(Refused::call(number, error as i32)),
            _ => Ok(result),
        }
    }

    /// Has it go on with these registers, in code of `image`, until there is something else than `open` at `result`.
    pub(crate) fn run(
        &mut self,
        registers: Registers,
        (result, open): (u64, u32),
        image: &Range<u64>,
    ) -> Result<u32, Refused> {
        self.work_with(Registers { orig_rax: NO_CALL, ..registers })?;
        let outcome = |tracee: &Self| -> Result<Option<u32>, Refused> {
            let bytes = tracee.read(result, 4)?;
            Ok(bytes.try_into().ok().map(u32::from_le_bytes).filter(|outcome| *outcome != open))
        };
        if !self.is_seized {
            // Its calls are looked at one by one: the first one with a result is the sleep behind it.
            loop {
                self.go_to_system_call()?;
                if let Some(outcome) = outcome(self)? {
                    let registers = self.registers()?;
                    self.set_registers(Registers { orig_rax: NO_CALL, ..registers })?;
                    return self.go_to_system_call().map(|()| outcome);
                }
                self.go_to_system_call()?;
            }
        }
        ptrace::cont(self.id, None).map_err(Refused::system("let it go on"))?;
        let until = Instant::now() + MOST_TIME;
        let outcome = loop {
            if let Some(outcome) = outcome(self)? {
                break outcome;
            }
            // What has failed in there stops by itself.
            if let Some(status) = self.look()? {
                self.keep(status)?;
                ptrace::cont(self.id, None).map_err(Refused::system("let it go on"))?;
            }
            if Instant::now() > until {
                break open;
            }
            std::thread::sleep(STEP);
        };
        ptrace::interrupt(self.id).map_err(Refused::system("stop it"))?;
        self.wait_for_interrupt()?;
        // It has slept enough, and went back by itself.
        self.is_gone_on = outcome != open && !image.contains(&self.registers()?.rip);
        if self.is_gone_on { Err(Refused::Late) } else { Ok(outcome) }
    }

    /// The stop that it has come to meanwhile, if any.
    fn look(&self) -> Result<Option<WaitStatus>, Refused> {
        let which = WaitPidFlag::WSTOPPED
            | WaitPidFlag::WEXITED
            | WaitPidFlag::WNOWAIT
            | WaitPidFlag::WNOHANG
            | WaitPidFlag::__WALL;
        match waitid(Id::Pid(self.id), which).map_err(Refused::system("waitid"))? {
            WaitStatus::StillAlive => Ok(None),
            _ => self.wait().map(Some),
        }
    }

    /// Lets it go on to the beginning or the end of its next system call.
    fn go_to_system_call(&mut self) -> Result<(), Refused> {
        loop {
            ptrace::syscall(self.id, None).map_err(Refused::system("let it go on"))?;
            match self.wait()? {
                WaitStatus::PtraceSyscall(_) => return Ok(()),
                status => self.keep(status)?,
            }
        }
    }

    /// Stops it where it is, right before it goes on with the program: there the kernel makes a system call again that was interrupted.
    pub(crate) fn stop_before_program(&mut self, thread: &Thread) -> Result<(), Refused> {
        ptrace::interrupt(self.id).map_err(Refused::system("stop it"))?;
        ptrace::cont(self.id, None).map_err(Refused::system("let it go on"))?;
        self.wait_for_interrupt()?;
        self.put_back(thread)
    }

    fn wait_for_interrupt(&mut self) -> Result<(), Refused> {
        loop {
            match self.wait()? {
                WaitStatus::PtraceEvent(_, _, EVENT_STOP) => return Ok(()),
                status => self.keep(status)?,
            }
            ptrace::cont(self.id, None).map_err(Refused::system("let it go on"))?;
        }
    }

    /// Keeps a signal for later.
    fn keep(&mut self, status: WaitStatus) -> Result<(), Refused> {
        match status {
            WaitStatus::Stopped(
                _,
                signal @ (Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGILL | Signal::SIGFPE),
            ) => Err(Refused::Failed(signal)),
            WaitStatus::Stopped(_, Signal::SIGTRAP) | WaitStatus::PtraceEvent(..) => Ok(()),
            WaitStatus::Stopped(_, signal) => {
                self.held.push(signal);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Waits for its next stop.
    fn wait(&self) -> Result<WaitStatus, Refused> {
        let which = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::__WALL;
        // Whoever waits for its end is to hear of it.
        match waitid(Id::Pid(self.id), which).map_err(Refused::system("waitid"))? {
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => Err(Refused::Ended),
            _ => waitpid(self.id, Some(WaitPidFlag::__WALL)).map_err(Refused::system("waitpid")),
        }
    }

    /// Sends it the signals again that arrived while it worked for us.
    pub(crate) fn send_held(&mut self) {
        for signal in self.held.drain(..) {
            let _ = nix::sys::signal::kill(self.id, signal);
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
    requests::listen(thread);
}
