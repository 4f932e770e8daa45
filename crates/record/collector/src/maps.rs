//! Lines of `/proc/PID/maps`.

use std::ops::Range;

/// One line: a mapping of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) range: Range<u64>,
    pub(crate) shared: bool,
    pub(crate) executable: bool,
    pub(crate) writable: bool,
    /// Nothing may be done with it: a guard, or address space for later.
    pub(crate) closed: bool,
    /// Where in the file it begins.
    pub(crate) offset: u64,
    /// Major and minor number of the file's device.
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
    pub(crate) name: &'a str,
}

impl Line<'_> {
    /// The part of the file that is mapped.
    pub(crate) fn in_file(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.range.end - self.range.start)
    }
}

/// Parses a line; `None` if it is malformed.
pub(crate) fn line(text: &str) -> Option<Line<'_>> {
    // `start-end rwxp offset device inode   name`; the name may hold anything but a line end.
    let mut fields = text.splitn(6, ' ');
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = fields.next()?.split_once('-')?;
    let range = hex(start)?..hex(end)?;
    let permissions = fields.next()?;
    let offset = hex(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    let device = (number(major)?, number(minor)?);
    let inode = fields.next()?.parse().ok()?;
    let name = fields.next().unwrap_or_default().trim_start();
    if range.start > range.end {
        return None;
    }
    let (shared, executable) = (permissions.ends_with('s'), permissions.contains('x'));
    let closed = permissions.starts_with("---");
    let writable = permissions.contains('w');
    Some(Line { range, shared, executable, writable, closed, offset, device, inode, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_read_whatever_the_name() {
        let heap = line("55d0c0a00000-55d0c0a21000 rw-p 00000000 00:00 0                          [heap]");
        let expected = Line {
            range: 0x55d0_c0a0_0000..0x55d0_c0a2_1000,
            shared: false,
            executable: false,
            writable: true,
            closed: false,
            offset: 0,
            device: (0, 0),
            inode: 0,
            name: "[heap]",
        };
        assert_eq!(heap, Some(expected));
        let file =
            line("7f00-7f01 r-xs 00001000 fd:01 1234   /a file  with spaces (deleted)").expect("a line");
        assert_eq!((file.shared, file.inode, file.name), (true, 1234, "/a file  with spaces (deleted)"));
        assert_eq!((file.device, file.in_file(), file.executable), ((0xfd, 1), 0x1000..0x1001, true));
        assert_eq!(line("7f00-7f01 rw-p 00000000 00:00 0 ").map(|l| l.name), Some(""));
        assert!(line("7f00-7f01 ---p 00000000 00:00 0 ").is_some_and(|l| l.closed));
        assert_eq!(line("nonsense"), None);
        assert_eq!(line("7f01-7f00 rw-p 00000000 00:00 0 "), None, "it ends before it begins");
    }
}
