//! Keys below `HKEY_LOCAL_MACHINE`, for reading.

use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Registry::{
    HKEY, HKEY_LOCAL_MACHINE, KEY_QUERY_VALUE, KEY_WOW64_32KEY, KEY_WOW64_64KEY, REG_DWORD, REG_SZ,
    RegCloseKey, RegOpenKeyExW, RegQueryValueExW,
};

/// Programs of 32 bits are shown other keys than those of 64.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {
    Bits64,
    Bits32,
}

pub(crate) struct Key(HKEY);

impl Key {
    pub(crate) fn open(path: &str, view: View) -> Option<Self> {
        let access = match view {
            View::Bits64 => KEY_WOW64_64KEY,
            View::Bits32 => KEY_WOW64_32KEY,
        };
        let path = wide(path);
        let mut key: HKEY = std::ptr::null_mut();
        // SAFETY: the path ends with zero, and the handle is written to a place of ours.
        let result = unsafe {
            RegOpenKeyExW(HKEY_LOCAL_MACHINE, path.as_ptr(), 0, KEY_QUERY_VALUE | access, &mut key)
        };
        (result == ERROR_SUCCESS).then_some(Self(key))
    }

    /// A value that is a number. As the loader does, a text is read as one: that is what `gflags` writes.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        match self.value(name)? {
            (REG_DWORD, bytes) => bytes.try_into().ok().map(u32::from_le_bytes),
            (REG_SZ, bytes) => crate::no_debug_heap::ntdll_integer(&text(&bytes)),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.value(name).filter(|(kind, _)| *kind == REG_SZ).map(|(_, bytes)| text(&bytes))
    }

    fn value(&self, name: &str) -> Option<(u32, Vec<u8>)> {
        let name = wide(name);
        let mut bytes = vec![0_u8; 1024];
        let (mut kind, mut size) = (0, bytes.len() as u32);
        // SAFETY: the key is open, the name ends with zero, and the size is that of the buffer.
        let result = unsafe {
            RegQueryValueExW(
                self.0,
                name.as_ptr(),
                std::ptr::null(),
                &mut kind,
                bytes.as_mut_ptr(),
                &mut size,
            )
        };
        bytes.truncate(size as usize);
        (result == ERROR_SUCCESS).then_some((kind, bytes))
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: it was opened here and is closed once.
        unsafe { RegCloseKey(self.0) };
    }
}

fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

fn text(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_what_is_absent_is_not() {
        let key = Key::open(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion", View::Bits64)
            .expect("it is everywhere");
        assert!(key.text("CurrentVersion").is_some_and(|version| version.contains('.')));
        assert_eq!((key.number("No such value"), key.number("CurrentVersion").is_some()), (None, true));
        assert!(Key::open(r"SOFTWARE\No such key", View::Bits32).is_none());
    }

    /// What ntdll itself says: Windows' own, or Wine's.
    #[test]
    fn the_system_reads_numbers_in_the_same_way() {
        use crate::no_debug_heap::ntdll_integer;
        use crate::no_debug_heap::tests::{DOES, DOES_NOT};
        use windows_sys::Win32::Foundation::UNICODE_STRING;
        #[link(name = "ntdll")]
        unsafe extern "system" {
            fn RtlUnicodeStringToInteger(text: *const UNICODE_STRING, base: u32, number: *mut u32) -> i32;
        }
        for value in DOES.iter().chain(DOES_NOT) {
            let mut units: Vec<u16> = value.encode_utf16().collect();
            let bytes = (units.len() * 2) as u16;
            let text = UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: units.as_mut_ptr() };
            let mut number = 0;
            // SAFETY: the text is as long as it says, and the number is written to a place of ours.
            let status = unsafe { RtlUnicodeStringToInteger(&text, 0, &mut number) };
            let of_ntdll = if status == 0 { number } else { 0 };
            assert_eq!(ntdll_integer(value).unwrap_or(0), of_ntdll, "{value:?}");
        }
    }
}
