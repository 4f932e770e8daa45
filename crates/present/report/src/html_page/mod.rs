//! Pages for a browser without a script: markup that was made here, one style sheet, and nothing else.
//!
//! [`Markup`] can only be made of tags named in this crate and of escaped text, so nothing that a program has written becomes an
//! element. The page's policy allows the one style sheet whose hash it names: no script, no picture from elsewhere, no style
//! attribute.

#[cfg(test)]
mod colours;
mod markup;

pub(crate) use markup::{Markup, element, end_of_line, text};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The style of all such pages.
const STYLE: &str = include_str!("page.css");

/// A whole file.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    let policy =
        format!("default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'", hash(STYLE));
    let title = text(title);
    format!(
        "{}<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n",
        head(&policy, &title)
    )
}

/// How each file begins, up to its style.
pub(crate) fn head(policy: &str, title: &Markup) -> String {
    [
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        // Before everything that it applies to.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"",
        policy,
        "\">\n<meta name=\"referrer\" content=\"no-referrer\">\n",
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
        &title.to_string(),
        " · heapwise</title>\n",
    ]
    .concat()
}

/// The name of a script or a style sheet in a content security policy.
pub(crate) fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_allows_its_style_and_nothing_else() {
        let page = page("</title><b>&", &element("p", &[], [text("<script>alert(1)</script>")]));
        assert!(page.contains("<title>&lt;/title&gt;&lt;b&gt;&amp; · heapwise</title>"), "{page}");
        assert!(page.contains("<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"));
        assert!(!page.contains("<script") && !page.contains("unsafe-inline"));
        let from = page.find("<style>").unwrap() + "<style>".len();
        let style = &page[from..page.find("</style>").unwrap()];
        assert!(page.contains(&format!("style-src '{}'", hash(style))), "the policy is about this style");
        for fetched in ["url(", "@import", "</style"] {
            assert!(!style.contains(fetched), "{fetched}");
        }
    }
}
