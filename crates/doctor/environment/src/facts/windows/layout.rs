//! Where a process of 64 bits has what we look for.
//!
//! None of it is a promise of Microsoft's, all of it has been so since Windows Vista, and debuggers rely on it. The heap's
//! signature is checked, so that another layout is noticed and not misread.
//!
//! Whatever reads memory is handed in: the same code looks at this process, at another one, and in tests at a made-up one.

#![cfg_attr(not(any(windows, test)), expect(dead_code, reason = "for Windows"))]

use super::NT_GLOBAL_FLAG;

/// In the process environment block.
const BEING_DEBUGGED: u64 = 0x02;
const PROCESS_PARAMETERS: u64 = 0x20;
const PROCESS_HEAP: u64 = 0x30;

/// In a heap's header, which is that of its first segment.
const SEGMENT_SIGNATURE: u64 = 0x10;
const FLAGS: u64 = 0x70;
const FORCE_FLAGS: u64 = 0x74;
/// What is at [`SEGMENT_SIGNATURE`]: a heap of the NT kind. A segment heap has another one, and no debug heap.
const NT_HEAP: u32 = 0xFFEE_FFEE;

/// In the process parameters.
const ENVIRONMENT: u64 = 0x80;
const ENVIRONMENT_SIZE: u64 = 0x3F0;
/// Windows bounds a variable at 32,767 characters and the block not at all; this much is read of it.
const MOST_ENVIRONMENT: u64 = 1 << 20;

/// The values of the block and the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) being_debugged: Option<bool>,
    pub(super) nt_global_flag: Option<u32>,
    pub(super) heap_flags: Option<u32>,
    pub(super) force_flags: Option<u32>,
}

/// Reads so many bytes at an address, or nothing.
pub(super) type Memory<'a> = &'a dyn Fn(u64, usize) -> Option<Vec<u8>>;

/// The flags of the process whose environment block is at `peb`.
pub(super) fn flags(peb: u64, memory: Memory<'_>) -> Flags {
    let heap = number(memory, peb + PROCESS_HEAP).filter(|heap| *heap != 0);
    let heap = heap.filter(|heap| word(memory, heap + SEGMENT_SIGNATURE) == Some(NT_HEAP));
    Flags {
        being_debugged: memory(peb + BEING_DEBUGGED, 1).map(|byte| byte[0] != 0),
        nt_global_flag: word(memory, peb + NT_GLOBAL_FLAG),
        heap_flags: heap.and_then(|heap| word(memory, heap + FLAGS)),
        force_flags: heap.and_then(|heap| word(memory, heap + FORCE_FLAGS)),
    }
}

/// The current environment of that process: names and values.
pub(super) fn environment(peb: u64, memory: Memory<'_>) -> Vec<(String, String)> {
    let block = || {
        let parameters = number(memory, peb + PROCESS_PARAMETERS)?;
        let size = number(memory, parameters + ENVIRONMENT_SIZE)?.min(MOST_ENVIRONMENT);
        memory(number(memory, parameters + ENVIRONMENT)?, size as usize)
    };
    let bytes = block().unwrap_or_default();
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let lines = units.split(|unit| *unit == 0).take_while(|line| !line.is_empty());
    let text = lines.map(String::from_utf16_lossy);
    // The current folders of drives are kept in variables that begin with =.
    text.filter_map(|line| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

fn word(memory: Memory<'_>, at: u64) -> Option<u32> {
    memory(at, 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn number(memory: Memory<'_>, at: u64) -> Option<u64> {
    memory(at, 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEB: u64 = 0x1000;
    const HEAP: u64 = 0x2000;
    const PARAMETERS: u64 = 0x3000;

    /// A process of 16 KiB, from address 0.
    struct Made(Vec<u8>);

    impl Made {
        fn new() -> Self {
            let mut made = Self(vec![0; 0x4000]);
            made.put(PEB + PROCESS_HEAP, &HEAP.to_le_bytes());
            made.put(HEAP + SEGMENT_SIGNATURE, &NT_HEAP.to_le_bytes());
            made
        }

        fn put(&mut self, at: u64, bytes: &[u8]) {
            self.0[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        }

        fn read(&self, at: u64, size: usize) -> Option<Vec<u8>> {
            let start = usize::try_from(at).ok()?;
            self.0.get(start..start.checked_add(size)?).map(<[u8]>::to_vec)
        }
    }

    #[test]
    fn flags_are_where_windows_has_them() {
        let mut made = Made::new();
        made.put(PEB + 2, &[1]);
        made.put(PEB + 0xBC, &0x70_u32.to_le_bytes());
        made.put(HEAP + 0x70, &0x4000_0062_u32.to_le_bytes());
        made.put(HEAP + 0x74, &0x4000_0060_u32.to_le_bytes());
        let expected = Flags {
            being_debugged: Some(true),
            nt_global_flag: Some(0x70),
            heap_flags: Some(0x4000_0062),
            force_flags: Some(0x4000_0060),
        };
        assert_eq!(flags(PEB, &|at, size| made.read(at, size)), expected);
    }

    #[test]
    fn a_heap_of_another_kind_and_one_that_is_not_there_yet_say_nothing() {
        let mut made = Made::new();
        made.put(HEAP + SEGMENT_SIGNATURE, &0xDDEE_DDEE_u32.to_le_bytes());
        let read = flags(PEB, &|at, size| made.read(at, size));
        assert_eq!((read.force_flags, read.nt_global_flag), (None, Some(0)));
        made.put(PEB + PROCESS_HEAP, &0_u64.to_le_bytes());
        assert_eq!(flags(PEB, &|at, size| made.read(at, size)).heap_flags, None);
        assert_eq!(flags(u64::from(u32::MAX), &|at, size| made.read(at, size)), Flags::default());
    }

    #[test]
    fn the_environment_ends_at_an_empty_string() {
        let mut made = Made::new();
        let text: Vec<u8> =
            "=C:=C:\\x\0_NO_DEBUG_HEAP=1\0A=b=c\0\0Z=z\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        made.put(PEB + PROCESS_PARAMETERS, &PARAMETERS.to_le_bytes());
        made.put(PARAMETERS + ENVIRONMENT, &0x3800_u64.to_le_bytes());
        made.put(PARAMETERS + ENVIRONMENT_SIZE, &(text.len() as u64).to_le_bytes());
        made.put(0x3800, &text);
        let found = environment(PEB, &|at, size| made.read(at, size));
        assert_eq!(found, [("_NO_DEBUG_HEAP", "1"), ("A", "b=c")].map(|(n, v)| (n.to_owned(), v.to_owned())));
        made.put(PARAMETERS + ENVIRONMENT, &u64::MAX.to_le_bytes());
        assert_eq!(environment(PEB, &|at, size| made.read(at, size)), []);
    }
}
