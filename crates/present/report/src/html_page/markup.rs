//! Markup in which text can never become an element.

use crate::escape::terminal::escape;
use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromIterator<Markup> for Markup {
    fn from_iter<I: IntoIterator<Item = Markup>>(parts: I) -> Self {
        Self(parts.into_iter().map(|part| part.0).collect())
    }
}

/// Text, whatever it contains.
pub(crate) fn text(text: &str) -> Markup {
    Markup(escape(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// An end of line, for lines that are shown as they are.
pub(crate) fn end_of_line() -> Markup {
    Markup("\n".to_owned())
}

/// An element. Tags and names of attributes are ours; values may contain anything.
pub(crate) fn element(
    tag: &'static str,
    attributes: &[(&'static str, &str)],
    children: impl IntoIterator<Item = Markup>,
) -> Markup {
    let mut out = format!("<{tag}");
    for (name, value) in attributes {
        let value = text(value).0.replace('"', "&quot;");
        out.push_str(&format!(" {name}=\"{value}\""));
    }
    out.push('>');
    // Elements without an end tag in HTML. Elements of SVG may have one.
    if matches!(tag, "br" | "hr" | "img" | "meta") {
        return Markup(out);
    }
    out.extend(children.into_iter().map(|child| child.0));
    out.push_str(&format!("</{tag}>"));
    if matches!(
        tag,
        "p" | "section" | "tr" | "table" | "h1" | "h2" | "h3" | "ul" | "li" | "svg" | "figure" | "details"
    ) {
        out.push('\n');
    }
    Markup(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_values_and_text_stays_text() {
        let link = element("a", &[("title", "\"><b onclick='x'>&")], [text("a\u{1b}[31m<i>")]);
        assert_eq!(
            link.to_string(),
            "<a title=\"&quot;&gt;&lt;b onclick='x'&gt;&amp;\">a\\u{1b}[31m&lt;i&gt;</a>"
        );
        assert_eq!(element("br", &[], []).to_string(), "<br>");
        let two: Markup = [text("a"), element("b", &[], [text("c")])].into_iter().collect();
        assert_eq!(two.to_string(), "a<b>c</b>");
    }
}
