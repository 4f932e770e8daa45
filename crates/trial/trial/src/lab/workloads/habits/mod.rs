//! Habits that allocate more than the work needs, and the same work without them: those of the article about memory allocation, one
//! file each.

mod borrow;
mod capacity;
mod clone;
mod reuse;

use super::Workload;
use crate::lab::worker::Stopwatch;
use crate::statistics::random::Random;

pub(super) const BORROW: &dyn Workload = &Habit {
    name: "borrow",
    about: "words are counted in a map of owned keys",
    before: borrow::before,
    after: borrow::after,
};
pub(super) const CAPACITY: &dyn Workload = &Habit {
    name: "capacity",
    about: "lists are built value by value",
    before: capacity::before,
    after: capacity::after,
};
pub(super) const CLONE: &dyn Workload = &Habit {
    name: "clone",
    about: "names are compared with the best ones",
    before: clone::before,
    after: clone::after,
};
pub(super) const REUSE: &dyn Workload = &Habit {
    name: "reuse",
    about: "lines are split into fields",
    before: reuse::before,
    after: reuse::after,
};

/// Work that is done in two ways.
struct Habit {
    name: &'static str,
    about: &'static str,
    before: fn(&[String]) -> u64,
    after: fn(&[String]) -> u64,
}

/// How often the texts are gone through.
const PASSES: u64 = 20;

impl Workload for Habit {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn unit(&self) -> &'static str {
        "texts"
    }

    /// The numbers are texts, and whether it is done the better way (1).
    fn run(&self, numbers: &[u64], watch: &mut Stopwatch) -> u64 {
        let texts = texts(numbers.first().copied().unwrap_or_default());
        let way = if numbers.get(1).copied().unwrap_or_default() == 1 { self.after } else { self.before };
        watch.moment("baseline");
        let checksum = (0..PASSES).map(|_| way(&texts)).fold(0, u64::wrapping_add);
        watch.moment("full");
        checksum
    }
}

/// Lines of words, as many of them as names in a contest: 3 to 8 words of 3 to 12 letters. Each line is one block, and no other is
/// allocated: a recording is to show the habit.
fn texts(count: u64) -> Vec<String> {
    /// Of eight words of twelve letters.
    const LONGEST: usize = 8 * 13;
    let mut random = Random::new(4711);
    let mut buffer = String::with_capacity(LONGEST);
    let mut line = || {
        buffer.clear();
        for at in 0..3 + random.below(6) {
            if at > 0 {
                buffer.push(' ');
            }
            push_word(&mut buffer, 3 + random.below(10), random.below(2000));
        }
        buffer.clone()
    };
    (0..count).map(|_| line()).collect()
}

/// The word of a number, of so many letters.
fn push_word(line: &mut String, letters: u64, number: u64) {
    let mut own = Random::new(number);
    line.extend((0..letters).map(|_| char::from(b'a' + own.below(26) as u8)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_come_to_the_same() {
        let texts = texts(300);
        for (before, after) in [
            (borrow::before as fn(&[String]) -> u64, borrow::after as fn(&[String]) -> u64),
            (capacity::before, capacity::after),
            (clone::before, clone::after),
            (reuse::before, reuse::after),
        ] {
            let sum = before(&texts);
            assert_eq!(sum, after(&texts));
            assert_ne!(sum, before(&texts[..200]));
        }
    }
}
