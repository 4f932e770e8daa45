//! Looks names up on a thread of its own, and not all the time: symbols of a large program take seconds, and there are ever more stacks.

use super::update::{PlaceName, Places};
use crate::symbolize;
use heapwise_analysis::{Follow, ImageAddresses, StackPlace};
use heapwise_report::escape::terminal::escape;
use heapwise_report::{function_of, place_of};
use heapwise_trace::file::tables::Symbols;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Stacks that are named first, those with most: what fits on a screen is among them. Then it is twice as many each time, since all
/// that have names are gone through again.
const FIRST: usize = 250;
/// A pause after naming, in units of what it took, and at least.
const PAUSE: u32 = 3;
const SHORTEST_PAUSE: Duration = Duration::from_millis(300);

/// The thread, and what has come of it.
#[derive(Debug)]
pub(super) struct Naming {
    wanted: Sender<Vec<ImageAddresses>>,
    found: Receiver<Symbols>,
    /// When what is being looked up was asked for.
    asked: Option<Instant>,
    next: Instant,
    at_once: usize,
    /// How often names have come.
    rounds: u64,
    folder: Option<String>,
    places: Arc<Places>,
}

impl Naming {
    pub(super) fn start() -> std::io::Result<Self> {
        let (wanted, list) = channel::<Vec<ImageAddresses>>();
        let (results, found) = channel();
        std::thread::Builder::new().name("names".into()).spawn(move || {
            for images in list {
                // What could not be read is in the report; here the address is shown.
                if results.send(symbolize::look_up(images)).is_err() {
                    break;
                }
            }
        })?;
        let folder = crate::report::current_folder();
        Ok(Self {
            wanted,
            found,
            asked: None,
            next: Instant::now(),
            at_once: FIRST,
            rounds: 0,
            folder,
            places: Arc::default(),
        })
    }

    /// Takes names that have come, and asks for more. Says whether there are new ones, or some are still to come.
    pub(super) fn go_on<R: Read>(&mut self, follow: &mut Follow<R>) -> bool {
        let now = Instant::now();
        if let Some(asked) = self.asked {
            let Ok(symbols) = self.found.try_recv() else { return true };
            follow.add_symbols(symbols);
            self.take(follow, asked);
            return true;
        }
        if now < self.next {
            return true;
        }
        if follow.has_new_symbols() {
            follow.find_places();
            self.take(follow, now);
            return true;
        }
        match follow.unnamed(self.at_once) {
            // Other stacks of addresses that are known.
            Some(images) if images.is_empty() => {
                follow.add_symbols(Symbols::default());
                self.take(follow, now);
                true
            }
            Some(images) => {
                self.asked = self.wanted.send(images).is_ok().then_some(now);
                self.asked.is_some()
            }
            None => false,
        }
    }

    fn take<R: Read>(&mut self, follow: &Follow<R>, since: Instant) {
        self.places = Arc::new(self.places_of(follow));
        self.rounds += 1;
        self.at_once = self.at_once.saturating_mul(2);
        self.asked = None;
        self.next = Instant::now() + (since.elapsed() * PAUSE).max(SHORTEST_PAUSE);
    }

    fn places_of<R: Read>(&self, follow: &Follow<R>) -> Places {
        let mut ids: HashMap<PlaceName, u32> = HashMap::new();
        let stacks = 0..follow.stacks().count();
        let of_stack = stacks.map(|stack| {
            let name = match follow.place(stack) {
                StackPlace::NotYet => return None,
                StackPlace::Unknown => {
                    PlaceName { function: "(stack unknown)".to_owned(), at: String::new() }
                }
                StackPlace::Frame(frame) => PlaceName {
                    function: escape(&function_of(&frame)).into_owned(),
                    at: escape(&place_of(&frame, self.folder.as_deref())).into_owned(),
                },
            };
            let next = ids.len() as u32;
            Some(*ids.entry(name).or_insert(next))
        });
        let of_stack = of_stack.collect();
        let mut names = vec![PlaceName::default(); ids.len()];
        ids.into_iter().for_each(|(name, id)| names[id as usize] = name);
        Places { names, of_stack }
    }

    /// How often names have come.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    pub(super) fn places(&self) -> Arc<Places> {
        Arc::clone(&self.places)
    }
}
