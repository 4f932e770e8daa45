//! What goes through a value.

use super::BorrowReport;
use super::report::{Origin, Report};
use std::ops::Range;

/// Goes through a value, and knows the path to the current part. Only implementations of [`BorrowReport`] without the derive need
/// it.
///
/// ```
/// use heapwise::borrow::{BorrowReport, Walker};
///
/// struct Line<'a> {
///     words: Vec<&'a str>,
/// }
///
/// impl BorrowReport for Line<'_> {
///     fn walk(&self, walker: &mut Walker<'_>) {
///         walker.part("words", |walker| walker.elements(&self.words));
///     }
/// }
///
/// let text = "a b";
/// Line { words: text.split(' ').collect() }.borrow_report(text).assert_borrowed("words[]");
/// ```
#[derive(Debug)]
pub struct Walker<'input> {
    input: &'input [u8],
    /// Addresses of the input.
    within: Range<usize>,
    path: String,
    report: Report,
}

impl<'input> Walker<'input> {
    pub(super) fn walk(value: &impl BorrowReport, input: &'input [u8]) -> Report {
        let begin = input.as_ptr().addr();
        let mut walker = Self {
            input,
            within: begin..begin + input.len(),
            path: String::new(),
            report: Report::default(),
        };
        value.walk(&mut walker);
        walker.report
    }

    /// Walks through a part of the value, that has a name.
    ///
    /// ```
    /// # use heapwise::borrow::{BorrowReport, Walker};
    /// struct Line<'a>(&'a str);
    ///
    /// impl BorrowReport for Line<'_> {
    ///     fn walk(&self, walker: &mut Walker<'_>) {
    ///         walker.part("line", |walker| self.0.walk(walker));
    ///     }
    /// }
    ///
    /// let text = "text";
    /// Line(text).borrow_report(text).assert_borrowed("line");
    /// ```
    pub fn part(&mut self, name: &str, walk: impl FnOnce(&mut Self)) {
        let separator = if self.path.is_empty() { "" } else { "." };
        self.below(&[separator, name], walk);
    }

    /// Walks through all elements of a list.
    ///
    /// ```
    /// # use heapwise::borrow::{BorrowReport, Walker};
    /// struct Lines<'a>(std::str::Lines<'a>);
    ///
    /// impl BorrowReport for Lines<'_> {
    ///     fn walk(&self, walker: &mut Walker<'_>) {
    ///         walker.elements(&self.0.clone().collect::<Vec<_>>());
    ///     }
    /// }
    ///
    /// let text = "one\ntwo";
    /// Lines(text.lines()).borrow_report(text).assert_borrowed("[]");
    /// ```
    pub fn elements<'a, T: BorrowReport + 'a>(&mut self, elements: impl IntoIterator<Item = &'a T>) {
        self.below(&["[]"], |walker| elements.into_iter().for_each(|element| element.walk(walker)));
    }

    /// Walks through all keys and values of a map.
    ///
    /// ```
    /// # use heapwise::borrow::{BorrowReport, Walker};
    /// struct Pairs<'a>(Vec<(&'a str, &'a str)>);
    ///
    /// impl BorrowReport for Pairs<'_> {
    ///     fn walk(&self, walker: &mut Walker<'_>) {
    ///         walker.entries(self.0.iter().map(|(key, value)| (key, value)));
    ///     }
    /// }
    ///
    /// let text = "a=b";
    /// let report = Pairs(vec![(&text[..1], &text[2..])]).borrow_report(text);
    /// report.assert_borrowed("{key}").assert_borrowed("{}");
    /// ```
    pub fn entries<'a, K: BorrowReport + 'a, V: BorrowReport + 'a>(
        &mut self,
        entries: impl IntoIterator<Item = (&'a K, &'a V)>,
    ) {
        for (key, value) in entries {
            self.below(&["{key}"], |walker| key.walk(walker));
            self.below(&["{}"], |walker| value.walk(walker));
        }
    }

    /// Reports text or bytes. Their address decides: they lie in the input, or the value owns them.
    ///
    /// ```
    /// # use heapwise::borrow::{BorrowReport, Walker};
    /// /// Of a crate that shares buffers, so its type does not say.
    /// struct Shared(std::sync::Arc<str>);
    ///
    /// impl BorrowReport for Shared {
    ///     fn walk(&self, walker: &mut Walker<'_>) {
    ///         walker.data(&*self.0);
    ///     }
    /// }
    ///
    /// Shared("text".into()).borrow_report("text").assert_owned("");
    /// ```
    pub fn data(&mut self, data: impl AsRef<[u8]>) {
        let data = data.as_ref();
        self.note(data, if data.is_empty() { Origin::Nowhere } else { Origin::Owned(data.len()) });
    }

    /// Reports text or bytes that are borrowed, from the input or from anything else.
    ///
    /// ```
    /// # use heapwise::borrow::{BorrowReport, Walker};
    /// struct Constant;
    ///
    /// impl BorrowReport for Constant {
    ///     fn walk(&self, walker: &mut Walker<'_>) {
    ///         walker.borrowed("constant");
    ///     }
    /// }
    ///
    /// assert_eq!(Constant.borrow_report(&[0u8; 8]).field("").map(|field| field.elsewhere), Some(1));
    /// ```
    pub fn borrowed(&mut self, data: impl AsRef<[u8]>) {
        self.note(data.as_ref(), Origin::Elsewhere);
    }

    /// Reports text or bytes that the value owns, in memory of so many bytes.
    ///
    /// ```
    /// # use heapwise::borrow::{BorrowReport, Walker};
    /// struct Name(String);
    ///
    /// impl BorrowReport for Name {
    ///     fn walk(&self, walker: &mut Walker<'_>) {
    ///         walker.owned(&self.0, self.0.capacity());
    ///     }
    /// }
    ///
    /// Name("Ana".to_owned()).borrow_report("Ana").assert_owned("");
    /// ```
    pub fn owned(&mut self, data: impl AsRef<[u8]>, own_bytes: usize) {
        let origin = if own_bytes == 0 { Origin::Nowhere } else { Origin::Owned(own_bytes) };
        self.note(data.as_ref(), origin);
    }

    fn below(&mut self, path: &[&str], walk: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        path.iter().for_each(|part| self.path.push_str(part));
        walk(self);
        self.path.truncate(length);
    }

    /// `otherwise` is what it is if it does not lie in the input.
    fn note(&mut self, data: &[u8], otherwise: Origin) {
        let begin = data.as_ptr().addr();
        // What is empty may point to the end of the input, too.
        let is_within = self.within.start <= begin && begin + data.len() <= self.within.end;
        let has_place = !data.is_empty() || otherwise == Origin::Elsewhere;
        let origin = if is_within && has_place { Origin::Borrowed } else { otherwise };
        self.report.add(&self.path, data, origin, self.input);
    }
}
