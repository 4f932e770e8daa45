//! What the place where text goes is like.

/// Colours and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are welcome.
    pub color: bool,
    /// Columns; text uses 80 to 120 of them.
    pub width: usize,
}

impl Style {
    /// The columns that are used.
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(60, 120)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn name(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
