// victim: reads a mailbox in JSON whose subjects can be borrowed and whose bodies cannot, since they have line breaks; flags:
//! Counts the lines of the letters that are about some subject.

use serde::Deserialize;
use std::borrow::Cow;

const LETTERS: u32 = 8_000;

#[derive(Deserialize)]
struct Mailbox<'json> {
    #[serde(borrow)]
    letters: Vec<Letter<'json>>,
}

#[derive(Deserialize)] // here: escaped-values
struct Letter<'json> {
    #[serde(borrow)]
    subject: Cow<'json, str>,
    #[serde(borrow)]
    body: Cow<'json, str>,
}

fn main() {
    let json = mailbox();
    let mailbox: Mailbox<'_> = serde_json::from_str(&json).expect("it is a mailbox");
    let wanted = mailbox.letters.iter().filter(|letter| letter.subject.contains("harvest"));
    let (letters, lines) =
        wanted.fold((0, 0), |(letters, lines), letter| (letters + 1, lines + letter.body.lines().count()));
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
