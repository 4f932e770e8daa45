//! What to change first, from the insights.

use super::TextOptions;
use super::page::{Ink, Page};
use super::rows::place_of;
use crate::escape::terminal::escape;
use crate::units::{bytes, share, time};
use heapwise_analysis::{Analysis, Frame, SiteId};
use heapwise_diagnosis::Insight;

/// So many are told in full; the others in a line each.
const IN_FULL: usize = 5;

/// The insights, the most rewarding first. Says whether there was one.
pub(crate) fn look_first(
    page: &mut Page,
    analysis: &Analysis,
    insights: &[Insight],
    options: &TextOptions,
) -> bool {
    if insights.is_empty() {
        return false;
    }
    page.heading("LOOK FIRST AT", "the most rewarding first; what they save is estimated");
    for (i, insight) in insights.iter().enumerate() {
        let number = format!("{:>3}. ", i + 1);
        page.paragraph(Some(Ink::Heading), &number, &escape(&insight.title));
        if i >= IN_FULL.min(options.top) {
            continue;
        }
        page.paragraph(Some(Ink::Faint), "     ", &worth(analysis, insight));
        if let Some(frame) = insight.site.and_then(|site| user_frame(analysis, site)) {
            at(page, &frame, options);
        }
        let evidence = insight.evidence.join("; ");
        page.paragraph(None, "     ", &format!("{}.", escape(&evidence)));
        page.paragraph(None, "     → ", &escape(&insight.remedy));
    }
    true
}

/// How much it matters and how sure it is, and what following it saves.
fn worth(analysis: &Analysis, insight: &Insight) -> String {
    let requests = analysis.totals.allocations + analysis.totals.reallocations;
    let estimate = &insight.estimate;
    let mut saves = Vec::new();
    if estimate.allocations > 0 {
        saves.push(format!("{} of all requests", share(estimate.allocations, requests)));
    }
    if estimate.allocated_bytes.0 > 0 && estimate.allocations > 0 {
        saves.push(bytes(estimate.allocated_bytes.0));
    }
    if estimate.peak_bytes.0 > 0 {
        saves.push(format!("{} at the peak", bytes(estimate.peak_bytes.0)));
    }
    if estimate.time.0 >= 1_000 {
        saves.push(format!("about {}", time(estimate.time.0 / 1_000 * 1_000)));
    }
    let head = format!("{} · {} · {}", insight.severity.id(), insight.certainty.id(), insight.id);
    if saves.is_empty() { head } else { format!("{head} · saves {}", saves.join(", ")) }
}

fn user_frame<'a>(analysis: &'a Analysis, site: SiteId) -> Option<Frame<'a>> {
    let site = analysis.sites().get(site.0 as usize)?;
    site.user_frame.and_then(|i| analysis.stack(site).get(i).copied())
}

/// Where it is, and what stands there.
fn at(page: &mut Page, frame: &Frame<'_>, options: &TextOptions) {
    let (Some(file), Some(line)) = (frame.file, frame.line) else { return };
    page.line(&[(Some(Ink::Faint), "     at "), (Some(Ink::Name), &place_of(frame, options))]);
    if let Some(code) = options.source.line(file, line) {
        page.line(&[(Some(Ink::Faint), "      │ "), (None, &escape(&code))]);
    }
}
