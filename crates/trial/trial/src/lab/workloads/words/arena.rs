//! A hash table in two blocks: the places, and one long string that all words are in. Both double when they are full, so that
//! a million words are some forty allocations.

use super::{Counter, hash};

/// A place of the table; one without a count is free.
#[derive(Clone, Copy, Default)]
struct Place {
    hash: u32,
    /// Where the word begins, and how long it is.
    start: u32,
    len: u32,
    n: u32,
}

#[derive(Default)]
pub(super) struct Arena {
    /// A power of two, or none; at most half full.
    places: Vec<Place>,
    len: usize,
    words: String,
}

impl Arena {
    fn word(&self, place: Place) -> &str {
        &self.words[place.start as usize..(place.start + place.len) as usize]
    }

    /// The place of a word, or a free one for it.
    fn find(&self, hash: u32, is_it: impl Fn(Place) -> bool) -> usize {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let place = self.places[at];
            if place.n == 0 || (place.hash == hash && is_it(place)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let more = (self.places.len() * 2).max(16);
        let old = std::mem::replace(&mut self.places, vec![Place::default(); more]);
        for place in old.into_iter().filter(|place| place.n > 0) {
            // All words are different, so each gets a free place.
            let at = self.find(place.hash, |_| false);
            self.places[at] = place;
        }
    }
}

impl Counter for Arena {
    fn count(&mut self, word: &str) {
        if self.len * 2 >= self.places.len() {
            self.grow();
        }
        let hash = hash(word);
        let hash = (hash ^ (hash >> 32)) as u32;
        let at = self.find(hash, |place| self.word(place) == word);
        if self.places[at].n == 0 {
            // Texts of workers are far below 4 GiB; counting one that is not would go wrong here and not silently.
            let start = u32::try_from(self.words.len()).expect("a text of less than 4 GiB");
            self.words.push_str(word);
            self.places[at] = Place { hash, start, len: word.len() as u32, n: 0 };
            self.len += 1;
        }
        self.places[at].n += 1;
    }

    fn each(&self, tell: &mut dyn FnMut(&str, u64)) {
        for place in self.places.iter().filter(|place| place.n > 0) {
            tell(self.word(*place), u64::from(place.n));
        }
    }
}
