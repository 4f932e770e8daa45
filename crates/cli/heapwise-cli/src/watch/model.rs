//! What is shown: the newest update, and what the user has chosen.

use super::clock::clock;
use super::keys::Action;
use super::rows::{self, Column, Mark, PlaceRow};
use super::update::{ThreadRow, Update};
use std::time::{Duration, Instant};

/// How long a message stays.
const MESSAGE: Duration = Duration::from_secs(8);
/// A recording that does not grow for so long has lost its writer, which writes several times a second.
const SILENCE: Duration = Duration::from_secs(3);

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file, whoever writes it.
    File,
    /// A program that was started for it.
    #[cfg(target_os = "linux")]
    Program,
    /// A process that was there before.
    #[cfg(target_os = "linux")]
    Process,
}

/// What the table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Places,
    Threads,
}

/// The state of the view.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) kind: Kind,
    /// What is looked at, and what it is waited for, escaped.
    pub(super) subject: String,
    pub(super) waits: String,
    pub(super) update: Option<Update>,
    /// The newest one, while the picture stands still.
    held: Option<Update>,
    pub(super) is_paused: bool,
    /// Whether what is shown, because the picture stands still, is not there any more.
    is_gone: bool,
    pub(super) table: Table,
    pub(super) sort: Column,
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) mark: Option<Mark>,
    /// Which of the files that were followed is shown.
    nth: u32,
    pub(super) scroll: usize,
    pub(super) has_help: bool,
    message: Option<(String, Instant)>,
    /// When the recording grew last.
    grew: Instant,
    /// Rows of the table that fit, as they were drawn last.
    pub(super) page: usize,
}

/// What the user wants that is not the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Quit,
    /// What Ctrl-C is for.
    Interrupt,
    Page,
}

impl Model {
    pub(super) fn new(kind: Kind, subject: String) -> Self {
        let waits = match kind {
            Kind::File => format!("waiting for {subject}"),
            #[cfg(target_os = "linux")]
            Kind::Program => "the program is being started".to_owned(),
            #[cfg(target_os = "linux")]
            Kind::Process => "attaching to the process".to_owned(),
        };
        Self {
            kind,
            subject,
            waits,
            update: None,
            held: None,
            is_paused: false,
            is_gone: false,
            table: Table::Places,
            sort: Column::Live,
            filter: String::new(),
            is_typing: false,
            mark: None,
            nth: 0,
            scroll: 0,
            has_help: false,
            message: None,
            grew: Instant::now(),
            page: 1,
        }
    }

    /// Takes what is new.
    pub(super) fn take(&mut self, update: Update) {
        if self.newest().is_none_or(|before| before.read != update.read) {
            self.grew = Instant::now();
        }
        self.is_gone = false;
        match self.is_paused {
            true => self.held = Some(update),
            false => self.show(update),
        }
    }

    /// What is known, whether it is shown or the picture stands still.
    fn newest(&self) -> Option<&Update> {
        self.held.as_ref().or(self.update.as_ref())
    }

    fn show(&mut self, update: Update) {
        let is_first = self.update.is_none();
        if self.nth != update.file.nth || is_first {
            self.nth = update.file.nth;
            let lost = if self.mark.take().is_some() { "; the mark was of the file before" } else { "" };
            if let Some(why) = &update.file.why {
                self.say(format!("{why}{lost}"));
            }
        }
        self.update = Some(update);
        self.scroll = self.scroll.min(self.n_rows().saturating_sub(self.page));
    }

    /// Nothing can be shown yet, for a reason.
    pub(super) fn wait_for(&mut self, why: String) {
        self.waits = why;
        self.held = None;
        // What was there is gone; but a picture that is to stand still does.
        self.is_gone = self.is_paused;
        if !self.is_paused {
            self.update = None;
        }
    }

    /// Before it is drawn: of what goes on no more, nothing is requested.
    pub(super) fn settle(&mut self) {
        if self.is_paused {
            return;
        }
        let is_quiet = self.silence().is_some();
        let Some(update) = self.update.as_mut().filter(|update| is_quiet || update.is_over()) else { return };
        update.rate = [0; 2];
        update.rates.clear();
        update.threads.iter_mut().for_each(|thread| thread.rate = [0; 2]);
    }

    /// Whether nothing is expected any more, and the picture changes by keys alone.
    pub(super) fn is_over(&self) -> bool {
        self.newest().is_some_and(Update::is_over)
    }

    /// Whether the picture changes with time alone.
    pub(super) fn ticks(&self) -> bool {
        self.silence().is_some()
    }

    /// How long nothing has come, if that is longer than a program that runs would take.
    pub(super) fn silence(&self) -> Option<Duration> {
        let quiet = self.grew.elapsed();
        self.newest().filter(|update| !update.is_over() && quiet >= SILENCE).map(|_| quiet)
    }

    pub(super) fn say(&mut self, text: String) {
        self.message = Some((text, Instant::now()));
    }

    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_ref().map(|(text, _)| text.as_str())
    }

    /// Takes back a message that was there long enough. Says whether there was one.
    pub(super) fn forget_message(&mut self) -> bool {
        self.message.take_if(|(_, since)| since.elapsed() >= MESSAGE).is_some()
    }

    pub(super) fn places(&self) -> Vec<PlaceRow> {
        let rows = |update| rows::places(update, self.mark.as_ref(), self.sort, &self.filter);
        self.update.as_ref().map(rows).unwrap_or_default()
    }

    pub(super) fn threads(&self) -> Vec<&ThreadRow> {
        let rows = |update| rows::threads(update, self.sort, &self.filter);
        self.update.as_ref().map(rows).unwrap_or_default()
    }

    fn n_rows(&self) -> usize {
        match self.table {
            Table::Places => self.places().len(),
            Table::Threads => self.threads().len(),
        }
    }

    /// Does what a key means.
    pub(super) fn act(&mut self, action: Action) -> Option<Wish> {
        match action {
            Action::Quit => return Some(Wish::Quit),
            Action::Interrupt => return Some(Wish::Interrupt),
            Action::Page if self.update.is_some() => return Some(Wish::Page),
            Action::Page => {}
            Action::NextColumn => self.sort_by(self.sort.next()),
            Action::Sort(column) => self.sort_by(column),
            Action::Filter => self.is_typing = true,
            Action::Type(c) => {
                self.filter.push(c);
                self.scroll = 0;
            }
            Action::Erase => drop(self.filter.pop()),
            Action::Accept => self.is_typing = false,
            Action::Clear => {
                (self.is_typing, self.has_help) = (false, false);
                self.filter.clear();
            }
            Action::Mark => self.set_mark(),
            Action::Threads => {
                self.table = if self.table == Table::Places { Table::Threads } else { Table::Places };
                self.scroll = 0;
            }
            Action::Pause => {
                self.is_paused = !self.is_paused;
                if !self.is_paused && std::mem::take(&mut self.is_gone) {
                    self.update = None;
                }
                if let Some(held) = self.held.take().filter(|_| !self.is_paused) {
                    self.show(held);
                }
            }
            Action::Help => self.has_help = !self.has_help,
            Action::Up => self.scroll = self.scroll.saturating_sub(1),
            Action::Down => self.scroll += 1,
            Action::PageUp => self.scroll = self.scroll.saturating_sub(self.page),
            Action::PageDown => self.scroll += self.page,
            Action::Top => self.scroll = 0,
            Action::Bottom => self.scroll = usize::MAX,
        }
        self.scroll = self.scroll.min(self.n_rows().saturating_sub(self.page));
        None
    }

    fn sort_by(&mut self, column: Column) {
        self.sort = column;
        self.scroll = 0;
    }

    fn set_mark(&mut self) {
        let Some(update) = &self.update else { return };
        let mark = Mark::at(update);
        let at = clock(mark.time_ns);
        self.mark = Some(mark);
        self.say(format!("marked at {at}: growth is counted from now on"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{stack, update};

    fn model() -> Model {
        let mut model = Model::new(Kind::File, "a.hw".to_owned());
        model.take(update(&[("parse", "a.c:1"), ("load", "b.c:7"), ("store", "c.c:9")]));
        model
    }

    #[test]
    fn what_comes_while_the_picture_stands_still_is_shown_later() {
        let mut model = model();
        model.act(Action::Pause);
        let mut newer = update(&[("newer", "")]);
        newer.read = (1, 1);
        model.take(newer);
        assert_eq!(model.places().len(), 3);
        model.act(Action::Pause);
        assert_eq!(model.places().len(), 1);
    }

    #[test]
    fn a_picture_stands_still_while_the_next_file_is_waited_for() {
        let mut model = model();
        model.act(Action::Pause);
        model.wait_for("b.hw is empty".to_owned());
        assert_eq!(model.places().len(), 3);
        model.act(Action::Pause);
        assert!(model.update.is_none() && model.waits == "b.hw is empty");
        model.take(update(&[("newer", "")]));
        model.wait_for("c.hw is empty".to_owned());
        assert!(model.update.is_none());
    }

    #[test]
    fn a_program_that_ends_while_the_picture_stands_still_is_not_silent() {
        let mut model = model();
        model.act(Action::Pause);
        let mut last = update(&[("parse", "a.c:1")]);
        last.end = Some("ended".into());
        model.take(last);
        model.grew = Instant::now().checked_sub(2 * SILENCE).expect("the clock has run for that long");
        assert!(model.is_over() && model.silence().is_none());
    }

    #[test]
    fn a_mark_is_of_what_is_shown() {
        let mut model = model();
        model.act(Action::Mark);
        assert!(
            model.message().is_some_and(|text| text.contains("marked at 12.3 s")),
            "{:?}",
            model.message()
        );
        let mut later = update(&[("parse", "a.c:1"), ("load", "b.c:7"), ("store", "c.c:9")]);
        later.stacks[0] = stack(9 << 20, 1);
        model.take(later);
        model.act(Action::Sort(Column::Growth));
        let rows = model.places();
        assert_eq!((rows[0].growth, rows[1].growth), (8 << 20, 0));
    }

    #[test]
    fn a_mark_is_of_one_file_and_rates_end_with_the_program() {
        let mut model = model();
        model.act(Action::Mark);
        let mut next = update(&[("parse", "a.c:1")]);
        next.rate = [7, 7];
        next.file =
            crate::watch::update::Shown { nth: 1, why: Some("b.hw is next".into()), ..Default::default() };
        model.take(next.clone());
        assert!(
            model.mark.is_none()
                && model.message().is_some_and(|text| text.contains("b.hw is next; the mark"))
        );
        model.settle();
        assert_eq!(model.update.as_ref().map(|update| update.rate), Some([7, 7]));
        next.end = Some("ended".into());
        next.rates = vec![[5, 5]];
        model.take(next);
        model.settle();
        assert_eq!(model.update.as_ref().map(|update| update.rate), Some([0, 0]));
        assert_eq!(model.places()[0].rate, [0, 0]);
    }

    #[test]
    fn scrolling_ends_where_the_rows_do() {
        let mut model = model();
        model.page = 2;
        for action in [Action::Down, Action::Down, Action::PageDown, Action::Bottom] {
            model.act(action);
        }
        assert_eq!(model.scroll, 1, "two of three rows fit");
        model.act(Action::PageUp);
        assert_eq!(model.scroll, 0);
        model.act(Action::Bottom);
        "load".chars().for_each(|c| _ = model.act(Action::Type(c)));
        assert_eq!((model.scroll, model.places().len()), (0, 1));
        model.act(Action::Clear);
        assert_eq!(model.places().len(), 3);
    }
}
