//! Words in a line, in pieces with a role. Each writer decides how a role looks.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A sentence that may contain names from elsewhere. What is between two backticks is code.
    Prose,
    /// Numbers and words of heapwise's own, which need no escaping.
    Own,
    /// A name from the program or the user: shown as code.
    Name,
    /// What readers should see first.
    Strong,
    /// A detail.
    Faint,
    /// What makes numbers less reliable.
    Caveat,
    /// A change for the better.
    Good,
    /// A change for the worse.
    Bad,
}

/// Words in a line. Texts are inserted raw: each writer escapes them for its format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    role: Role,
    text: String,
    link: Option<Link>,
}

/// A page of the same server, as the part of its address that begins with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(String);

impl Link {
    /// A path of these parts, whatever is in them, with a query. Browsers resolve a part that is empty, or one or two dots, before they ask:
    /// with such a part it is the first page.
    pub fn new<'a>(path: &[&str], query: impl IntoIterator<Item = (&'static str, &'a str)>) -> Self {
        if path.iter().any(|part| ["", ".", ".."].contains(part)) {
            return Self("/".to_owned());
        }
        let mut link: String = path.iter().map(|part| format!("/{}", encoded(part))).collect();
        if link.is_empty() {
            link.push('/');
        }
        for (at, (name, value)) in query.into_iter().enumerate() {
            link.push_str(&format!("{}{name}={}", if at == 0 { '?' } else { '&' }, encoded(value)));
        }
        Self(link)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Text as a part of an address has it (RFC 3986).
fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

impl Words {
    /// One piece.
    pub fn of(role: Role, text: impl Into<String>) -> Self {
        Self::default().and(role, text)
    }

    /// Numbers or words of heapwise's own.
    pub fn own(text: impl Into<String>) -> Self {
        Self::of(Role::Own, text)
    }

    pub fn name(text: impl Into<String>) -> Self {
        Self::of(Role::Name, text)
    }

    /// A detail.
    pub fn faint(text: impl Into<String>) -> Self {
        Self::of(Role::Faint, text)
    }

    /// The same, followed by another piece.
    pub fn and(mut self, role: Role, text: impl Into<String>) -> Self {
        self.0.push(Piece { role, text: text.into(), link: None });
        self
    }

    /// The same, followed by other words.
    pub fn then(mut self, more: Words) -> Self {
        self.0.extend(more.0);
        self
    }

    /// The same as a link, which only a browser shows as one.
    pub fn to(mut self, link: &Link) -> Self {
        self.0.iter_mut().for_each(|piece| piece.link = Some(link.clone()));
        self
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = (Role, &str)> {
        self.0.iter().map(|piece| (piece.role, piece.text.as_str()))
    }

    /// Neighbours with the same link together.
    pub(super) fn linked(&self) -> impl Iterator<Item = (Option<&Link>, Vec<(Role, &str)>)> {
        self.0.chunk_by(|one, next| one.link == next.link).map(|pieces| {
            (pieces[0].link.as_ref(), pieces.iter().map(|piece| (piece.role, piece.text.as_str())).collect())
        })
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|piece| piece.text.is_empty())
    }

    /// The text alone.
    pub(super) fn plain(&self) -> String {
        self.pieces().map(|(_, text)| text).collect()
    }
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self::of(Role::Prose, text)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self::of(Role::Prose, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_on_its_server_whatever_it_is_made_of() {
        assert_eq!(Link::new(&[], []).as_str(), "/");
        let link = Link::new(&["service", "//evil/.."], [("q", "a&b=\"<"), ("r", "ü")]);
        assert_eq!(link.as_str(), "/service/%2F%2Fevil%2F..?q=a%26b%3D%22%3C&r=%C3%BC");
        for path in
            [&["", "evil.example"][..], &["service", ".."], &["service", ".", "flame"], &["service", ""]]
        {
            assert_eq!(Link::new(path, [("a", "b")]).as_str(), "/");
        }
    }
}
