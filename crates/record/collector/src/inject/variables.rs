//! Gives a program that was just executed the variables by which it joins: its loader has not run yet, and finds them where the kernel
//! has put its environment.
//!
//! ```text
//! stack pointer → number of arguments, their addresses, 0, the variables' addresses, 0, the auxiliary vector
//! ```
//!
//! All of that moves down to make room for what is new. The texts stay where they are, and so does what the kernel knows of them
//! (`/proc/PID/environ`).

use super::Refused;
use super::tracee::Tracee;
use heapwise_trace::live::layout::SESSION_VARIABLE;

const LIST: &str = "LD_PRELOAD";
/// Words of the auxiliary vector: its end, and whether the loader is to distrust the environment.
const END: u64 = 0;
const IS_SECURE: u64 = 23;

const WORD: usize = size_of::<u64>();
/// Bytes of all tables and texts together. The kernel has mapped 128 KiB below the stack pointer.
const MOST_BYTES: usize = 96 << 10;
/// Bytes of a text that is looked at.
const MOST_TEXT: usize = 32 << 10;
/// The stack pointer is a multiple of it when a program begins.
const ALIGNMENT: u64 = 16;

/// Adds the session, and the library to those that are preloaded: before them.
pub(super) fn add(tracee: &Tracee, session: &str, library: &str) -> Result<(), Refused> {
    let mut registers = tracee.registers()?;
    let old = Start::read(registers.rsp, |at, len| tracee.read(at, len))?;
    if old.is_secure() {
        return Err(Refused::GainsRights);
    }
    let mut texts = Vec::new();
    for &at in &old.variables {
        texts.push(text(tracee, at)?);
    }
    let list = texts.iter().find_map(|text| value(text, LIST)).unwrap_or_default();
    if list.len() + LIST.len() >= MOST_TEXT {
        return Err(Refused::LargeEnvironment);
    }
    let new = [(LIST, with_library(list, library.as_bytes())), (SESSION_VARIABLE, session.into())];
    let places = new.map(|(name, new)| {
        let place = texts.iter().position(|text| value(text, name).is_some());
        (place, [name.as_bytes(), b"=", &*new, b"\0"].concat())
    });
    let (at, bytes) = old.with(registers.rsp, &places).ok_or(Refused::LargeEnvironment)?;
    tracee.write(at, &bytes)?;
    registers.rsp = at;
    tracee.set_registers(registers)
}

/// A list of libraries with this one before the others, unless it is one of them.
fn with_library(list: &[u8], library: &[u8]) -> Vec<u8> {
    if list.split(|byte| b" :".contains(byte)).any(|one| one == library) {
        return list.to_vec();
    }
    let others: &[&[u8]] = if list.is_empty() { &[] } else { &[b":", list] };
    [&[library], others].concat().concat()
}

/// What comes behind the name of a variable.
fn value<'text>(text: &'text [u8], name: &str) -> Option<&'text [u8]> {
    text.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// The text at an address, without what ends it. Of a longer one than is looked at only the beginning.
fn text(tracee: &Tracee, at: u64) -> Result<Vec<u8>, Refused> {
    // Page by page: what lies behind the last text may be no memory.
    let mut text = Vec::new();
    while text.len() < MOST_TEXT {
        let from = at + text.len() as u64;
        let part = tracee.read(from, (4096 - from % 4096) as usize)?;
        if let Some(end) = part.iter().position(|&byte| byte == 0) {
            text.extend_from_slice(&part[..end]);
            break;
        }
        text.extend(part);
    }
    Ok(text)
}

/// What a program finds at its stack pointer when it begins: addresses, and the words of the auxiliary vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Start {
    arguments: Vec<u64>,
    variables: Vec<u64>,
    auxiliary: Vec<[u64; 2]>,
}

impl Start {
    fn read(at: u64, read: impl Fn(u64, usize) -> Result<Vec<u8>, Refused>) -> Result<Self, Refused> {
        let mut next = at;
        let mut word = || {
            if next - at > MOST_BYTES as u64 {
                return Err(Refused::LargeEnvironment);
            }
            let bytes = read(next, WORD)?;
            next += WORD as u64;
            Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
        };
        let count = word()?;
        let mut start = Self::default();
        for list in [&mut start.arguments, &mut start.variables] {
            loop {
                match word()? {
                    0 => break,
                    address => list.push(address),
                }
            }
        }
        if start.arguments.len() as u64 != count {
            return Err(Refused::LargeEnvironment);
        }
        loop {
            let entry = [word()?, word()?];
            start.auxiliary.push(entry);
            if entry[0] == END {
                return Ok(start);
            }
        }
    }

    fn is_secure(&self) -> bool {
        self.auxiliary.iter().any(|&[kind, value]| kind == IS_SECURE && value != 0)
    }

    /// With these texts as variables: in place of one of the old ones, or behind them. Returns the new stack pointer, and what is from there
    /// on up to the old one; `None` if that is too much.
    fn with(mut self, old: u64, texts: &[(Option<usize>, Vec<u8>)]) -> Option<(u64, Vec<u8>)> {
        let of_texts: usize = texts.iter().map(|(_, text)| text.len()).sum();
        let mut at = old.checked_sub(of_texts as u64)?;
        let mut tail = Vec::new();
        for (place, text) in texts {
            match place.and_then(|place| self.variables.get_mut(place)) {
                Some(variable) => *variable = at,
                None => self.variables.push(at),
            }
            at += text.len() as u64;
            tail.extend_from_slice(text);
        }
        let words = [&[self.arguments.len() as u64][..], &self.arguments, &[0], &self.variables, &[0]];
        let words = words.concat().into_iter().chain(self.auxiliary.into_iter().flatten());
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let start = old.checked_sub((bytes.len() + of_texts) as u64)? & !(ALIGNMENT - 1);
        bytes.resize((old - start) as usize - of_texts, 0);
        bytes.extend(tail);
        (bytes.len() <= MOST_BYTES).then_some((start, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece of memory.
    fn reader(at: u64, bytes: Vec<u8>) -> impl Fn(u64, usize) -> Result<Vec<u8>, Refused> {
        move |from, len| {
            let from = (from - at) as usize;
            bytes.get(from..from + len).map(<[u8]>::to_vec).ok_or(Refused::Ended)
        }
    }

    fn start() -> Start {
        Start { arguments: vec![0x9000, 0x9010], variables: vec![0xa000], auxiliary: vec![[6, 4096], [0, 0]] }
    }

    #[test]
    fn variables_are_replaced_or_added_and_all_else_stays() {
        let texts = [(Some(0), b"LD_PRELOAD=/a:/b\0".to_vec()), (None, b"S=/c\0".to_vec())];
        let old = 0x8000;
        let (at, bytes) = start().with(old, &texts).expect("there is room");
        assert_eq!((at % ALIGNMENT, at + bytes.len() as u64), (0, old));
        let read = Start::read(at, reader(at, bytes.clone())).expect("it is whole");
        assert_eq!((&read.arguments, &read.auxiliary), (&start().arguments, &start().auxiliary));
        let texts: Vec<&[u8]> = { read.variables.iter() }
            .map(|&address| {
                bytes[(address - at) as usize..].split(|&byte| byte == 0).next().unwrap_or_default()
            })
            .collect();
        assert_eq!(texts, [&b"LD_PRELOAD=/a:/b"[..], b"S=/c"]);
    }

    #[test]
    fn the_library_comes_before_others_once() {
        let with = |list: &[u8]| with_library(list, b"/own");
        assert_eq!(with(b""), b"/own");
        assert_eq!(with(b"/a:/b"), b"/own:/a:/b");
        assert_eq!(with(b"/a /own"), b"/a /own");
    }

    #[test]
    fn what_is_no_start_or_too_large_is_refused() {
        assert_eq!(start().with(0x80_0000, &[(None, vec![0; MOST_BYTES])]), None);
        assert_eq!(start().with(16, &[(None, vec![0; 100])]), None);
        let (at, bytes) = start().with(0x8000, &[]).expect("there is room");
        for len in 0..bytes.len() {
            assert!(len > bytes.len() - WORD || Start::read(at, reader(at, bytes[..len].to_vec())).is_err());
        }
        let mut other_count = bytes;
        other_count[0] += 1;
        assert!(Start::read(at, reader(at, other_count)).is_err());
        let endless = |_: u64, len: usize| Ok(vec![1; len]);
        assert!(matches!(Start::read(0x8000, endless), Err(Refused::LargeEnvironment)));
        let secure = Start { auxiliary: vec![[IS_SECURE, 1], [0, 0]], ..start() };
        assert!(secure.is_secure() && !start().is_secure());
    }
}
