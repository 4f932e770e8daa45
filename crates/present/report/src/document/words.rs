//! Words in a line, in pieces with a role. Each writer decides how a role looks.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A sentence that may contain names from elsewhere. What is between two backticks is code.
    Prose,
    /// Numbers and words of heapwise's own, which need no escaping.
    Own,
    /// A name from the program or the user: shown as code.
    Name,
    /// What readers should see first.
    Strong,
    /// A detail.
    Faint,
    /// What makes numbers less reliable.
    Caveat,
    /// A change for the better.
    Good,
    /// A change for the worse.
    Bad,
}

/// Words in a line. Texts are inserted raw: each writer escapes them for its format.
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

    /// A detail.
    pub fn faint(text: impl Into<String>) -> Self {
        Self::of(Role::Faint, text)
    }

    /// The same, followed by another piece.
    pub fn and(mut self, role: Role, text: impl Into<String>) -> Self {
        self.0.push((role, text.into()));
        self
    }

    /// The same, followed by other words.
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
