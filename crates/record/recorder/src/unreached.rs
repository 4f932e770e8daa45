//! Notes programs that will not be recorded, when this process is about to execute one.
//!
//! A statically linked program has no loader that would read `LD_PRELOAD`; another one is started *bare*, without that variable or
//! the session's. Either would be missing in silence. So the functions that start programs look at the file and its
//! environment first, and ask to be traced ([`traced`]): what traces gives such a program what it needs. Where that cannot be, the
//! program's name is left in the session, where the collector finds it in the end.

use crate::process::PROCESS;
use crate::session::{own_environment, variable_in};
use crate::{confined, sys, traced};
use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::Ordering;
use heapwise_trace::live::layout::{NAME_IN_THE_MAKING, ProgramName, ProgramNames, SessionHeader};

/// Bytes of a path that is put together here. A longer one is not looked at.
const PATH_BYTES: usize = 512;
/// Bytes of a program that are read: its headers, or the first line of a script.
const HEAD_BYTES: usize = 1024;

/// What a program that is about to be started has in its environment of what it needs to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Has {
    /// All, or it is none of this session.
    All,
    /// Not all: it is started bare.
    NotAll,
    /// Not all, and it could not use it either: it may not open what this process may.
    NoReach,
}

/// What a file is to its loader.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Program {
    /// Its loader reads the variable, or nothing is known.
    Reached,
    /// It has no loader.
    Unreached,
    /// A script, and where in its first line the interpreter's path is.
    Script(Range<usize>),
}

impl Program {
    /// What the beginning of a file says.
    fn of(head: &[u8]) -> Self {
        if let Some(line) = head.strip_prefix(b"#!") {
            let start = 2 + line.iter().take_while(|b| b" \t".contains(b)).count();
            let rest = head.get(start..).unwrap_or_default();
            let len = rest.iter().take_while(|b| !b" \t\n\0".contains(b)).count();
            return Self::Script(start..start + len);
        }
        if has_loader(head) == Some(false) { Self::Unreached } else { Self::Reached }
    }
}

/// Whether an ELF file of 64 bits names a loader; `None` if it is another file, or its headers lie further in.
fn has_loader(head: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    const PROGRAMS: Range<u16> = 2..4;
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at.checked_add(2)?)?.try_into().ok()?));
    if !head.starts_with(b"\x7fELF\x02\x01") || !PROGRAMS.contains(&half(16)?) {
        return None;
    }
    let table = usize::try_from(u64::from_le_bytes(head.get(32..40)?.try_into().ok()?)).ok()?;
    let (size, count) = (usize::from(half(54)?), usize::from(half(56)?));
    for index in 0..count {
        let at = table.checked_add(index * size)?;
        if u32::from_le_bytes(head.get(at..at.checked_add(4)?)?.try_into().ok()?) == INTERPRETER {
            return Some(true);
        }
    }
    Some(false)
}

/// The dynamic linker itself has no loader, and reads the variable all the same.
fn is_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    name.starts_with(b"ld-") || name.starts_with(b"ld.so")
}

/// Sees to the program at a path, if nothing can be preloaded into it, or it is started bare. To be called when it is about to be
/// executed.
pub(crate) fn note(path: &CStr, has: Has) {
    let Some(session) = wanted() else { return };
    let mut head = [0; HEAD_BYTES];
    let found = look(path, &mut head);
    let mut buffer = [0; PATH_BYTES];
    // Of a script it is the interpreter that is executed.
    let interpreter = match &found {
        Some(Program::Script(at)) => joined(&[head.get(at.clone()).unwrap_or_default()], &mut buffer),
        _ => None,
    };
    let asks = |list| {
        let may_ask = has != Has::NoReach && !gains_rights(interpreter.unwrap_or(path));
        if !(may_ask && traced::ask(session)) {
            publish(list, path.to_bytes());
        }
    };
    match found {
        Some(Program::Unreached) => asks(&session.unreached),
        Some(_) if has != Has::All => asks(&session.bare),
        Some(Program::Script(_)) => {
            if let Some(interpreter) = interpreter
                && look(interpreter, &mut [0; HEAD_BYTES]) == Some(Program::Unreached)
            {
                note(interpreter, has);
            }
        }
        _ => {}
    }
}

/// Whether a program gains rights by being executed, which it would not if this thread were traced.
fn gains_rights(path: &CStr) -> bool {
    sys::File::open_program(path).is_none_or(|file| file.gains_rights())
}

/// The same for a name that is looked for in the folders of `PATH`, unless it has a slash.
pub(crate) fn note_searched(name: &CStr, has: Has) {
    if name.to_bytes().contains(&b'/') {
        return note(name, has);
    }
    // SAFETY: the C library reads the same variable in the same way for this call.
    let Some(folders) = wanted().and_then(|_| unsafe { variable_in(own_environment(), "PATH") }) else {
        return;
    };
    let mut buffer = [0; PATH_BYTES];
    for folder in folders.to_bytes().split(|&b| b == b':') {
        let folder = if folder.is_empty() { b"." } else { folder };
        if let Some(path) = joined(&[folder, b"/", name.to_bytes()], &mut buffer)
            && sys::File::open_program(path).is_some()
        {
            return note(path, has);
        }
    }
}

/// The same for an open file.
pub(crate) fn note_descriptor(descriptor: i32, has: Has) {
    let mut digits = [0; 10];
    let mut buffer = [0; PATH_BYTES];
    let Some(number) = decimal(descriptor, &mut digits) else { return };
    let Some(path) = joined(&[b"/proc/self/fd/", number], &mut buffer) else { return };
    let mut target = [0; PATH_BYTES];
    if let Ok(1..PATH_BYTES) = sys::read_link(path, &mut target) {
        note(CStr::from_bytes_until_nul(&target).unwrap_or_default(), has);
    }
}

/// The session, if what is started is to be recorded, and it may be looked at.
fn wanted() -> Option<&'static SessionHeader> {
    if confined::is_filtered() || confined::is_strict() {
        return None;
    }
    PROCESS.session_of_line().filter(|session| session.only_pid.load(Ordering::Relaxed) == 0)
}

fn look(path: &CStr, head: &mut [u8; HEAD_BYTES]) -> Option<Program> {
    if is_loader(path.to_bytes()) {
        return None;
    }
    let len = sys::File::open_program(path)?.read(head).ok()?;
    Some(Program::of(head.get(..len)?))
}

/// Puts a path together; `None` if it is too long.
fn joined<'a>(parts: &[&[u8]], buffer: &'a mut [u8; PATH_BYTES]) -> Option<&'a CStr> {
    let mut at = 0;
    for part in parts {
        buffer.get_mut(at..at + part.len())?.copy_from_slice(part);
        at += part.len();
    }
    *buffer.get_mut(at)? = 0;
    CStr::from_bytes_until_nul(buffer).ok()
}

fn decimal(number: i32, digits: &mut [u8; 10]) -> Option<&[u8]> {
    let mut rest = u32::try_from(number).ok()?;
    let mut at = digits.len();
    loop {
        at -= 1;
        *digits.get_mut(at)? = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return digits.get(at..);
        }
    }
}

/// Leaves a name in a list of the session, if it is not there.
fn publish(list: &ProgramNames, name: &[u8]) {
    list.count.fetch_add(1, Ordering::Relaxed);
    for place in &list.names {
        let name = name.get(..name.len().min(place.bytes.len())).unwrap_or_default();
        let taken = place.len.compare_exchange(0, NAME_IN_THE_MAKING, Ordering::Acquire, Ordering::Acquire);
        match taken {
            Ok(_) => {
                place.bytes.iter().zip(name).for_each(|(to, &from)| to.store(from, Ordering::Relaxed));
                return place.len.store(name.len() as u32, Ordering::Release);
            }
            Err(len) if len as usize == name.len() && has(place, name) => return,
            Err(_) => {}
        }
    }
}

fn has(place: &ProgramName, name: &[u8]) -> bool {
    place.bytes.iter().zip(name).all(|(there, &here)| there.load(Ordering::Relaxed) == here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_whether_a_program_has_a_loader() {
        let own = std::fs::read("/proc/self/exe").expect("our file");
        assert_eq!(Program::of(&own[..HEAD_BYTES]), Program::Reached);
        // The same file with its interpreter's entry made into one of no meaning.
        let mut without = own[..HEAD_BYTES].to_vec();
        let table = u64::from_le_bytes(without[32..40].try_into().expect("eight bytes")) as usize;
        for at in (table..).step_by(56).take(usize::from(without[56])) {
            if without[at] == 3 {
                without[at] = 0;
            }
        }
        assert_eq!(Program::of(&without), Program::Unreached);
        assert_eq!(Program::of(&without[..table + 60]), Program::Reached, "more than was read is not known");
        for at in 0..64 {
            let mut odd = without.clone();
            odd[at] ^= 0xff;
            let _ = Program::of(&odd);
        }
    }

    #[test]
    fn a_script_leads_to_its_interpreter() {
        let interpreter = |line: &[u8]| match Program::of(line) {
            Program::Script(range) => String::from_utf8_lossy(&line[range]).into_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(interpreter(b"#!/bin/sh\necho"), "/bin/sh");
        assert_eq!(interpreter(b"#! /usr/bin/env python3\n"), "/usr/bin/env");
        assert_eq!(interpreter(b"#!"), "");
        assert_eq!(interpreter(b"echo"), "Reached");
    }

    #[test]
    fn paths_are_put_together_as_far_as_there_is_room() {
        let mut buffer = [0; PATH_BYTES];
        assert_eq!(joined(&[b"/bin", b"/", b"true"], &mut buffer), Some(c"/bin/true"));
        assert_eq!(joined(&[&[b'x'; PATH_BYTES]], &mut buffer), None);
        assert_eq!(decimal(0, &mut [0; 10]), Some(&b"0"[..]));
        assert_eq!(decimal(i32::MAX, &mut [0; 10]), Some(&b"2147483647"[..]));
        assert_eq!(decimal(-100, &mut [0; 10]), None);
    }

    #[test]
    fn each_name_is_left_once() {
        // SAFETY: all zeroes are a valid header, which consists of atomics.
        let session: Box<SessionHeader> = Box::new(unsafe { core::mem::zeroed() });
        (0..3).for_each(|_| publish(&session.unreached, b"/a/first"));
        publish(&session.unreached, b"/a/second");
        publish(&session.unreached, &[b'x'; 1000]);
        publish(&session.unreached, &[b'x'; 1000]);
        let lens = session.unreached.names.each_ref().map(|place| place.len.load(Ordering::Relaxed));
        assert_eq!(lens[..4], [8, 9, 252, 0]);
        assert_eq!(session.unreached.count.load(Ordering::Relaxed), 6);
        (0..100u8).for_each(|n| publish(&session.unreached, &[b'/', n]));
        assert!(session.unreached.names.iter().all(|place| place.len.load(Ordering::Relaxed) > 0));
    }
}
