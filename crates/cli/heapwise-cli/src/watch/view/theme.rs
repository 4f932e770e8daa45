//! Colours, where there are any.

use ratatui::style::{Color, Modifier, Style};

/// How things look. Without colours, what matters is bold.
#[derive(Clone, Copy, Debug)]
pub(in crate::watch) struct Theme {
    pub(super) head: Style,
    pub(super) strong: Style,
    pub(super) aside: Style,
    pub(super) rss: Style,
    pub(super) live: Style,
    pub(super) more: Style,
    pub(super) less: Style,
}

impl Theme {
    pub(in crate::watch) fn new(has_colours: bool) -> Self {
        let plain = Style::new();
        let of = |color: Color| if has_colours { plain.fg(color) } else { plain };
        let bold = plain.add_modifier(Modifier::BOLD);
        Self {
            head: plain.add_modifier(Modifier::REVERSED),
            strong: bold,
            aside: plain.add_modifier(Modifier::DIM),
            rss: of(Color::Blue),
            live: of(Color::Green),
            more: of(Color::Yellow),
            less: of(Color::Green),
        }
    }
}
