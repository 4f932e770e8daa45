//! The first line, and the sums.

use super::super::clock::clock;
use super::super::model::Model;
use super::super::update::Update;
use super::theme::Theme;
use heapwise_report::names::{fit, width_of};
use heapwise_report::units::{bytes, count};
use ratatui::text::{Line, Span};

/// What runs, and its state.
pub(super) fn line(model: &Model, width: u16, theme: &Theme) -> Line<'static> {
    let width = usize::from(width);
    let Some(update) = &model.update else {
        return Line::styled(format!("{:<width$}", fit(&format!(" {}", model.subject), width)), theme.head);
    };
    let subject = &update.subject;
    let is_sample = subject.sample_bytes > 1;
    // In the order in which they are shown; those with a higher number give way first.
    let mut facts = vec![(0, state(model, update)), (2, clock(update.sums.time.0))];
    facts.push((3, format!("pid {}", subject.pid)));
    if subject.processes > 1 && update.sums.running > 0 {
        let running = count(update.sums.running as u64);
        facts.push((4, format!("{running} of {} processes", count(subject.processes as u64))));
    }
    if !subject.allocator.is_empty() {
        facts.push((5, subject.allocator.clone()));
    }
    if is_sample {
        let long = format!("estimates, of a sample of {}", bytes(subject.sample_bytes));
        facts.push((1, if width >= 110 { long } else { "estimates".to_owned() }));
    }
    // The command keeps a third.
    let room = width - width / 3;
    while facts.len() > 1 && length(&facts) > room {
        let least = facts.iter().enumerate().max_by_key(|(_, (rank, _))| *rank).map_or(0, |(at, _)| at);
        facts.remove(least);
    }
    let right = facts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" · ");
    let right = fit(&right, width.saturating_sub(2));
    let left = fit(&subject.command, width.saturating_sub(width_of(&right) + 3));
    let gap = width.saturating_sub(width_of(&left) + width_of(&right) + 2);
    Line::styled(format!(" {left}{:gap$}{right} ", ""), theme.head)
}

fn length(facts: &[(u8, String)]) -> usize {
    facts.iter().map(|(_, text)| width_of(text) + 3).sum()
}

fn state(model: &Model, update: &Update) -> String {
    let (read, there) = update.read;
    let state = match (&update.end, &update.trouble) {
        (Some(end), _) => end.clone(),
        (None, Some(trouble)) => trouble.clone(),
        _ if update.is_behind => {
            format!("catching up, {} %", u128::from(read) * 100 / u128::from(there.max(1)))
        }
        _ if update.is_removed => "the file was removed".to_owned(),
        _ => match model.silence() {
            Some(_) if update.is_cut => "the file is cut off".to_owned(),
            Some(quiet) => format!("no news for {} s", quiet.as_secs()),
            None => "running".to_owned(),
        },
    };
    if model.is_paused { format!("PAUSED, {state}") } else { state }
}

/// Rates and sums, as many as there is room for.
pub(super) fn sums(update: &Update, width: u16, theme: &Theme) -> Line<'static> {
    let sums = &update.sums;
    let running = update.threads.iter().filter(|thread| !thread.has_ended).count() as u64;
    let mut facts = vec![
        format!("{} allocs/s", count(update.rate[0])),
        format!("{}/s", bytes(update.rate[1])),
        format!("{} live blocks", count(sums.live_blocks)),
    ];
    if sums.totals.lost_events > 0 {
        facts.push(format!("{} events lost", count(sums.totals.lost_events)));
    }
    facts.extend([
        format!("{} allocations", count(sums.totals.allocations + sums.totals.reallocations)),
        format!("{} in all", bytes(sums.totals.allocated_bytes.0)),
        match running {
            1 => "1 thread".to_owned(),
            n => format!("{} threads", count(n)),
        },
    ]);
    let mut text = String::new();
    for fact in facts {
        let with = if text.is_empty() { fact } else { format!("{text} · {fact}") };
        if width_of(&with) > usize::from(width) {
            break;
        }
        text = with;
    }
    Line::from(Span::styled(text, theme.strong))
}
