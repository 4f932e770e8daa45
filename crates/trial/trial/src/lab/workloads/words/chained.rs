//! A hash table as in a textbook: a list of nodes in each place, and a separate block for each node and each word. It has more
//! blocks than any other here, so it suffers most.

use super::{Counter, hash};

struct Node {
    word: Box<str>,
    n: u64,
    next: Option<Box<Node>>,
}

#[derive(Default)]
pub(super) struct Chained {
    /// A power of two, or none.
    places: Vec<Option<Box<Node>>>,
    len: usize,
}

impl Chained {
    fn place(&self, word: &str) -> usize {
        hash(word) as usize & (self.places.len() - 1)
    }

    /// As many places as words, so that lists stay short: nodes are dropped one inside of the other.
    fn grow(&mut self) {
        let more = (self.places.len() * 2).max(16);
        let old = std::mem::take(&mut self.places);
        self.places.resize_with(more, || None);
        for mut list in old {
            while let Some(mut node) = list {
                list = node.next.take();
                let place = self.place(&node.word);
                node.next = self.places[place].take();
                self.places[place] = Some(node);
            }
        }
    }
}

impl Counter for Chained {
    fn count(&mut self, word: &str) {
        if self.len == self.places.len() {
            self.grow();
        }
        let place = self.place(word);
        let mut next = self.places[place].as_mut();
        while let Some(node) = next {
            if *node.word == *word {
                node.n += 1;
                return;
            }
            next = node.next.as_mut();
        }
        let next = self.places[place].take();
        self.places[place] = Some(Box::new(Node { word: word.into(), n: 1, next }));
        self.len += 1;
    }

    fn each(&self, tell: &mut dyn FnMut(&str, u64)) {
        for list in &self.places {
            let mut next = list.as_ref();
            while let Some(node) = next {
                tell(&node.word, node.n);
                next = node.next.as_ref();
            }
        }
    }
}
