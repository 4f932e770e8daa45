//! Words in a line, in pieces that know what they are. What that looks like is a matter of each writer.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A sentence that may contain names from elsewhere. What is between two backticks is code.
    Prose,
    /// Numbers and words of heapwise's own, in which nothing has to be escaped as markup.
    Own,
    /// A name from somewhere else: code.
    Name,
    /// What is to be seen first.
    Strong,
    /// What is only there for who looks closer.
    Faint,
    /// What makes numbers worth less.
    Caveat,
    /// A change for the better.
    Good,
    /// A change for the worse.
    Bad,
}

/// Words in a line. Texts are put in as they are: each writer makes them harmless for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<(Role, String)>);

impl Words {
    /// One piece.
    pub fn of(role: Role, text: impl Into<String>) -> Self {
        Self::default().and(role, text)
    }

    /// Numbers or words of heapwise's own.
    pub fn own(text: impl Into<String>) -> Self {
        Self::of(Role::Own, text)
    }

    pub fn name(text: impl Into<String>) -> Self {
        Self::of(Role::Name, text)
    }

    /// What is only there for who looks closer.
    pub fn faint(text: impl Into<String>) -> Self {
        Self::of(Role::Faint, text)
    }

    /// The same with another piece behind it.
    pub fn and(mut self, role: Role, text: impl Into<String>) -> Self {
        self.0.push((role, text.into()));
        self
    }

    /// The same with other words behind it.
    pub fn then(mut self, more: Words) -> Self {
        self.0.extend(more.0);
        self
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = (Role, &str)> {
        self.0.iter().map(|(role, text)| (*role, text.as_str()))
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// The text alone.
    pub(super) fn plain(&self) -> String {
        self.pieces().map(|(_, text)| text).collect()
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::of(Role::Prose, text)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self::of(Role::Prose, text)
    }
}
