//! The properties of the output's destination.

use crate::document::Role;

/// Colours and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours.
    pub color: bool,
    /// Columns; text uses 80 to 120 of them.
    pub width: usize,
}

impl Style {
    /// The columns that are used.
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(60, 120)
    }

    /// Text in its colour. To be called after padding, since escape sequences take no columns.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        let code = match role {
            _ if !self.color || text.is_empty() => return text.to_owned(),
            Role::Prose | Role::Own => return text.to_owned(),
            Role::Strong => "1",
            Role::Faint => "2",
            Role::Bad => "31",
            Role::Good => "32",
            Role::Caveat => "33",
            Role::Name => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
