//! Findings: what to change, and why.

use super::escape::{Spot, prose};
use crate::units::{bytes, count, time};
use heapwise_diagnosis::{Diagnosis, Estimate};

/// What to change first.
pub(super) fn insights(out: &mut String, diagnosis: &Diagnosis, top: usize) {
    if diagnosis.insights.is_empty() {
        return;
    }
    out.push_str("\n#### What to change\n\n");
    for (i, insight) in diagnosis.insights.iter().take(top).enumerate() {
        let (severity, certainty) = (insight.severity.id(), insight.certainty.id());
        let title = prose(&insight.title, Spot::Line);
        out.push_str(&format!("{}. {title} ({severity}, {certainty})\n", i + 1));
        let indent = " ".repeat((i + 1).to_string().len() + 2);
        let mut point = |text: &str| out.push_str(&format!("{indent}- {text}\n"));
        for sentence in insight.evidence.iter().filter(|sentence| !sentence.trim().is_empty()) {
            point(&prose(sentence, Spot::Line));
        }
        if let Some(saved) = saved(&insight.estimate) {
            point(&format!("would save {saved}"));
        }
        for line in insight.remedy.lines().filter(|line| !line.trim().is_empty()) {
            point(&prose(line, Spot::Line));
        }
    }
    if diagnosis.insights.len() > top {
        out.push_str(&format!("\nand {} more\n", diagnosis.insights.len() - top));
    }
}

fn saved(estimate: &Estimate) -> Option<String> {
    let Estimate { allocations, allocated_bytes, peak_bytes, time: spent } = estimate;
    let parts = [
        (*allocations > 0).then(|| format!("{} allocations", count(*allocations))),
        (allocated_bytes.0 > 0).then(|| format!("{} requested", bytes(allocated_bytes.0))),
        (peak_bytes.0 > 0).then(|| format!("{} at the peak", bytes(peak_bytes.0))),
        (spent.0 > 0).then(|| format!("about {}", time(spent.0))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
