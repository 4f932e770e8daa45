//! Where the rows of a recording lie: `TABLE/date=YYYY-MM-DD/service=NAME/RECORDING.parquet`, as engines with partitions expect it.

use crate::id::Id;
use crate::labels::Labels;
use std::fmt::Write;

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

/// A name as a part of a path: whatever is no plain character is `%` and two digits, so that no name leads elsewhere.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || byte == b'.' && at > 0;
        if is_plain {
            text.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    // File systems have no longer names. What is cut off is distinguished by its hash.
    if text.len() > MOST_BYTES {
        let whole = Id::of(&[name.as_bytes()]);
        text.truncate(MOST_BYTES - 33);
        let _ = write!(text, "-{whole}");
    }
    text
}

/// Of the name of a service in a path. A folder's name has at most 255 bytes on all file systems, `service=` among them.
const MOST_BYTES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(long.len() <= MOST_BYTES && long != longer, "{long}");
    }
}
