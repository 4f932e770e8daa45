//! Tables of the user's places, by what they cost; and the stacks of those with most allocations.

use super::rows::stack_of;
use super::{Subject, counted, rest};
use crate::document::{Block, Cell, Column, Role, Row, Section, Shown, Stack, Table, Words};
use crate::units::{bytes, count, share};
use heapwise_analysis::{Measure, Numbers};

/// One table.
pub(super) struct Ranking {
    title: &'static str,
    /// What it is sorted by.
    pub(super) measure: Measure,
    /// The other column: bytes beside a count, or a count.
    beside: Measure,
    pub(super) heads: (&'static str, &'static str),
    help: &'static str,
    /// Some tables are omitted on a page, which has columns for all measures.
    shown: Shown,
}

pub(super) const TABLES: &[Ranking] = &[
    Ranking {
        title: "Most allocations",
        measure: Measure::Allocations,
        beside: Measure::AllocatedBytes,
        heads: ("allocations", "bytes"),
        help: "borrow, reuse or reserve to avoid them",
        shown: Shown::Everywhere,
    },
    Ranking {
        title: "Most bytes allocated",
        measure: Measure::AllocatedBytes,
        beside: Measure::Allocations,
        heads: ("bytes", "allocations"),
        help: "summed over the whole run, freed or not",
        shown: Shown::Terminal,
    },
    Ranking {
        title: "Live at the peak",
        measure: Measure::PeakBytes,
        beside: Measure::PeakBlocks,
        heads: ("bytes", "blocks"),
        help: "what the highest memory use consists of",
        shown: Shown::Everywhere,
    },
    Ranking {
        title: "Temporary allocations",
        measure: Measure::TemporaryAllocations,
        beside: Measure::Allocations,
        heads: ("temporary", "allocations"),
        help: "freed at once: often not needed at all",
        shown: Shown::Terminal,
    },
    Ranking {
        title: "Live at exit",
        measure: Measure::LiveAtExitBytes,
        beside: Measure::LiveAtExitBlocks,
        heads: ("bytes", "blocks"),
        help: "leaked, or kept on purpose",
        shown: Shown::Terminal,
    },
];

impl Ranking {
    /// Both columns of a row.
    pub(super) fn amounts(&self, numbers: &Numbers) -> [String; 2] {
        let part = self.measure.of(numbers);
        let beside = self.beside.of(numbers);
        if self.measure.is_bytes() {
            [bytes(part), count(beside)]
        } else if self.beside.is_bytes() {
            [count(part), bytes(beside)]
        } else {
            [count(part), format!("of {}", count(beside))]
        }
    }
}

/// Columns of a count or an amount.
pub(super) const WIDE: usize = 11;

/// Places with less than one part in so many are left to the number of the others, where there is more to be seen inside of the first.
const SMALL: u64 = 100;

/// A table with so many rows at most.
pub(super) fn table(
    subject: &Subject<'_>,
    ranking: &Ranking,
    most: usize,
    omits_small: bool,
) -> Option<Section> {
    let measure = ranking.measure;
    let whole = measure.of_run(subject.analysis);
    let mut top = subject.rows.top(measure, most);
    if omits_small {
        top.retain(|row| measure.of(&row.sums).saturating_mul(SMALL) >= whole);
    }
    if top.is_empty() {
        return None;
    }
    let on_terminal = |title| Column::new(title).least(WIDE).only(Shown::Terminal);
    let on_pages = |title| Column::new(title).only(Shown::Pages);
    let is_sample = subject.analysis.sampled.is_some();
    let mut columns = vec![Column::new("share").least(6)];
    // How far the estimate may be off.
    columns.extend(is_sample.then(|| Column::new("95 %").least(9)));
    columns.extend([on_terminal(ranking.heads.0), on_terminal(ranking.heads.1), on_pages("allocations")]);
    // What follows a block cannot be seen in a sample.
    columns.extend((!is_sample).then(|| on_pages("temporary")));
    columns.extend([
        on_pages("bytes"),
        on_pages("at the peak"),
        on_pages("at exit"),
        Column::new("place").short("where"),
        on_pages("via"),
    ]);
    let row = |row: &&super::rows::Row| {
        let sums = &row.sums;
        let [part, beside] = ranking.amounts(sums);
        let amounts = [sums.allocated_bytes, sums.peak_bytes, sums.live_at_exit_bytes].map(bytes);
        let temporary = (!is_sample).then_some(sums.temporary_allocations);
        let counts = [sums.allocations].into_iter().chain(temporary).map(count);
        let around = is_sample.then(|| row.around(measure));
        let numbers =
            [share(measure.of(sums), whole)].into_iter().chain(around).chain([part, beside]).chain(counts);
        let numbers = numbers.chain(amounts).map(Cell::number);
        let via = row.via(measure).0;
        let via = if via.is_empty() { Cell::empty() } else { Cell::text(Words::name(via)) };
        let stack = subject.options.stacks.then(|| main_stack(subject, row, measure)).flatten();
        Row { stack, ..Row::of(numbers.chain([Cell::place(row.as_place(measure)), via])) }
    };
    let places = subject.rows.list.iter().filter(|r| measure.of(&r.sums) > 0).count();
    let table = Table {
        rows: top.iter().map(row).collect(),
        rest: rest(places, top.len(), "place", "places"),
        ..Table::new(columns)
    };
    let all = if measure.is_bytes() { bytes(whole) } else { count(whole) };
    let aside = format!("{all} in all; {}", ranking.help);
    Some(Section::new(ranking.title, [Block::Table(table)]).aside(aside).only(ranking.shown))
}

/// The stack of the site with the largest part of a row.
fn main_stack(subject: &Subject<'_>, row: &super::rows::Row, measure: Measure) -> Option<Stack> {
    let (id, others) = row.main_site(measure)?;
    let mut stack =
        stack_of(subject.analysis, subject.analysis.sites().get(id.0 as usize)?, subject.folder());
    if others > 0 {
        let others = counted(others as u64, "other stack", "other stacks");
        stack.notes.push(format!("and {others} through the same place"));
    }
    Some(stack)
}

/// The stacks of the places with most allocations, folded.
pub(super) fn stacks(subject: &Subject<'_>) -> Vec<Section> {
    let measure = TABLES[0].measure;
    let stack = |row: &super::rows::Row| {
        let (id, others) = row.main_site(measure)?;
        let site = subject.analysis.sites().get(id.0 as usize)?;
        let mut count = format!(", {}", counted(site.allocations, "allocation", "allocations"));
        if others > 0 {
            let others = counted(others as u64, "more stack", "more stacks");
            count.push_str(&format!(" (and {others} through the same place)"));
        }
        let lead = Words::name(&*row.function).and(Role::Own, count);
        Some(Block::Stack(lead, stack_of(subject.analysis, site, subject.folder())))
    };
    let top = subject.rows.top(measure, subject.options.top);
    let blocks: Vec<Block> = top.into_iter().filter_map(stack).collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Section::new("Stacks of the places with most allocations", blocks).folded()]
}
