//! The view on its screen: reads keys, and draws.

use super::follower::{Follower, News, Source};
use super::keys::{self, Action};
use super::model::{Kind, Model, Wish};
use super::page::Pages;
use super::screen::{self, Screen};
use super::view;
use crate::{Failure, exit};
use heapwise_report::escape::terminal::escape;
use ratatui::crossterm::event::{self, Event};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long keys are waited for before the screen is drawn anew.
const PAUSE: Duration = Duration::from_millis(50);
/// The same where nothing is expected any more.
const LONG_PAUSE: Duration = Duration::from_millis(500);
/// The screen is drawn so often although nothing has happened: a message may be over.
const REDRAW: Duration = Duration::from_secs(1);

/// How a view ended.
#[derive(Debug)]
pub(super) enum Ended {
    ByUser,
    BySignal,
    Failed(Failure),
}

/// A view.
pub(super) struct Window {
    screen: Screen,
    source: Source,
    model: Model,
    pages: Pages,
    stop: Arc<AtomicBool>,
    /// Interrupts that came from the keys of this view.
    #[cfg(target_os = "linux")]
    own_interrupts: u32,
}

impl Window {
    pub(super) fn new(screen: Screen, source: Source, kind: Kind) -> Self {
        let subject = escape(&source.path().display().to_string()).into_owned();
        let pages = Pages::new();
        Self {
            screen,
            source,
            model: Model::new(kind, subject),
            pages,
            stop: Arc::default(),
            #[cfg(target_os = "linux")]
            own_interrupts: 0,
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn kind(&self) -> Kind {
        self.model.kind
    }

    /// What ends the view from another thread.
    #[cfg(target_os = "linux")]
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Whether a signal has come that ends the view. Of what is recorded here the recorder hears them.
    fn is_interrupted(&self) -> bool {
        #[cfg(target_os = "linux")]
        if self.model.kind != Kind::File {
            return heapwise_collector::signals::requests_to_end() > self.own_interrupts;
        }
        screen::is_interrupted()
    }

    /// Says something in the view.
    #[cfg(target_os = "linux")]
    pub(super) fn say(&mut self, text: String) {
        self.model.say(text);
    }

    /// Where pages go that the user wants.
    #[cfg(target_os = "linux")]
    pub(super) fn set_pages(&mut self, pages: Pages) {
        self.pages = pages;
    }

    /// Shows it until the user has seen enough, or something ends it.
    ///
    /// # Errors
    /// The terminal's.
    pub(super) fn show(mut self) -> std::io::Result<Ended> {
        if self.model.kind == Kind::File {
            screen::end_by_signals()?;
        }
        let follower = Follower::start(&self.source)?;
        let (mut is_due, mut drawn) = (true, Instant::now());
        loop {
            match follower.news() {
                Some(News::Failed(failure)) => return Ok(Ended::Failed(failure)),
                Some(News::Update(update)) => {
                    self.model.take(*update);
                    is_due = true;
                }
                Some(News::Waits(why)) => {
                    is_due |= self.model.waits != why || self.model.update.is_some();
                    self.model.wait_for(why);
                }
                None => {}
            }
            if let Some(text) = self.pages.finished() {
                self.model.say(text);
                // What was said meanwhile may be on a screen whose streams cannot be set aside.
                #[cfg(not(unix))]
                self.screen.clear()?;
                is_due = true;
            }
            if self.is_interrupted() {
                return Ok(Ended::BySignal);
            }
            if screen::is_restored() {
                let what = anyhow::anyhow!("the view has ended by a defect of heapwise, which is said above");
                return Ok(Ended::Failed(Failure::new(exit::UNEXPECTED, what)));
            }
            if self.stop.load(Ordering::Acquire) {
                return Ok(Ended::ByUser);
            }
            is_due |= self.model.forget_message();
            if is_due || (self.model.ticks() && drawn.elapsed() >= REDRAW) {
                self.screen.draw(|frame, theme| view::draw(frame, &mut self.model, theme))?;
                (is_due, drawn) = (false, Instant::now());
            }
            if self.screen.wait(self.pause(is_due))? {
                return Ok(Ended::BySignal);
            }
            while event::poll(Duration::ZERO)? {
                is_due = true;
                let Event::Key(key) = event::read()? else { continue };
                let Some(action) = keys::action(key, self.model.is_typing) else { continue };
                if self.act(action) {
                    return Ok(Ended::ByUser);
                }
            }
        }
    }

    /// How long keys are waited for before something else is looked after.
    fn pause(&self, is_due: bool) -> Duration {
        match self.model.is_over() {
            _ if is_due => Duration::ZERO,
            true => LONG_PAUSE,
            false => PAUSE,
        }
    }

    /// Does what a key is for. Says whether the view is over.
    fn act(&mut self, action: Action) -> bool {
        match self.model.act(action) {
            None => false,
            Some(Wish::Quit) => true,
            Some(Wish::Interrupt) => self.interrupt(),
            Some(Wish::Page) => {
                if let Some(update) = &self.model.update {
                    let text = self.pages.begin(&update.file.path, update.read.0, update.sums.time.0);
                    self.model.say(text);
                }
                false
            }
        }
    }

    /// Ctrl-C is for the program that was started here, as long as it runs.
    fn interrupt(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        if self.model.kind == Kind::Program
            && self.model.update.as_ref().is_none_or(|update| update.end.is_none())
        {
            self.own_interrupts += 1;
            _ = signal_hook::low_level::raise(signal_hook::consts::SIGINT);
            self.model.say("interrupted the program".to_owned());
            return false;
        }
        true
    }
}
