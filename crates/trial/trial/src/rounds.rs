//! The order of runs: all participants in turn, closely after each other, round after round.
//!
//! A machine is faster in one minute than in the next one, and whoever runs first fills the caches for the others. So what is
//! compared takes turns, in a new random order each round, and is compared within a round. The round that comes first warms up: it
//! has the given order, shows how long things take, and does not count.

use crate::statistics::random::Random;
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// A scheduler: an iterator over turns. Participants can be left out while it runs.
#[derive(Clone, Debug)]
pub struct Rounds {
    participants: usize,
    /// Neighbours of which so many belong together.
    group: usize,
    /// Rounds that count.
    counted: u32,
    random: Random,
    /// The round that is under way.
    round: u32,
    /// Its turns that are left.
    queue: VecDeque<usize>,
    left_out: BTreeSet<usize>,
    done: u64,
    /// When the last turn began, and how long one takes.
    pace: Pace,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    began: Option<Instant>,
    turn: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub who: usize,
    /// The round: 0 warms up and does not count.
    pub round: u32,
    /// Rounds that count.
    pub rounds: u32,
    /// Turns that were taken.
    pub done: u64,
    /// Turns in all.
    pub total: u64,
    /// About how long this one and the others take, once one was taken.
    pub left: Option<Duration>,
}

/// Where the work is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done now: `jemalloc, round 2 of 5`.
    pub what: String,
    /// Runs that are done.
    pub done: u64,
    /// Runs in all.
    pub total: u64,
    /// Estimated remaining time; `None` while it is unknown.
    pub left: Option<Duration>,
}

impl Turn {
    pub fn counts(&self) -> bool {
        self.round > 0
    }

    /// The same for people.
    pub fn step(&self, what: String) -> Step {
        Step { what, done: self.done, total: self.total, left: self.left }
    }
}

impl Rounds {
    /// A round that warms up, and so many that count. The seed decides on the orders.
    pub fn new(participants: usize, counted: u32, seed: u64) -> Self {
        Self {
            participants,
            group: 1,
            counted,
            random: Random::new(seed),
            round: 0,
            queue: (0..participants).collect(),
            left_out: BTreeSet::new(),
            done: 0,
            pace: Pace::default(),
        }
    }

    /// Each `size` neighbours stay neighbours in each round; both they and the groups have a new order.
    #[must_use]
    pub fn in_groups_of(mut self, size: usize) -> Self {
        self.group = size.max(1);
        self
    }

    /// Without the round that warms up.
    #[must_use]
    pub fn without_warm_up(mut self) -> Self {
        self.queue.clear();
        self
    }

    /// Without one of the participants in the round that warms up.
    #[must_use]
    pub fn without_warm_up_of(mut self, who: usize) -> Self {
        self.queue.retain(|other| *other != who);
        self
    }

    /// Leaves a participant out from now on.
    pub fn leave_out(&mut self, who: usize) {
        self.left_out.insert(who);
    }

    /// Decides anew how many rounds count.
    pub fn set_counted(&mut self, rounds: u32) {
        self.counted = rounds;
    }

    /// Whether the turn that was taken last was the last one of its round.
    pub fn is_round_over(&self) -> bool {
        self.in_round() == 0
    }

    /// Turns that are left of this round.
    fn in_round(&self) -> u64 {
        self.queue.iter().filter(|who| !self.left_out.contains(who)).count() as u64
    }

    /// All turns that are left.
    fn remaining(&self) -> u64 {
        let active = (self.participants - self.left_out.len()) as u64;
        self.in_round() + active * u64::from(self.counted.saturating_sub(self.round))
    }

    fn order(&mut self) -> VecDeque<usize> {
        let all: Vec<usize> = (0..self.participants).collect();
        let mut groups: Vec<&[usize]> = all.chunks(self.group).collect();
        self.random.shuffle(&mut groups);
        let mut order = VecDeque::with_capacity(all.len());
        for group in groups {
            let mut group = group.to_vec();
            self.random.shuffle(&mut group);
            order.extend(group);
        }
        order
    }
}

impl Iterator for Rounds {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        let took = self.pace.began.take().map(|began| began.elapsed());
        if let Some(took) = took {
            // The latest turn weighs as much as all earlier ones together.
            self.pace.turn = Some(self.pace.turn.map_or(took, |before| (before + took) / 2));
            self.done += 1;
        }
        let remaining = self.remaining();
        let who = loop {
            match self.queue.pop_front() {
                Some(who) if self.left_out.contains(&who) => {}
                Some(who) => break who,
                None if remaining == 0 => return None,
                None => {
                    self.round += 1;
                    self.queue = self.order();
                }
            }
        };
        self.pace.began = Some(Instant::now());
        let left = self.pace.turn.map(|turn| turn * u32::try_from(remaining).unwrap_or(u32::MAX));
        let (done, total) = (self.done, self.done + remaining);
        Some(Turn { who, round: self.round, rounds: self.counted, done, total, left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The turns of each round.
    fn orders(rounds: Rounds) -> Vec<Vec<usize>> {
        let mut all: Vec<Vec<usize>> = Vec::new();
        let mut last = None;
        for turn in rounds {
            if last != Some(turn.round) {
                all.push(Vec::new());
            }
            last = Some(turn.round);
            all.last_mut().unwrap().push(turn.who);
        }
        all
    }

    #[test]
    fn all_have_a_turn_in_each_round_in_changing_orders_and_in_the_given_one_first() {
        let all = orders(Rounds::new(6, 20, 5));
        assert_eq!((all.len(), all[0].as_slice()), (21, &[0, 1, 2, 3, 4, 5][..]));
        for order in &all {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        }
        let counted = || all[1..].iter();
        assert!(counted().collect::<BTreeSet<_>>().len() > 15, "the order hardly changes");
        // Each one takes each place.
        for place in 0..6 {
            assert!(counted().map(|order| order[place]).collect::<BTreeSet<_>>().len() >= 4, "{all:?}");
        }
        assert_ne!(all, orders(Rounds::new(6, 20, 6)), "the seed decides");
        assert_eq!(orders(Rounds::new(6, 20, 5).without_warm_up()).len(), 20);
        assert_eq!(orders(Rounds::new(3, 1, 5).without_warm_up_of(2))[0], [0, 1]);
        assert_eq!(orders(Rounds::new(0, 3, 1)), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn groups_stay_together_and_change_their_places() {
        let all = orders(Rounds::new(20, 20, 3).in_groups_of(4));
        for order in &all {
            assert!(
                order.chunks(4).all(|group| group.iter().all(|who| who / 4 == group[0] / 4)),
                "{order:?}"
            );
        }
        assert!(all.iter().map(|order| order[0] / 4).collect::<BTreeSet<_>>().len() >= 4);
        assert!(all.iter().map(|order| order[0] % 4).collect::<BTreeSet<_>>().len() == 4);
    }

    #[test]
    fn who_is_left_out_has_no_more_turns_and_the_count_knows() {
        let mut rounds = Rounds::new(3, 2, 1);
        let mut turns = Vec::new();
        while let Some(turn) = rounds.next() {
            assert_eq!(turn.left.is_some(), turn.done > 0);
            turns.push(turn);
            if turn.who == 1 {
                rounds.leave_out(1);
            }
            // A participant whose turn in the same round is still to come.
            if turn.round == 0 && turn.who == 0 {
                rounds.leave_out(2);
            }
        }
        assert_eq!(turns.iter().map(|turn| turn.who).collect::<Vec<_>>(), [0, 1, 0, 0]);
        assert_eq!(turns.iter().map(|turn| turn.total).collect::<Vec<_>>(), [9, 6, 4, 4]);
        assert_eq!(turns.last().map(|turn| (turn.done, turn.round)), Some((3, 2)));
    }

    #[test]
    fn how_many_rounds_count_may_be_decided_when_the_first_one_is_over() {
        let mut rounds = Rounds::new(2, 5, 1);
        let mut n = 0;
        while let Some(turn) = rounds.next() {
            n += 1;
            assert_eq!(rounds.is_round_over(), n % 2 == 0);
            if !turn.counts() && rounds.is_round_over() {
                rounds.set_counted(1);
            }
        }
        assert_eq!(n, 4);
    }
}
