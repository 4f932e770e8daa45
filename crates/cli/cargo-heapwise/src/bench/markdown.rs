//! The result for a comment on a pull request, as GitHub shows it.
//!
//! What changed is in a table that is seen at once, the rest is folded. Names of benchmarks are those of whoever opened the pull
//! request, and stay text (`escape.rs`).

use super::compare::{Comparison, Pair, Row, Verdict};
use super::measure::BenchMeasure;
use super::numbers::percent;
use super::text::{first, level, summary};
use heapwise_report::escape::markdown::{Spot, code};
use std::fmt::Write;

/// GitHub refuses comments of more than 65,536 characters.
const MOST_CHARACTERS: usize = 60_000;

/// All of it.
pub(crate) fn render(comparison: &Comparison<'_>) -> String {
    let mut out = String::from("### Heap per iteration");
    let Some(baseline) = comparison.baseline else {
        out.push_str("\n\n");
        rows(&mut out, comparison.rows.iter().collect());
        return out;
    };
    let verdict = match comparison.worse() {
        0 => "No benchmark needs more than its iterations vary by.".to_owned(),
        1 => "**1 benchmark needs more.**".to_owned(),
        n => format!("**{n} benchmarks need more.**"),
    };
    let summary = summary(comparison);
    let _ =
        write!(out, ", compared with baseline {}\n\n{verdict} {summary}.\n\n", code(baseline, Spot::Line));
    let is_changed =
        |row: &&Row<'_>| !matches!(row.verdict, Verdict::Same | Verdict::Varies) || first(row).is_some();
    let (mut changed, rest): (Vec<_>, Vec<_>) = comparison.rows.iter().partition(is_changed);
    // What has to be looked at comes first.
    changed.sort_by_key(|row| match row.verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        _ => 2,
    });
    rows(&mut out, changed);
    if !rest.is_empty() {
        let _ = write!(out, "<details><summary>{} without a change that counts</summary>\n\n", rest.len());
        rows(&mut out, rest);
        out.push_str("</details>\n\n");
    }
    let allowed = BenchMeasure::ALL.map(|m| format!("{} {}", m.title(), comparison.thresholds.of(m)));
    let _ = writeln!(
        out,
        "Means of iterations, the first one left out. A benchmark is worse if every iteration needs more than each of the baseline's, \
         and the mean more than is allowed ({}).",
        allowed.join(", ")
    );
    out
}

fn rows(out: &mut String, rows: Vec<&Row<'_>>) {
    if rows.is_empty() {
        return;
    }
    out.push_str("| benchmark | requests | bytes | peak bytes | |\n|---|---:|---:|---:|---|\n");
    for (at, row) in rows.iter().enumerate() {
        let [requests, bytes, peak] = row.pairs.each_ref().map(pair);
        let verdict = match row.verdict {
            Verdict::Worse => "**worse**",
            Verdict::Measured => "",
            other => other.name(),
        };
        let first = first(row).map(|words| format!("; {words}")).unwrap_or_default();
        let (target, id) = (code(row.target, Spot::Cell), code(row.id, Spot::Cell));
        let line = format!("| {target} {id} | {requests} | {bytes} | {peak} | {verdict}{first} |\n");
        if out.len() + line.len() > MOST_CHARACTERS {
            let _ = write!(out, "\n{} more are left out here.\n", rows.len() - at);
            break;
        }
        out.push_str(&line);
    }
    out.push('\n');
}

fn pair(pair: &Pair) -> String {
    let (old, new) = (pair.old.as_ref().map(level), pair.new.as_ref().map(level));
    match (old, new) {
        (Some(old), Some(new)) if pair.verdict != Verdict::Same => {
            let share = pair.share().map(|share| format!(" ({})", percent(share).replace('<', "&lt;")));
            let new = if pair.verdict == Verdict::Worse { format!("**{new}**") } else { new };
            format!("{old} → {new}{}", share.unwrap_or_default())
        }
        (old, new) => new.or(old).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::testing::{found, sides};
    use super::super::threshold::Thresholds;
    use super::*;
    use comrak::{Options, markdown_to_html};

    fn html(markdown: &str) -> String {
        let mut options = Options::default();
        (options.extension.table, options.extension.autolink) = (true, true);
        markdown_to_html(markdown, &options)
    }

    #[test]
    fn a_pull_request_sees_what_changed_and_names_are_text() {
        let [old, new] = sides();
        let text = render(&Comparison::new(Some("main"), Some(&old), &new, Thresholds::default()));
        assert!(text.starts_with("### Heap per iteration, compared with baseline `main`\n\n**1 benchmark needs more.** 6 benchmarks"));
        assert!(
            text.contains("| `contest` `grown` | 0 → **1** | 0 → **48** | 0 → **48** | **worse** |"),
            "{text}"
        );
        assert!(
            text.contains("| 2,000 → 1,500 (−25 %) | 40,000 | 40,000 → 30,000 (−25 %) | better |"),
            "{text}"
        );
        assert!(text.contains("<details><summary>2 without a change that counts</summary>"), "{text}");
        let html = html(&text);
        assert_eq!(html.matches("<tr>").count(), 8, "{html}");
        assert_eq!(html.matches("<td").count(), 6 * 5, "{html}");
        // Ours alone: the fold's begin and its end.
        assert_eq!(html.matches("raw HTML omitted").count(), 2, "{html}");
        assert!(html.contains("<code>gone | &lt;b&gt;</code>"), "{html}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn more_than_fits_into_a_comment_is_counted() {
        let many: Vec<_> = (0..3000).map(|n| found("t", &format!("benchmark {n}"), [1, 1, 1])).collect();
        let text = render(&Comparison::new(None, None, &many, Thresholds::default()));
        assert!(text.len() < 65_000 && text.contains("more are left out here"), "{}", text.len());
        assert_eq!(html(&text).matches("<table>").count(), 1);
    }
}
