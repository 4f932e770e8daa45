//! Which lines of a file are shown: those around the lines that allocate.

use std::ops::RangeInclusive;

/// Ranges of lines, ascending, with `around` lines before and after each of `lines`, which are ascending. What touches is one range.
pub(crate) fn regions(lines: impl Iterator<Item = u32>, around: u32, last: u32) -> Vec<RangeInclusive<u32>> {
    let mut found: Vec<RangeInclusive<u32>> = Vec::new();
    for line in lines {
        let range = line.saturating_sub(around).max(1)..=line.saturating_add(around).min(last);
        match found.last_mut() {
            // A gap of one line would take as much room as the line.
            Some(before) if *range.start() <= before.end().saturating_add(2) => {
                *before = *before.start()..=*range.end().max(before.end());
            }
            _ => found.push(range),
        }
    }
    found.retain(|range| !range.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_others_around_them_and_no_line_is_there_twice() {
        let of = |lines: &[u32], last| regions(lines.iter().copied(), 3, last);
        assert_eq!(of(&[10], 100), [7..=13]);
        assert_eq!(of(&[1, 99], 100), [1..=4, 96..=100]);
        assert_eq!(of(&[10, 14, 21], 100), [7..=24]);
        assert_eq!(of(&[10, 18], 100), [7..=21], "one line is no gap");
        assert_eq!(of(&[10, 19], 100), [7..=13, 16..=22]);
        assert!(of(&[], 100).is_empty());
        assert!(of(&[10], 5).is_empty(), "the file has no such line");
    }
}
