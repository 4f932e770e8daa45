//! What all reports for people are made of: sections of paragraphs, tables, findings, caveats, pictures and what to paste.
//!
//! A part of a report is a function that makes a [`Section`]; there is one writer for each format ([`terminal`], [`markdown`],
//! [`html`]). Texts are put in as they are, and each writer makes them harmless for itself.

mod figure;
mod html;
mod markdown;
mod table;
mod terminal;
mod words;

pub(crate) use figure::{Figure, Numbers, Picture};
pub(crate) use html::html;
pub use markdown::markdown;
pub use table::{Cell, Column, Place, Row, Table};
pub use terminal::{curve::Course, terminal};
pub use words::{Role, Words};

#[derive(Clone, Debug, Default)]
pub struct Document {
    /// What was called, such as `heapwise lab debug-heap`.
    pub title: Words,
    /// What the title does not say.
    pub aside: String,
    /// The parts.
    pub sections: Vec<Section>,
}

/// Which formats have something.
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
    /// One of heapwise's own. It is in capitals on a terminal, which has nothing else to set it off.
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
    /// Its title. A section without one belongs to what is before it.
    pub title: Title,
    /// What the title does not say.
    pub aside: String,
    /// Which formats have it.
    pub shown: Shown,
    /// Whether pages fold it.
    pub is_folded: bool,
    /// Whether it says what all means: pages have it where it stands, and a terminal at its end, where it is seen.
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

    /// The same with what the title does not say.
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

    /// What all means, in sentences.
    pub fn conclusion(sentences: impl IntoIterator<Item = String>) -> Self {
        let blocks = sentences.into_iter().map(|sentence| Block::line(Mark::Point, sentence));
        Self { is_conclusion: true, ..Self::new("What it means", blocks) }
    }

    /// What makes numbers worth less. None if there is nothing.
    pub fn caveats(caveats: impl IntoIterator<Item = String>) -> Option<Self> {
        let items: Vec<_> = caveats.into_iter().map(|caveat| (caveat.into(), String::new())).collect();
        let alert = Alert { items, ..Alert::default() };
        (!alert.items.is_empty()).then(|| Self::new("Mind", [Block::Alert(alert)]))
    }

    fn is_untitled(&self) -> bool {
        self.title.text().is_empty()
    }

    /// The blocks that a format has. None if it has nothing of the section.
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
    /// What has to be known before numbers are trusted.
    Alert(Alert),
    /// What was found and what to do about it.
    Finding(Finding),
    /// Names, and what is said of them.
    Facts(Vec<(Words, Words)>),
    Table(Table),
    /// Memory over time. Terminals only.
    Course(Course),
    /// Pictures. Browsers only.
    #[doc(hidden)]
    Figures(Figures),
    /// Lines to be pasted, or sentences, and where they go.
    Snippet(Snippet),
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
    /// What to do, or what it means.
    Point,
    /// A paragraph that begins with a word.
    Labelled(&'static str),
    /// A line that a terminal does not break, so many columns from the left.
    Unbroken(usize),
}

/// What has to be known before numbers are trusted.
#[derive(Clone, Debug, Default)]
pub struct Alert {
    /// What a page says above the items, which has no title then.
    pub lead: &'static str,
    /// Whether it is worse than a warning.
    pub is_severe: bool,
    /// What it is, and what to do about it.
    pub items: Vec<(Words, String)>,
}

/// What was found and what to do about it.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// Its place in a list; none for what is only a note.
    pub number: Option<usize>,
    pub title: String,
    /// Severity, kind and the like.
    pub tags: Vec<String>,
    /// What following it saves: where room is scarce, and as a whole.
    pub saves: Option<[String; 2]>,
    /// Where it is, and what stands there.
    pub at: Option<(String, Option<String>)>,
    pub evidence: Evidence,
    pub cost: String,
    pub remedy: String,
    /// Whether a terminal has its title only.
    pub is_brief: bool,
}

#[derive(Clone, Debug)]
pub enum Evidence {
    /// In sentences without an end.
    Sentences(Vec<String>),
    /// As it was found.
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
    /// What is to be said of it.
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
