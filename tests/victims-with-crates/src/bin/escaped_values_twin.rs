// victim: reads a mailbox in JSON and keeps the bodies, which have line breaks, as they are until one is needed; flags:
//! Counts the lines of the letters that are about some subject.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

const LETTERS: u32 = 8_000;

#[derive(Deserialize)]
struct Mailbox<'json> {
    #[serde(borrow)]
    letters: Vec<Letter<'json>>,
}

#[derive(Deserialize)]
struct Letter<'json> {
    #[serde(borrow)]
    subject: Cow<'json, str>,
    #[serde(borrow)]
    body: &'json RawValue,
}

fn main() {
    let json = mailbox();
    let mailbox: Mailbox<'_> = serde_json::from_str(&json).expect("it is a mailbox");
    let wanted = mailbox.letters.iter().filter(|letter| letter.subject.contains("harvest"));
    // Only how many lines there are is asked, and a line that is broken off is an `\n` in the raw text.
    let lines_of = |body: &RawValue| body.get().matches(r"\n").count() + 1;
    let (letters, lines) =
        wanted.fold((0, 0), |(letters, lines), letter| (letters + 1, lines + lines_of(letter.body)));
    println!("{letters} of {} letters, with {lines} lines", mailbox.letters.len());
}

/// The mailbox, as if it had been read from a file.
fn mailbox() -> String {
    use std::fmt::Write;
    let subjects = ["the harvest of this year", "a visit in spring", "the roof of the barn"];
    let mut json = String::with_capacity(LETTERS as usize * 200);
    json.push_str(r#"{"letters":["#);
    for i in 0..LETTERS {
        let comma = if i == 0 { "" } else { "," };
        let subject = subjects[i as usize % subjects.len()];
        write!(json, r#"{comma}{{"subject":"{subject}","body":"Dear friend,\nthis is letter {i}.\n"#)
            .expect("a string can be written to");
        (0..i % 4).for_each(|_| json.push_str(r"It has rained again.\n"));
        json.push_str(r#"Yours, \"Ana\""}"#);
    }
    json.push_str("]}");
    json
}
