//! Borrowed or owned: which parts of a value refer to the data that it was read from, and which had to be allocated.
//!
//! A deserializer that can borrow does so where it can, and silently allocates where it cannot. Whether it could depends on
//! escapes in the text and on details of the types, so it is worth a test:
//!
//! ```
//! use heapwise::BorrowReport;
//! use serde::Deserialize;
//! use std::borrow::Cow;
//!
//! #[derive(Deserialize, BorrowReport)]
//! struct Round<'json> {
//!     #[serde(borrow)]
//!     entries: Vec<Entry<'json>>,
//! }
//!
//! #[derive(Deserialize, BorrowReport)]
//! struct Entry<'json> {
//!     #[serde(borrow)]
//!     author: Cow<'json, str>,
//!     #[serde(borrow)]
//!     contents: Cow<'json, str>,
//!     #[serde(borrow)]
//!     tags: Vec<Cow<'json, str>>,
//! }
//!
//! let json = r#"{"entries": [{"author": "Ana", "contents": "one\ntwo", "tags": ["night"]}]}"#;
//! let round: Round = serde_json::from_str(json).unwrap();
//!
//! let report = round.borrow_report(json);
//! report.assert_borrowed("entries[].author");
//! report.assert_owned("entries[].contents");
//! assert_eq!(report.to_string(), r#"
//! | Field              | Deserialization mode     | Borrowed | Owned |
//! |--------------------|--------------------------|---------:|------:|
//! | entries[].author   | Borrowed                 |        1 |     0 |
//! | entries[].contents | Owned (allocates memory) |        0 |     1 |
//! | entries[].tags[]   | Owned (allocates memory) |        0 |     1 |
//!
//! entries[].contents: the input does not have "one\ntwo" as it stands, so it had to be made.
//! entries[].tags[]: the input has "night" as it stands, so it could be borrowed.
//! "#.trim_start());
//! ```
//!
//! # How it is known
//!
//! A part of a value is *borrowed* if its data lies in the memory of the input. That does not depend on the deserializer, and is
//! found for any type that has data, not only for [`Cow`](std::borrow::Cow). Empty texts are not counted as owned if they have no
//! memory. References to anything else, such as a constant, are counted separately.
//!
//! # Why something is owned
//!
//! If the input does not have the text as it stands, the text had escapes, and only a field that keeps the raw form, such as
//! `&RawValue` of serde_json, can borrow it. If it does, the types are in the way: serde borrows for a `Cow` that is a
//! field with `#[serde(borrow)]`, and not for one inside of a `Vec` or an `Option`; `BorrowCow` of the crate serde_with does.
//!
//! # Types of others
//!
//! Types of std are known. A field of another type needs an attribute: `#[borrow_report(skip)]` if it is of no interest, or
//! `#[borrow_report(with = function)]` with a function that gives its text or bytes:
//!
//! ```
//! use heapwise::BorrowReport;
//! use serde_json::value::RawValue;
//!
//! #[derive(serde::Deserialize, BorrowReport)]
//! struct Entry<'json> {
//!     #[serde(borrow)]
//!     #[borrow_report(with = RawValue::get)]
//!     contents: &'json RawValue,
//! }
//!
//! let json = r#"{"contents": "one\ntwo"}"#;
//! let entry: Entry = serde_json::from_str(json).unwrap();
//! entry.borrow_report(json).assert_borrowed("contents");
//! ```

mod report;
mod types;
mod walker;

pub use report::{Field, Mode, Report};
pub use walker::Walker;

/// A value whose parts may be borrowed. To be derived; see the [module](self).
///
/// The derive is of the same name. Attributes of fields are `#[borrow_report(skip)]` and `#[borrow_report(with = function)]`.
/// In paths, fields are separated by dots, a variant of an enum is as a field, and so is the number of a field without a name;
/// `[]` are all elements of a list, `{}` all values of a map and `{key}` its keys. The only field of a struct without names is
/// where the struct is.
///
/// ```
/// use heapwise::BorrowReport;
/// use std::borrow::Cow;
/// use std::collections::HashMap;
///
/// #[derive(BorrowReport)]
/// struct Request<'a> {
///     path: &'a str,
///     headers: HashMap<&'a str, Cow<'a, [u8]>>,
///     body: Body<'a>,
/// }
///
/// #[derive(BorrowReport)]
/// enum Body<'a> {
///     Text(&'a str),
///     Form { fields: Vec<(String, String)> },
/// }
///
/// let input = "GET /index.html";
/// let request = Request { path: &input[4..], headers: HashMap::new(), body: Body::Text(&input[..0]) };
/// request.borrow_report(input).assert_borrowed("path").assert_borrowed("body.Text");
/// # let _ = Body::Form { fields: Vec::new() };
/// ```
#[diagnostic::on_unimplemented(
    message = "heapwise does not know what is borrowed in `{Self}`",
    label = "has no `BorrowReport`",
    note = "derive `heapwise::BorrowReport` for it; or, for a field of another crate's type, use `#[borrow_report(skip)]`",
    note = "or `#[borrow_report(with = function)]`, where the function gives its text or its bytes"
)]
pub trait BorrowReport {
    /// Reports all parts of the value to the walker.
    ///
    /// ```
    /// use heapwise::borrow::{BorrowReport, Walker};
    ///
    /// /// What the derive does.
    /// struct Name<'a> {
    ///     first: &'a str,
    ///     last: String,
    /// }
    ///
    /// impl BorrowReport for Name<'_> {
    ///     fn walk(&self, walker: &mut Walker<'_>) {
    ///         walker.part("first", |walker| self.first.walk(walker));
    ///         walker.part("last", |walker| self.last.walk(walker));
    ///     }
    /// }
    ///
    /// let line = "Ana Lopes";
    /// let name = Name { first: &line[..3], last: line[4..].to_owned() };
    /// name.borrow_report(line).assert_borrowed("first").assert_owned("last");
    /// ```
    fn walk(&self, walker: &mut Walker<'_>);

    /// Finds out which parts refer to the input that the value was made from.
    ///
    /// ```
    /// use heapwise::BorrowReport;
    ///
    /// let line = "a b c";
    /// let words: Vec<&str> = line.split(' ').collect();
    /// words.borrow_report(line).assert_borrowed("[]");
    /// ```
    fn borrow_report(&self, input: &(impl AsRef<[u8]> + ?Sized)) -> Report
    where
        Self: Sized,
    {
        Walker::walk(self, input.as_ref())
    }

    /// Reports all elements of a list. `own_bytes` is the size of its memory if the list owns it.
    #[doc(hidden)]
    fn walk_list(list: &[Self], _own_bytes: Option<usize>, walker: &mut Walker<'_>)
    where
        Self: Sized,
    {
        walker.elements(list);
    }
}
