//! The results of a comparison of allocators: for a terminal, for machines, for a pull request and for a browser.
//!
//! Findings come first: an allocator under which the program behaves differently is no choice, whatever its numbers are. A
//! difference within the noise is reported as that and nothing more, in every format.

mod document;
mod json;
mod wording;

#[cfg(test)]
mod testing;

#[cfg(target_os = "linux")]
pub(crate) use json::contents;

use crate::document::terminal;
use crate::style::Style;
use heapwise_trial::compare::Comparison;

/// For a terminal.
pub fn text(comparison: &Comparison, style: Style) -> String {
    terminal(&document::document(comparison), style)
}

/// The schema `heapwise.compare/1`.
pub fn json(comparison: &Comparison) -> String {
    json::json(comparison)
}

/// For a comment on a pull request.
pub fn markdown(comparison: &Comparison) -> String {
    crate::document::markdown(&document::document(comparison))
}

/// One file for a browser, without a script.
pub fn html(comparison: &Comparison) -> String {
    crate::document::html(&document::document(comparison))
}

#[cfg(test)]
mod tests {
    use super::testing::comparison;
    use super::*;

    #[test]
    fn it_fits_narrow_and_wide_terminals() {
        for width in [80, 120] {
            let text = text(&comparison(), Style { color: false, width });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(!text.contains('\x1b'), "{text}");
        }
    }

    #[test]
    fn findings_come_first_and_noise_is_said() {
        let text = text(&comparison(), Style { color: false, width: 80 });
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("NOT THE SAME") < at("MEDIANS"));
        assert!(
            at("  ! broken: killed by SIGSEGV, saying “\\u{1b}[31m<b>|`x`”, in all runs") < at("MEDIANS")
        );
        assert!(text.contains("less: CPU time −50 % ("), "{text}");
        assert!(text.contains("within the noise: wall time"), "{text}");
        assert!(text.contains("Least CPU time: quick, 500.0 ms instead of 1.00 s, −50 %"), "{text}");
        assert!(text.contains("no run counts"), "{text}");
        assert!(text.contains("absent was left out: not installed"), "{text}");
    }

    #[test]
    fn it_is_a_table_and_what_a_program_says_stays_text() {
        let text = markdown(&comparison());
        assert!(text.starts_with("### heapwise compare: `prog --x ''\\''\\u{1b}<b>'\\'''`\n"), "{text}");
        assert!(text.contains("| `quick` 1\\.2.3 | within the noise | −50 % ("), "{text}");
        assert!(
            text.contains("> - broken: killed by SIGSEGV, saying “\\\\u\\{1b\\}\\[31m\\<b\\>\\|`x`”"),
            "{text}"
        );
        assert!(!text.contains("<b>|"), "{text}");
    }

    #[test]
    fn the_page_has_every_run_and_no_markup_of_others() {
        let page = html(&comparison());
        // Five measures, two candidates with runs that count.
        assert!(page.matches("<circle").count() >= 5 * (10 + 5), "{}", page.matches("<circle").count());
        assert!(
            page.contains("within the noise")
                && page.contains("saying “\\u{1b}[31m&lt;b&gt;|<code>x</code>”"),
            "{page}"
        );
        assert!(
            !page.contains("<b>|")
                && !page.contains("<script")
                && !page.contains("style=")
                && !page.contains("NaN")
        );
    }
}
