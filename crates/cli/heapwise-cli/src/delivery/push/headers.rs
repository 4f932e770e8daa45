//! `--push-headers`: what each request says of who sends it.
//!
//! Tokens are in a file and nowhere else: all users of a machine see command lines, and children inherit environments. It is read for every
//! request, since tokens of services are replaced while they run.

use anyhow::{Context, anyhow};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use ureq::http::{HeaderName, HeaderValue};

const MOST_BYTES: u64 = 64 << 10;
/// Those that describe what is sent.
const OURS: [&str; 5] = ["host", "content-type", "content-encoding", "content-length", "transfer-encoding"];

/// Reads a file with a header in each line.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<(HeaderName, HeaderValue)>> {
    let name = || {
        format!(
            "cannot read the headers in {}, a file with lines such as `Authorization: Bearer TOKEN`",
            path.display()
        )
    };
    let mut text = String::new();
    let file = File::open(path).with_context(name)?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).with_context(name)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(anyhow!("{}: headers have {MOST_BYTES} bytes at most", path.display()));
    }
    parse(&text).map_err(|line| {
        // What is in the line may be secret.
        anyhow!(
            "{}, line {line}: a header is written as `Name: value`, and not one of {}",
            path.display(),
            OURS.join(", ")
        )
    })
}

/// The headers, or the number of the line that is none.
fn parse(text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, usize> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let headers = lines.map(|(number, line)| {
        let (name, value) = line.split_once(':').ok_or(number)?;
        let name: HeaderName = name.trim().parse().map_err(|_| number)?;
        let mut value: HeaderValue = value.trim().parse().map_err(|_| number)?;
        value.set_sensitive(true);
        if OURS.contains(&name.as_str()) { Err(number) } else { Ok((name, value)) }
    });
    headers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_header() {
        let headers = parse("# of the shop\nAuthorization: Bearer a:b\n\n X-Scope-OrgID : 7\n")
            .expect("they are sound");
        let text: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("text"))).collect();
        assert_eq!(text, [("authorization", "Bearer a:b"), ("x-scope-orgid", "7")]);
        assert!(headers.iter().all(|(_, value)| value.is_sensitive()));
    }

    #[test]
    fn what_is_no_header_is_named_by_its_line() {
        for (text, line) in [("token", 1), ("A: b\na b: c", 2), ("A: \u{1}", 1), ("Content-Length: 3", 1)] {
            assert_eq!(parse(text).expect_err("it is none"), line, "{text:?}");
        }
    }
}
