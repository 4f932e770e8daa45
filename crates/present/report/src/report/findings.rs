//! The findings: what to change first.

use super::Subject;
use super::rows::place_of;
use crate::document::{Block, Evidence, Finding, Mark, Role, Section, Shown, Words};
use crate::units::{about, bytes, count, share};
use heapwise_analysis::{Analysis, Frame, SiteId};
use heapwise_diagnosis::{self as diagnosis, Diagnosis};

/// So many are shown in full on a terminal; the others in a line each.
const IN_FULL: usize = 5;
const TITLE: &str = "Findings";
const ASIDE: &str = "most valuable first; savings are estimates";

pub(super) fn sections(subject: &Subject<'_>) -> Vec<Section> {
    let (findings, top) = (&subject.diagnosis.findings, subject.options.top);
    if findings.is_empty() {
        return Vec::new();
    }
    let finding = |(at, found): (usize, &diagnosis::Finding)| {
        let is_brief = at >= IN_FULL.min(top);
        let finding = Block::Finding(Finding { is_brief, ..finding(subject, at + 1, found) });
        if at < top { finding } else { finding.only(Shown::Terminal) }
    };
    let mut blocks: Vec<Block> = findings.iter().enumerate().map(finding).collect();
    blocks.extend(withheld(subject.diagnosis));
    if findings.len() > top {
        let more = format!("and {} more", findings.len() - top);
        blocks.push(Block::line(Mark::Plain, more).only(Shown::Pages));
    }
    vec![Section::new(TITLE, blocks).aside(ASIDE)]
}

/// Those of some places in the whole list, in full, behind what is to be said of all of them.
pub(super) fn some(subject: &Subject<'_>, places: &[usize], of_all: Option<String>) -> Vec<Section> {
    let found = places.iter().filter_map(|&at| Some((at, subject.diagnosis.findings.get(at)?)));
    let mut blocks: Vec<Block> =
        found.map(|(at, found)| Block::Finding(finding(subject, at + 1, found))).collect();
    if let (Some(of_all), false) = (of_all, blocks.is_empty()) {
        blocks.insert(0, Block::line(Mark::Item, of_all));
    }
    if !blocks.is_empty() {
        blocks.extend(withheld(subject.diagnosis));
    }
    if blocks.is_empty() { Vec::new() } else { vec![Section::new(TITLE, blocks).aside(ASIDE)] }
}

/// What stands in the place of findings that are all too small.
pub(super) fn none(subject: &Subject<'_>, why: String, instead: impl Iterator<Item = Block>) -> Section {
    let why = std::iter::once(Block::line(Mark::Item, why));
    let blocks: Vec<Block> = why.chain(instead).chain(withheld(subject.diagnosis)).collect();
    Section::new(TITLE, blocks)
}

/// Why something is not among them.
fn withheld(diagnosis: &Diagnosis) -> Option<Block> {
    let rules: Vec<&str> = diagnosis.withheld.iter().copied().filter(|what| *what != "verdict").collect();
    let unseen = diagnosis.unseen.as_ref().filter(|_| !rules.is_empty())?;
    let text = format!("withheld ({}): {}", rules.join(", "), unseen.sentence);
    Some(Block::line(Mark::Item, Words::of(Role::Caveat, text)))
}

fn finding(subject: &Subject<'_>, number: usize, found: &diagnosis::Finding) -> Finding {
    let frame = found.site.and_then(|site| user_frame(subject.analysis, site));
    let at = frame.and_then(|frame| {
        let code = subject.options.source.line(frame.file?, frame.line?);
        Some((place_of(&frame, subject.folder()), code))
    });
    Finding {
        number: Some(number),
        title: found.title.clone(),
        tags: [found.severity.id(), found.certainty.id(), found.id].map(str::to_owned).into(),
        saves: saves(subject, found),
        at,
        evidence: Evidence::Sentences(found.evidence.clone()),
        remedy: found.remedy.clone(),
        ..Finding::default()
    }
}

/// What following it saves: a short form, and a longer one.
fn saves(subject: &Subject<'_>, found: &diagnosis::Finding) -> Option<[String; 2]> {
    let totals = &subject.analysis.totals;
    let all = if subject.diagnosis.unseen.is_some() { "the recorded" } else { "all" };
    let estimate = &found.estimate;
    let [mut short, mut whole] = [Vec::new(), Vec::new()];
    let calls = [
        (estimate.allocations, totals.allocations, "allocations"),
        (estimate.reallocations, totals.reallocations, "reallocations"),
    ];
    for (saved, of, what) in calls.into_iter().filter(|(saved, _, _)| *saved > 0) {
        let share = share(saved, of);
        whole.push(format!("{} {what} ({share} of {all})", count(saved)));
        short.push(format!("{share} of {all} {what}"));
    }
    if estimate.allocated_bytes.0 > 0 {
        whole.push(format!("{} requested", bytes(estimate.allocated_bytes.0)));
        short.extend((estimate.requests() > 0).then(|| bytes(estimate.allocated_bytes.0)));
    }
    if estimate.peak_bytes.0 > 0 {
        let peak = format!("{} at the peak", bytes(estimate.peak_bytes.0));
        whole.push(peak.clone());
        short.push(peak);
    }
    if estimate.time.0 >= 1_000 {
        let about = format!("about {}", about(estimate.time.0));
        whole.push(about.clone());
        short.push(about);
    }
    (!whole.is_empty()).then(|| [short.join(", "), whole.join(", ")])
}

fn user_frame<'a>(analysis: &'a Analysis, site: SiteId) -> Option<Frame<'a>> {
    let site = analysis.sites().get(site.0 as usize)?;
    analysis.up_to_place(site).last().copied()
}
