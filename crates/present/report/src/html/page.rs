//! The file itself: markup that is the same for all recordings, and the places in it for program and data.
//!
//! Nothing of the data can become markup or script, for three reasons, each of which is sufficient:
//!
//! * In the data, characters that mean something in HTML are written as JSON escapes ([`script_safe`]), so the element
//!   that holds them cannot be ended from within.
//! * The page's policy allows the one script and the one style sheet whose hashes it names, and no network at all.
//! * The program puts text into the page as text. It never parses markup.

use crate::html_page::{hash, head, text};

/// Built from the folder `web`.
const SCRIPT: &str = include_str!("bundle/report.js");
const STYLE: &str = include_str!("bundle/report.css");

/// The whole file.
pub(super) fn page(title: &str, json: &str) -> String {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let mut page = String::with_capacity(json.len() + SCRIPT.len() + STYLE.len() + 2048);
    for part in [
        head(&policy, &text(title)).as_str(),
        "<style>",
        STYLE,
        "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n<noscript><p>This report is drawn by a script inside ",
        "this file, and scripts are turned off here. <code>heapwise report</code> prints it as text.</p></noscript>\n",
        "<script type=\"application/json\" id=\"data\">",
        &script_safe(json),
        "</script>\n<script>",
        SCRIPT,
        "</script>\n</body>\n</html>\n",
    ] {
        page.push_str(part);
    }
    page
}

/// JSON with the same meaning that contains no syntax of HTML or JavaScript. All these characters can only be within strings.
fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_the_element_that_holds_them() {
        let hostile = "</script><script>alert(1)</script><!--&\u{2028}\u{2029}\"'";
        let json = serde_json::to_string(hostile).unwrap();
        let safe = script_safe(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), hostile);
    }

    #[test]
    fn the_bundle_can_stand_in_a_page() {
        for text in [SCRIPT, STYLE] {
            assert!(text.len() > 1000, "there is a bundle");
            let text = text.to_lowercase();
            for ending in ["</script", "</style", "<!--", "<script"] {
                assert!(!text.contains(ending), "{ending} would end or change the element");
            }
        }
        // The page does not attempt what its policy forbids, either.
        for forbidden in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
        {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
        assert!(!STYLE.contains("url("), "nothing is fetched");
    }

    #[test]
    fn the_page_allows_its_own_script_and_style_and_nothing_else() {
        let page = page("</title><b>&", "{}");
        let inside = |open: &str, close: &str| {
            let from = page.rfind(open).expect(open) + open.len();
            &page[from..from + page[from..].find(close).expect(close)]
        };
        let policy = inside("Content-Security-Policy\" content=\"", "\"");
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(policy.contains(&hash(inside("<script>", "</script>"))), "{policy}");
        assert!(policy.contains(&hash(inside("<style>", "</style>"))), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(page.contains("<title>&lt;/title&gt;&lt;b&gt;&amp; · heapwise</title>"));
    }
}
