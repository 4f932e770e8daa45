//! What keys mean.

use super::rows::Column;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Interrupt,
    NextColumn,
    Sort(Column),
    /// Begin to type a filter.
    Filter,
    Type(char),
    Erase,
    /// The filter is complete.
    Accept,
    /// No filter, no help.
    Clear,
    Mark,
    /// Write what was read so far as a page.
    Page,
    Threads,
    Pause,
    Help,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

/// A key, what it is for in a word, and in a sentence.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) word: &'static str,
    pub(super) help: &'static str,
}

const fn key(name: &'static str, word: &'static str, help: &'static str) -> Key {
    Key { name, word, help }
}

/// All of them, those first that the footer shows where there is little room.
pub(super) const KEYS: &[Key] = &[
    key("q", "quit", "end the view"),
    key("?", "help", "this help"),
    key("s", "sort", "sort by the next column"),
    key("/", "filter", "show only places, or threads, with this text; esc shows all again"),
    key("m", "mark", "count growth from now on"),
    key("t", "threads", "threads, or places"),
    key("h", "HTML", "write a report of what was read so far as an HTML file"),
    key("p", "pause", "the picture stands still; recording goes on"),
    key("a b l n g", "", "sort by allocations/s, bytes/s, live bytes, live blocks, growth"),
    key("arrows", "", "scroll; so do page up and down, home and end"),
    key("ctrl-c", "", "interrupt the program under `run --watch`; else as q"),
];

/// What a key is for. While a filter is typed, most are its letters.
pub(super) fn action(event: KeyEvent, is_typing: bool) -> Option<Action> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c') => Some(Action::Interrupt),
            KeyCode::Char('u') if is_typing => Some(Action::Clear),
            _ => None,
        };
    }
    let action = match event.code {
        KeyCode::Esc => Action::Clear,
        KeyCode::Up => Action::Up,
        KeyCode::Down => Action::Down,
        KeyCode::PageUp => Action::PageUp,
        KeyCode::PageDown => Action::PageDown,
        KeyCode::Home => Action::Top,
        KeyCode::End => Action::Bottom,
        KeyCode::Enter if is_typing => Action::Accept,
        KeyCode::Backspace if is_typing => Action::Erase,
        KeyCode::Char(c) if is_typing => Action::Type(c),
        KeyCode::Char(c) => of_letter(c)?,
        _ => return None,
    };
    Some(action)
}

fn of_letter(c: char) -> Option<Action> {
    Some(match c {
        'q' => Action::Quit,
        's' => Action::NextColumn,
        'a' => Action::Sort(Column::Requests),
        'b' => Action::Sort(Column::Bytes),
        'l' => Action::Sort(Column::Live),
        'n' => Action::Sort(Column::Blocks),
        'g' => Action::Sort(Column::Growth),
        '/' => Action::Filter,
        'm' => Action::Mark,
        'h' => Action::Page,
        't' => Action::Threads,
        'p' | ' ' => Action::Pause,
        '?' => Action::Help,
        'k' => Action::Up,
        'j' => Action::Down,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, is_typing: bool) -> Option<Action> {
        action(KeyEvent::new(code, KeyModifiers::NONE), is_typing)
    }

    #[test]
    fn letters_are_keys_or_those_of_a_filter() {
        assert_eq!(press(KeyCode::Char('q'), false), Some(Action::Quit));
        assert_eq!(press(KeyCode::Char('q'), true), Some(Action::Type('q')));
        assert_eq!(press(KeyCode::Enter, false), None);
        assert_eq!(press(KeyCode::Esc, true), Some(Action::Clear));
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(action(interrupt, true), Some(Action::Interrupt));
        let mut release = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(action(release, false), None, "as consoles of Windows report it");
    }

    #[test]
    fn every_key_that_is_named_does_something() {
        let letters =
            KEYS.iter().flat_map(|key| key.name.split(' ')).filter(|name| name.chars().count() == 1);
        for letter in letters {
            let c = letter.chars().next().expect("one");
            assert!(press(KeyCode::Char(c), false).is_some(), "{c}");
        }
    }
}
