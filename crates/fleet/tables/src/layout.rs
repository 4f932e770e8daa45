//! Where the rows of a recording lie: `TABLE/date=YYYY-MM-DD/service=NAME/RECORDING.parquet`, as engines with partitions expect it.

use crate::id::Id;
use crate::labels::Labels;
use std::fmt::Write;

/// The folder of the log, which says what is in compacted files. Engines that look for files of a table do not look into it.
pub const LOG: &str = "_heapwise/log";
/// No entry of the log has more bytes: a million recordings have 35 MB.
pub const MOST_LOG_BYTES: u64 = 256 << 20;

/// The number of an entry of the log, from the name of its file: `NNNNNNNNNN.json`. The one with the highest number counts.
pub fn log_entry(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".json")?;
    let is_number = number.len() == LOG_DIGITS && number.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { number.parse().ok() } else { None }
}

/// The name of the file of an entry of the log.
pub fn log_name(number: u64) -> String {
    format!("{number:0LOG_DIGITS$}.json")
}

const LOG_DIGITS: usize = 10;

/// The name of the file, below the folder of all tables.
pub(crate) fn name(table: &str, started_unix_ns: u64, labels: &Labels, recording: Id) -> String {
    let (date, service) = (date(started_unix_ns), escaped(&labels.service));
    format!("{table}/date={date}/service={service}/{recording}.parquet")
}

/// The day in UTC, such as `2026-11-26`.
fn date(unix_ns: u64) -> String {
    let seconds = i64::try_from(unix_ns / 1_000_000_000).unwrap_or(i64::MAX);
    // No 64-bit number of nanoseconds is beyond the year 2554.
    let date = chrono::DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    date.format("%Y-%m-%d").to_string()
}

/// A name as a part of a path: whatever is no plain character is `%` and two digits for each byte, so that no name leads elsewhere. A
/// long one is cut between two characters, and ends with the id of the whole.
pub fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (at, character) in name.char_indices() {
        let before = text.len();
        let is_plain =
            character.is_ascii_alphanumeric() || matches!(character, '-' | '_') || character == '.' && at > 0;
        if is_plain {
            text.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing into a string cannot fail.
                let _ = write!(text, "%{byte:02X}");
            }
        }
        if text.len() > MOST_BYTES {
            text.truncate(before);
            return marked(text, name);
        }
    }
    // Engines read it as no name at all.
    if name == NO_NAME { marked(text, name) } else { text }
}

fn marked(text: String, name: &str) -> String {
    format!("{text}-{}", Id::of(&[name.as_bytes()]))
}

/// Of the name of a service in a path, before its mark. A folder's name has at most 255 bytes on all file systems, `service=` among them.
const MOST_BYTES: usize = 200;
/// What engines call a partition without a name.
const NO_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_log_are_in_the_order_of_their_names() {
        for number in [0, 1, 9_999_999_999] {
            assert_eq!(log_entry(&log_name(number)), Some(number));
        }
        assert!(log_name(9) < log_name(10));
        for other in ["notes.json", "1.json", "0000000001.json#1", "+000000001.json", ""] {
            assert_eq!(log_entry(other), None, "{other}");
        }
    }

    #[test]
    fn a_day_is_that_of_utc() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(1_795_651_199_999_999_999), "2026-11-25");
        assert_eq!(date(u64::MAX), "2554-07-21");
    }

    #[test]
    fn no_name_leads_elsewhere() {
        assert_eq!(escaped("api-v1.2_x"), "api-v1.2_x");
        assert_eq!(escaped("../../etc"), "%2E.%2F..%2Fetc");
        assert_eq!(escaped(".hidden"), "%2Ehidden");
        assert_eq!(escaped("a=b/c%d\n\u{e9}"), "a%3Db%2Fc%25d%0A%C3%A9");
        let (long, longer) = (escaped(&"/".repeat(4000)), escaped(&"/".repeat(4001)));
        assert!(long.len() <= 255 - "service=".len() && long != longer, "{long}");
        assert_ne!(escaped(NO_NAME), NO_NAME);
    }

    #[test]
    fn what_is_cut_is_still_text() {
        for name in ["日本語".repeat(20), "é".repeat(100), "a".repeat(300)] {
            let text = escaped(&name);
            assert!(text.len() <= 255 - "service=".len(), "{text}");
            let mut bytes = Vec::new();
            let mut rest = text.as_str();
            while let Some(first) = rest.chars().next() {
                let len = if first == '%' { 3 } else { 1 };
                let (part, others) = rest.split_at(len);
                bytes.push(match first {
                    '%' => u8::from_str_radix(&part[1..], 16).expect("two digits"),
                    plain => plain as u8,
                });
                rest = others;
            }
            assert!(String::from_utf8(bytes).is_ok(), "{text}");
        }
    }
}
