//! What was found, as a value, as assertions and as a table.

use std::fmt;

/// What is known of a piece of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Lies in the input.
    Borrowed,
    /// Is borrowed from something else.
    Elsewhere,
    /// Owns memory, of so many bytes.
    Owned(usize),
    /// Has no memory.
    Nowhere,
}

/// Characters of an example.
const MOST_CHARACTERS: usize = 40;

/// Which parts of a value are borrowed, by their paths, in the order in which they occur.
///
/// As text it is a table, which is Markdown as well.
///
/// ```
/// use heapwise::BorrowReport;
/// use std::borrow::Cow;
///
/// let input = "one two";
/// let words: Vec<Cow<str>> = vec![input[..3].into(), input[4..].to_owned().into()];
/// let report = words.borrow_report(input);
/// assert_eq!(report.field("[]").unwrap().to_string(), "[]: borrowed 1 of 2, owned 1 of 2");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    fields: Vec<Field>,
}

/// All values at one path.
///
/// ```
/// use heapwise::BorrowReport;
///
/// let report = ("text".to_owned(), 7, "").borrow_report("text");
/// let field = report.field("0").unwrap();
/// assert_eq!((field.borrowed, field.owned, field.owned_bytes), (0, 1, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field {
    /// Names of fields with dots in between; `[]` are all elements of a list.
    pub path: String,
    /// Values whose data lies in the input.
    pub borrowed: usize,
    /// Values that are borrowed from something else, such as a constant.
    pub elsewhere: usize,
    /// Values that own memory.
    pub owned: usize,
    /// Bytes of that memory.
    pub owned_bytes: usize,
    /// Values that are empty and have no memory.
    pub empty: usize,
    /// The first owned value, shortened and with its control characters spelled out.
    pub example: Option<String>,
    /// Whether the input has that value as it stands.
    pub input_has_example: bool,
}

/// What the values at a path have in common.
///
/// ```
/// use heapwise::{BorrowReport, borrow::Mode};
///
/// let report = (String::new(), "text".to_owned()).borrow_report("text");
/// assert_eq!(report.field("0").unwrap().mode(), Mode::Empty);
/// assert_eq!(report.field("1").unwrap().mode(), Mode::Owned);
/// assert_eq!(Mode::Owned.to_string(), "Owned (allocates memory)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// None owns memory.
    Borrowed,
    /// Each does, except those that are empty.
    Owned,
    /// Some do.
    Mixed,
    /// There was nothing to borrow.
    Empty,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Borrowed => "Borrowed",
            Self::Owned => "Owned (allocates memory)",
            Self::Mixed => "Some are owned",
            Self::Empty => "Nothing to borrow",
        })
    }
}

impl Field {
    /// What the values at this path have in common.
    ///
    /// ```
    /// use heapwise::{BorrowReport, borrow::Mode};
    ///
    /// assert_eq!("text".to_owned().borrow_report("text").field("").unwrap().mode(), Mode::Owned);
    /// ```
    #[must_use]
    pub fn mode(&self) -> Mode {
        match (self.borrowed + self.elsewhere, self.owned) {
            (0, 0) => Mode::Empty,
            (_, 0) => Mode::Borrowed,
            (0, _) => Mode::Owned,
            _ => Mode::Mixed,
        }
    }

    /// Values at this path.
    ///
    /// ```
    /// use heapwise::BorrowReport;
    ///
    /// assert_eq!(["a", "b"].borrow_report("text").field("[]").unwrap().values(), 2);
    /// ```
    #[must_use]
    pub fn values(&self) -> usize {
        self.borrowed + self.elsewhere + self.owned + self.empty
    }

    /// Why something is owned, in a sentence.
    fn reason(&self) -> Option<String> {
        let example = self.example.as_ref()?;
        Some(match self.input_has_example {
            true => format!("the input has {example} as it stands, so it could be borrowed"),
            false => format!("the input does not have {example} as it stands, so it had to be made"),
        })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.values();
        let each = [
            ("borrowed", self.borrowed),
            ("borrowed from elsewhere", self.elsewhere),
            ("owned", self.owned),
            ("empty", self.empty),
        ];
        let each = each.iter().filter(|(_, count)| *count > 0);
        let each: Vec<String> = each.map(|(what, count)| format!("{what} {count} of {of}")).collect();
        write!(f, "{}: {}", shown(&self.path), each.join(", "))
    }
}

/// The value itself has no path.
fn shown(path: &str) -> &str {
    if path.is_empty() { "the value" } else { path }
}

impl Report {
    pub(super) fn add(&mut self, path: &str, data: &[u8], origin: Origin, input: &[u8]) {
        let known = self.fields.iter().position(|field| field.path == path);
        let at = known.unwrap_or_else(|| {
            self.fields.push(Field {
                path: path.to_owned(),
                borrowed: 0,
                elsewhere: 0,
                owned: 0,
                owned_bytes: 0,
                empty: 0,
                example: None,
                input_has_example: false,
            });
            self.fields.len() - 1
        });
        let field = &mut self.fields[at];
        match origin {
            Origin::Borrowed => field.borrowed += 1,
            Origin::Elsewhere => field.elsewhere += 1,
            Origin::Nowhere => field.empty += 1,
            Origin::Owned(bytes) => {
                field.owned += 1;
                field.owned_bytes += bytes;
                if field.example.is_none() {
                    field.example = Some(example(data));
                    field.input_has_example = has(input, data);
                }
            }
        }
    }

    /// All paths at which there were values, in the order in which they were found.
    ///
    /// ```
    /// use heapwise::BorrowReport;
    ///
    /// let report = ("a", 1, "b").borrow_report("text");
    /// let paths: Vec<&str> = report.fields().iter().map(|field| field.path.as_str()).collect();
    /// assert_eq!(paths, ["0", "2"]);
    /// ```
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The values at a path; `None` if there were none.
    ///
    /// ```
    /// use heapwise::BorrowReport;
    ///
    /// assert!("a".borrow_report("a").field("b").is_none());
    /// ```
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.path == path)
    }

    /// Asserts that nothing at this path had to be allocated.
    ///
    /// ```
    /// use heapwise::BorrowReport;
    ///
    /// let input = "text";
    /// (&input[1..], 5).borrow_report(input).assert_borrowed("0");
    /// ```
    ///
    /// # Panics
    /// If a value there is owned, or if no value there has data: an empty list proves nothing.
    #[track_caller]
    pub fn assert_borrowed(&self, path: &str) -> &Self {
        let field = self.expected(path);
        match field.mode() {
            Mode::Borrowed => self,
            Mode::Empty => panic!("{field}: nothing was there to be borrowed"),
            Mode::Owned | Mode::Mixed => panic!("{field}: {}", field.reason().unwrap_or_default()),
        }
    }

    /// Asserts that everything at this path had to be allocated, so that the test fails when that improves.
    ///
    /// ```
    /// use heapwise::BorrowReport;
    ///
    /// "text".to_owned().borrow_report("text").assert_owned("");
    /// ```
    ///
    /// # Panics
    /// If a value there is borrowed, or if no value there has data.
    #[track_caller]
    pub fn assert_owned(&self, path: &str) -> &Self {
        let field = self.expected(path);
        assert!(field.mode() == Mode::Owned, "{field}: expected to be owned");
        self
    }

    /// Asserts that nothing had to be allocated, at any path.
    ///
    /// ```
    /// use heapwise::BorrowReport;
    ///
    /// let input = "text";
    /// (&input[1..], 5).borrow_report(input).assert_all_borrowed();
    /// ```
    ///
    /// # Panics
    /// If a value is owned, or if no value has data.
    #[track_caller]
    pub fn assert_all_borrowed(&self) -> &Self {
        let is_any = self.fields.iter().any(|field| field.mode() == Mode::Borrowed);
        let is_none_owned = self.fields.iter().all(|field| field.owned == 0);
        assert!(is_any || !is_none_owned, "there was nothing to be borrowed");
        assert!(is_none_owned, "something is owned:\n\n{self}");
        self
    }

    #[track_caller]
    fn expected(&self, path: &str) -> &Field {
        if let Some(field) = self.field(path) {
            return field;
        }
        let known: Vec<&str> = self.fields.iter().map(|field| shown(&field.path)).collect();
        panic!("there is no value at `{path}`; there are some at: {}", known.join(", "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MODE: usize = 24;
        let lengths = self.fields.iter().map(|field| shown(&field.path).chars().count());
        let width = lengths.max().unwrap_or_default().max("Field".len());
        writeln!(f, "| {:width$} | {:MODE$} | Borrowed | Owned |", "Field", "Deserialization mode")?;
        writeln!(f, "|{0:-<1$}|{0:-<2$}|---------:|------:|", "", width + 2, MODE + 2)?;
        for field in &self.fields {
            let borrowed = field.borrowed + field.elsewhere;
            let (path, mode, owned) = (shown(&field.path), field.mode(), field.owned);
            writeln!(f, "| {path:width$} | {mode:MODE$} | {borrowed:>8} | {owned:>5} |")?;
        }
        let reasons = self.fields.iter().filter_map(|field| Some((field, field.reason()?)));
        for (at, (field, reason)) in reasons.enumerate() {
            let space = if at == 0 { "\n" } else { "" };
            writeln!(f, "{space}{}: {reason}.", shown(&field.path))?;
        }
        Ok(())
    }
}

/// Data, short and harmless.
fn example(data: &[u8]) -> String {
    let text = String::from_utf8_lossy(data);
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Whether the input has this data.
fn has(input: &[u8], data: &[u8]) -> bool {
    match (str::from_utf8(input), str::from_utf8(data)) {
        (Ok(input), Ok(data)) => input.contains(data),
        // A string cannot contain bytes that are no UTF-8; a byte slice can.
        _ => data.is_empty() || input.windows(data.len()).any(|window| window == data),
    }
}
