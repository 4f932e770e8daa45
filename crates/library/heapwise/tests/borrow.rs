//! What serde_json borrows, and what it does not.

use heapwise::BorrowReport;
use heapwise::borrow::Mode;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[derive(Deserialize, BorrowReport)]
struct Document<'json> {
    title: &'json str,
    #[serde(borrow)]
    entries: Vec<Entry<'json>>,
    #[serde(borrow)]
    by_name: BTreeMap<&'json str, Cow<'json, str>>,
    #[serde(borrow)]
    shape: Shape<'json>,
    #[serde(borrow, default)]
    nickname: Option<Cow<'json, str>>,
    year: u32,
}

#[derive(Deserialize, BorrowReport)]
struct Entry<'json> {
    #[serde(borrow)]
    author: Cow<'json, str>,
    #[serde(borrow)]
    #[borrow_report(with = RawValue::get)]
    raw: &'json RawValue,
    owned: String,
    #[borrow_report(skip)]
    value: serde_json::Value,
}

#[derive(Deserialize, BorrowReport)]
enum Shape<'json> {
    Named {
        #[serde(borrow)]
        name: Cow<'json, str>,
    },
    Path(#[serde(borrow)] &'json Path),
    Pair(u8, String),
    Nothing,
}

const JSON: &str = r#"{
    "title": "Poems", "year": 1999, "nickname": "Nick", "shape": {"Named": {"name": "circle"}},
    "by_name": {"a": "b", "c": "d\te"},
    "entries": [
        {"author": "Ana", "raw": {"a": [1]}, "owned": "x", "value": 1},
        {"author": "Ben\n", "raw": "text", "owned": "", "value": 1}
    ]
}"#;

fn message_of(code: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(code)).expect_err("it has to panic");
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => (*panic.downcast::<&str>().expect("it is text")).to_owned(),
    }
}

#[test]
fn a_document_with_everything() {
    let document: Document<'_> = serde_json::from_str(JSON).expect("it is one");
    let report = document.borrow_report(JSON);
    let lines: Vec<String> = report.fields().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "title: borrowed 1 of 1",
            "entries[].author: borrowed 1 of 2, owned 1 of 2",
            "entries[].raw: borrowed 2 of 2",
            "entries[].owned: owned 1 of 2, empty 1 of 2",
            "by_name{key}: borrowed 2 of 2",
            // As in a Vec.
            "by_name{}: owned 2 of 2",
            "shape.Named.name: borrowed 1 of 1",
            // As in a Vec.
            "nickname: owned 1 of 1",
        ]
    );
    report.assert_borrowed("title").assert_borrowed("entries[].raw").assert_owned("nickname");
    assert_eq!(report.field("entries[].author").map(|field| field.mode()), Some(Mode::Mixed));
}

#[test]
fn failures_say_how_many_and_why() {
    let document: Document<'_> = serde_json::from_str(JSON).expect("it is one");
    let report = document.borrow_report(JSON);
    let message = message_of(|| drop(report.assert_borrowed("entries[].author").clone()));
    assert_eq!(
        message,
        "entries[].author: borrowed 1 of 2, owned 1 of 2: the input does not have \"Ben\\n\" as it stands, so it had to be made"
    );
    let message = message_of(|| drop(report.assert_borrowed("nickname").clone()));
    assert!(message.ends_with("the input has \"Nick\" as it stands, so it could be borrowed"), "{message}");
    let message = message_of(|| drop(report.assert_borrowed("entries[].auther").clone()));
    assert!(
        message.starts_with("there is no value at `entries[].auther`; there are some at: title, "),
        "{message}"
    );
    let message = message_of(|| drop(report.assert_owned("title").clone()));
    assert_eq!(message, "title: borrowed 1 of 1: expected to be owned");
    let message = message_of(|| drop(report.assert_all_borrowed().clone()));
    assert!(
        message.contains("| entries[].author | Some are owned           |        1 |     1 |"),
        "{message}"
    );
    let nothing = Vec::<&str>::new().borrow_report(JSON);
    assert!(message_of(|| drop(nothing.assert_all_borrowed().clone())).contains("nothing to be borrowed"));
    assert!(message_of(|| drop(nothing.assert_borrowed("[]").clone())).contains("there is no value at `[]`"));
    let empty = [String::new()].borrow_report(JSON);
    assert!(message_of(|| drop(empty.assert_borrowed("[]").clone())).contains("nothing was there"));
}

#[test]
fn the_memory_decides_and_not_the_type() {
    let input = String::from("some text of the input");
    let of_input: Cow<'_, str> = Cow::Borrowed(&input[5..9]);
    let of_a_constant: Cow<'_, str> = Cow::Borrowed("text");
    let owned: Cow<'_, str> = Cow::Owned("text".to_owned());
    let report = (of_input, of_a_constant, owned).borrow_report(&input);
    let lines: Vec<String> = report.fields().iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["0: borrowed 1 of 1", "1: borrowed from elsewhere 1 of 1", "2: owned 1 of 1"]);
    // At the ends of the input, and with nothing in it.
    let ends = [&input[..1], &input[input.len() - 1..], &input[input.len()..]].borrow_report(&input);
    assert_eq!(ends.field("[]").map(|field| field.borrowed), Some(3));
    let empty = (String::new(), Cow::<str>::Owned(String::new()), Vec::<u8>::new()).borrow_report(&input);
    assert!(empty.fields().iter().all(|field| field.mode() == Mode::Empty), "{empty}");
}

#[test]
fn bytes_maps_and_containers() {
    let input = b"\xff\x00bytes".as_slice();
    let boxed: Box<[u8]> = input[3..4].into();
    let bytes = (Cow::Borrowed(&input[1..3]), input[..2].to_vec(), &input[2..], boxed);
    let report = bytes.borrow_report(input);
    report.assert_borrowed("0").assert_owned("1").assert_borrowed("2").assert_owned("3");
    assert!(report.field("1").is_some_and(|field| field.input_has_example));
    assert_eq!(report.field("1").map(|field| field.owned_bytes), Some(2));
    let numbers = (vec![1u32, 2], [1u8; 4], HashMap::from([(1, 2.0)]));
    assert_eq!(numbers.borrow_report(input).fields(), []);
    let nested = Box::new(Some(vec![HashMap::from([("k", std::sync::Arc::<str>::from("v"))])]));
    let report = nested.borrow_report(input);
    assert_eq!(report.field("[]{key}").map(|field| field.elsewhere), Some(1));
    report.assert_owned("[]{}");
}

#[test]
fn variants_of_enums_are_distinguished() {
    let input = "a/b";
    let shapes = [Shape::Path(Path::new(input)), Shape::Pair(1, "x".to_owned())];
    let report = shapes.borrow_report(input);
    report.assert_borrowed("[].Path").assert_owned("[].Pair.1");
    assert_eq!(report.fields().len(), 2);
}

#[test]
fn hostile_text_is_spelled_out_and_cut() {
    let text = format!("\x1b[31m{}", "ä".repeat(100));
    let report = text.borrow_report("input").to_string();
    assert!(report.contains("\"\\u{1b}[31m") && !report.contains('\x1b'), "{report}");
    assert!(report.lines().all(|line| line.chars().count() < 150), "{report}");
}
