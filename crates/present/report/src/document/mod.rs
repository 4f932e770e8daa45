//! What all reports for people are made of: sections of paragraphs, tables, findings, caveats, pictures and snippets.
//!
//! A part of a report is a function that makes a [`Section`]; there is one writer for each format ([`terminal`], [`markdown`],
//! [`html`]). Texts are inserted raw, and each writer escapes them for its format.

mod figure;
mod html;
pub(crate) mod listing;
mod markdown;
mod table;
mod terminal;
mod words;

pub use crate::chart::Flame;
use crate::chart::Unit;
pub(crate) use figure::{Figure, Numbers, Picture};
pub use html::html;
pub use markdown::markdown;
pub use table::{Cell, Column, Place, Row, Table};
pub use terminal::{curve::Course, terminal};
pub use words::{Link, Role, Words};

#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The command, such as `heapwise lab debug-heap`.
    pub title: Words,
    /// A remark after the title.
    pub aside: String,
    /// The parts.
    pub sections: Vec<Section>,
}

/// The formats that show something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    #[default]
    Everywhere,
    /// A terminal only.
    Terminal,
    /// Markdown and HTML only.
    Pages,
    /// HTML only.
    Browser,
}

/// The formats that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Terminal,
    Markdown,
    Html,
}

impl Shown {
    /// Whether a format has it.
    fn has(self, format: Format) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Terminal => format == Format::Terminal,
            Self::Pages => format != Format::Terminal,
            Self::Browser => format == Format::Html,
        }
    }
}

/// The title of a section.
#[derive(Clone, Debug)]
pub enum Title {
    /// One of heapwise's own. It is in capitals on a terminal, which cannot emphasise it otherwise.
    Own(&'static str),
    /// One with names from elsewhere: of a program, a file, a candidate.
    Given(String),
}

impl Default for Title {
    fn default() -> Self {
        Self::Own("")
    }
}

impl Title {
    fn text(&self) -> &str {
        match self {
            Self::Own(own) => own,
            Self::Given(given) => given,
        }
    }
}

/// A part of a document.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its title. A section without one continues the section before it.
    pub title: Title,
    /// A remark after the title.
    pub aside: String,
    /// Which formats have it.
    pub shown: Shown,
    /// Whether pages fold it.
    pub is_folded: bool,
    /// Whether it is the conclusion: pages show it in its place, and a terminal at the end, where it is seen.
    pub is_conclusion: bool,
    /// What is in it.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section without a title.
    pub fn untitled(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { blocks: blocks.into_iter().collect(), ..Self::default() }
    }

    /// A section with a title.
    pub fn new(title: &'static str, blocks: impl IntoIterator<Item = Block>) -> Self {
        Self { title: Title::Own(title), ..Self::untitled(blocks) }
    }

    /// The same with a remark after the title.
    pub fn aside(self, aside: impl Into<String>) -> Self {
        Self { aside: aside.into(), ..self }
    }

    /// The same for some formats only.
    pub fn only(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    /// The same, folded on pages.
    pub fn folded(self) -> Self {
        Self { is_folded: true, ..self }
    }

    /// The conclusion, in sentences.
    pub fn conclusion(sentences: impl IntoIterator<Item = String>) -> Self {
        let blocks = sentences.into_iter().map(|sentence| Block::line(Mark::Point, sentence));
        Self { is_conclusion: true, ..Self::new("What it means", blocks) }
    }

    /// What makes numbers less reliable. `None` if there is nothing.
    pub fn caveats(caveats: impl IntoIterator<Item = String>) -> Option<Self> {
        let items: Vec<_> = caveats.into_iter().map(|caveat| (caveat.into(), String::new())).collect();
        let alert = Alert { items, ..Alert::default() };
        (!alert.items.is_empty()).then(|| Self::new("Mind", [Block::Alert(alert)]))
    }

    fn is_untitled(&self) -> bool {
        self.title.text().is_empty()
    }

    /// The blocks that a format shows. `None` if it shows nothing of the section.
    fn blocks(&self, format: Format) -> Option<Vec<&Block>> {
        let blocks: Vec<&Block> = self.blocks.iter().filter_map(|block| block.seen(format)).collect();
        let is_seen = self.shown.has(format) && blocks.is_empty() == self.blocks.is_empty();
        is_seen.then_some(blocks)
    }
}

/// What sections consist of.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph, or an item of a list.
    Line(Mark, Words),
    /// What readers have to know before they trust numbers.
    Alert(Alert),
    /// A finding and its remedy.
    Finding(Finding),
    /// Names with a text for each.
    Facts(Vec<(Words, Words)>),
    Table(Table),
    /// Memory over time. Terminals only.
    Course(Course),
    /// Pictures. Browsers only.
    #[doc(hidden)]
    Figures(Figures),
    /// Lines to be pasted, or sentences, and where they go.
    Snippet(Snippet),
    /// The text of a file with amounts in the margin.
    #[doc(hidden)]
    Listing(listing::Listing),
    /// A stack with a line above it. Pages only: a terminal has stacks below rows.
    Stack(Words, Stack),
    /// Something that only some formats have.
    Only(Shown, Box<Block>),
}

impl Block {
    /// A paragraph, or an item of a list.
    pub fn line(mark: Mark, words: impl Into<Words>) -> Self {
        Self::Line(mark, words.into())
    }

    /// The same for some formats only.
    pub fn only(self, shown: Shown) -> Self {
        Self::Only(shown, Box::new(self))
    }

    fn seen(&self, format: Format) -> Option<&Self> {
        match self {
            Self::Only(shown, block) if shown.has(format) => block.seen(format),
            Self::Only(..) => None,
            Self::Figures(figures) => (format == Format::Html && !figures.0.is_empty()).then_some(self),
            Self::Course(_) => (format == Format::Terminal).then_some(self),
            Self::Stack(..) => (format != Format::Terminal).then_some(self),
            _ => Some(self),
        }
    }
}

/// Pictures, which only a browser has.
#[derive(Clone, Debug, Default)]
pub struct Figures(pub(crate) Vec<Figure>);

impl Figures {
    /// A bar for each row, which consists of parts: bytes, or else counts.
    pub fn bars(
        caption: impl Into<String>,
        are_bytes: bool,
        parts: impl IntoIterator<Item = String>,
        rows: impl IntoIterator<Item = (String, Vec<f64>)>,
    ) -> Self {
        let unit = if are_bytes { Unit::Bytes } else { Unit::Count };
        let rows = rows.into_iter().map(|(label, numbers)| Numbers { label, series: 0, numbers }).collect();
        let picture = Picture::Bars { unit, parts: parts.into_iter().collect(), rows };
        Self(vec![Figure { caption: caption.into(), picture }])
    }

    /// Bytes over nanoseconds, a curve for each row.
    pub fn lines(
        caption: impl Into<String>,
        rows: impl IntoIterator<Item = (String, Vec<[f64; 2]>)>,
    ) -> Self {
        let row = |(at, (label, numbers))| Numbers { label, series: at + 1, numbers };
        let rows = rows.into_iter().enumerate().map(row).collect();
        let picture = Picture::Lines { units: [Unit::Nanos, Unit::Bytes], rows };
        Self(vec![Figure { caption: caption.into(), picture }])
    }

    /// Bytes of functions within those that called them.
    pub fn flame(caption: impl Into<String>, root: Flame) -> Self {
        Self(vec![Figure { caption: caption.into(), picture: Picture::Flame(root) }])
    }

    /// These and others.
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A paragraph.
    Plain,
    /// How something was done.
    Setup,
    /// A paragraph below something.
    Indented,
    /// One below that.
    Nested,
    /// An item of a list.
    Item,
    /// A remedy, or a conclusion.
    Point,
    /// A paragraph that begins with a word.
    Labelled(&'static str),
    /// A line that a terminal does not break, so many columns from the left.
    Unbroken(usize),
}

/// What readers have to know before they trust numbers.
#[derive(Clone, Debug, Default)]
pub struct Alert {
    /// The text above the items on a page, which has no title then.
    pub lead: &'static str,
    /// Whether it is worse than a warning.
    pub is_severe: bool,
    /// What it is, and the remedy.
    pub items: Vec<(Words, String)>,
}

/// A finding and its remedy.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// Its place in a list; `None` for a note.
    pub number: Option<usize>,
    pub title: String,
    /// Severity, kind and the like.
    pub tags: Vec<String>,
    /// What following it saves: a short form, and a complete one.
    pub saves: Option<[String; 2]>,
    /// Where it is, and the source line there.
    pub at: Option<(String, Option<String>)>,
    pub evidence: Evidence,
    pub cost: String,
    pub remedy: String,
    /// Whether a terminal shows its title only.
    pub is_brief: bool,
}

#[derive(Clone, Debug)]
pub enum Evidence {
    /// Sentences without a final full stop.
    Sentences(Vec<String>),
    /// Lines exactly as they were found.
    Lines(Vec<String>),
}

impl Default for Evidence {
    fn default() -> Self {
        Self::Lines(Vec::new())
    }
}

/// Lines to be pasted somewhere.
#[derive(Clone, Debug, Default)]
pub struct Snippet {
    /// Where they go.
    pub title: Title,
    /// The language; none for sentences.
    pub language: Option<&'static str>,
    pub lines: Vec<String>,
}

/// A stack, the innermost frame first.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    pub frames: Vec<StackFrame>,
    /// Remarks about it.
    pub notes: Vec<String>,
}

/// A frame of a stack.
#[derive(Clone, Debug, Default)]
pub struct StackFrame {
    pub function: String,
    pub at: String,
    /// Whether it is the user's nearest.
    pub is_users: bool,
    /// Whether the compiler put it into the next one.
    pub is_inlined: bool,
}
