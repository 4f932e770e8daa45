//! What is mapped where, from `/proc/self/maps`: for the rare questions that the loader cannot answer.

use super::File;

/// A line of the list of mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// First address.
    pub start: usize,
    /// First address behind.
    pub end: usize,
    /// Whether it may be executed.
    pub executable: bool,
    /// Where in the file it begins.
    pub offset: usize,
    /// The file's inode, 0 for anonymous memory.
    pub inode: usize,
    /// The file's path, cut to what fits.
    pub path: &'a [u8],
}

/// Longest line that is kept: the numbers and most of a path. The caller may have little stack left.
const LINE: usize = 512;

/// Visits all mappings in ascending order, until `visit` returns false.
fn for_each(mut visit: impl FnMut(&Mapping<'_>) -> bool) -> Option<()> {
    let file = File::open(c"/proc/self/maps").ok()?;
    let mut piece = [0u8; 512];
    let mut line = [0u8; LINE];
    let mut len = 0;
    loop {
        let n = file.read(&mut piece).ok()?;
        if n == 0 {
            return Some(());
        }
        for &byte in piece.get(..n)? {
            if byte != b'\n' {
                if let Some(place) = line.get_mut(len) {
                    *place = byte;
                    len += 1;
                }
                continue;
            }
            if let Some(mapping) = parse(&line[..len])
                && !visit(&mapping)
            {
                return Some(());
            }
            len = 0;
        }
    }
}

/// `start-end perms offset device inode path`, numbers in hexadecimal but for the inode.
fn parse(line: &[u8]) -> Option<Mapping<'_>> {
    let mut fields = line.splitn(6, |&b| b == b' ');
    let mut range = fields.next()?.split(|&b| b == b'-');
    let (start, end) = (number(range.next()?, 16)?, number(range.next()?, 16)?);
    let executable = fields.next()?.get(2) == Some(&b'x');
    let offset = number(fields.next()?, 16)?;
    let inode = number(fields.nth(1)?, 10)?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    Some(Mapping { start, end, executable, offset, inode, path })
}

fn number(digits: &[u8], radix: u32) -> Option<usize> {
    digits.iter().try_fold(0usize, |value, &b| {
        let digit = (b as char).to_digit(radix)?;
        value.checked_mul(radix as usize)?.checked_add(digit as usize)
    })
}

/// The bounds of the mapping that holds an address.
pub fn mapping_of(address: usize) -> Option<(usize, usize)> {
    let mut found = None;
    for_each(|m| {
        if m.start <= address && address < m.end {
            found = Some((m.start, m.end));
        }
        found.is_none()
    })?;
    found
}

/// Where the first mapping of a file begins, at an address or behind it, that may be executed.
pub fn next_code(from: usize) -> Option<usize> {
    let mut found = None;
    for_each(|m| {
        if m.start >= from && m.executable && m.inode != 0 {
            found = Some(m.start);
        }
        found.is_none()
    })?;
    found
}

/// What kind of code an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Part of an object file that is mapped from here to there.
    Object {
        /// Where the file's first byte is mapped.
        start: usize,
        /// First address behind its last part.
        end: usize,
    },
    /// Memory that the program has filled with code itself.
    Made {
        /// First address.
        start: usize,
        /// First address behind.
        end: usize,
    },
}

/// What kind of code an address is; `None` if it is not code. `path` receives the object's path, its length is returned.
pub fn code_at(address: usize, path: &mut [u8]) -> Option<(Code, usize)> {
    let (mut object, mut found, mut path_len) = ((0, 0), None, 0);
    // Just-in-time compilers reserve a range and change the permissions of its parts: the whole range counts.
    let mut run = (0, 0);
    for_each(|m| {
        if let Some(Code::Made { end, .. }) = &mut found {
            let goes_on = m.inode == 0 && m.start == *end;
            *end = if goes_on { m.end } else { *end };
            return goes_on;
        }
        if m.inode != 0 || m.start != run.1 {
            run.0 = m.start;
        }
        run.1 = m.end;
        if let Some(Code::Object { end, .. }) = &mut found {
            if m.inode != object.1 {
                return false;
            }
            *end = m.end;
            return true;
        }
        if m.inode != 0 && m.offset == 0 {
            object = (m.start, m.inode);
        }
        if !(m.start <= address && address < m.end) {
            return m.start <= address;
        }
        if !m.executable {
            return false;
        }
        if m.inode != 0 && m.inode == object.1 {
            path_len = m.path.len().min(path.len());
            path[..path_len].copy_from_slice(&m.path[..path_len]);
            found = Some(Code::Object { start: object.0, end: m.end });
            return true;
        }
        found = Some(Code::Made { start: run.0, end: m.end });
        true
    })?;
    Some((found?, path_len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let line = b"7f0000001000-7f0000003000 r-xp 00001000 fe:00 4711    /usr/lib/a b.so";
        let mapping = parse(line).expect("a line of the kernel's");
        assert_eq!((mapping.start, mapping.end), (0x7f00_0000_1000, 0x7f00_0000_3000));
        assert_eq!((mapping.executable, mapping.offset, mapping.inode), (true, 0x1000, 4711));
        assert_eq!(mapping.path, b"/usr/lib/a b.so");
        let stack = parse(b"7ffc0000-7ffd0000 rw-p 00000000 00:00 0                          [stack]");
        assert_eq!(stack.map(|m| (m.inode, m.executable)), Some((0, false)));
        assert_eq!(parse(b"garbage"), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn this_function_is_code_of_this_executable() {
        let mut path = [0; 512];
        let here = code_at as *const () as usize;
        let (code, len) = code_at(here, &mut path).expect("this is code");
        let Code::Object { start, end } = code else { panic!("{code:?}") };
        assert!(start < here && here < end);
        let exe = std::env::current_exe().expect("this program has a path");
        assert_eq!(core::str::from_utf8(&path[..len]), Ok(exe.to_str().expect("in plain letters")));
        let local = 0u8;
        assert_eq!(code_at(&raw const local as usize, &mut path), None);
    }
}
