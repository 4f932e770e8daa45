//! A secret that who asks and who answers both have.

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Fewer characters can be tried one after another.
const LEAST: usize = 16;
const MOST: u64 = 1024;

/// What is in the file, without the space around it.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// # Errors
    /// If it cannot be read, others can read it, or it is no secret.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let what = || format!("cannot read the token of {}", path.display());
        let file = std::fs::File::open(path).with_context(what)?;
        let mode = file.metadata().with_context(what)?.mode();
        ensure!(mode & 0o077 == 0, "others can read {}: chmod 600 {0}", path.display());
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text).with_context(what)?;
        let text = text.trim();
        ensure!(
            text.len() >= LEAST && text.chars().all(|c| c.is_ascii_graphic()),
            "{} has no token: it is {LEAST} letters and digits or more, for instance of `openssl rand -hex 32`",
            path.display()
        );
        Ok(Self(text.to_owned()))
    }

    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The value of the header `Authorization`.
    pub(crate) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .expect("all characters of a token are visible");
        value.set_sensitive(true);
        value
    }

    /// Whether a request has it, as a token, or as the password that a browser asks its user for.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let Some(value) = headers.get(AUTHORIZATION) else { return false };
        let password = || {
            let encoded = value.to_str().ok()?.strip_prefix("Basic ")?;
            let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
            decoded.split_once(':').map(|(_, password)| password.to_owned())
        };
        is_same(value.as_bytes(), self.header().as_bytes())
            || password().is_some_and(|password| is_same(password.as_bytes(), self.0.as_bytes()))
    }
}

/// Compares digests, so that the time that it takes says nothing of where two differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_a_secret_and_requests_have_it_or_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, " 0123456789abcdef\n").expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("set");
        assert!(Token::read(&path).unwrap_err().to_string().starts_with("others can read"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("set");
        let token = Token::read(&path).expect("a token");
        let mut headers = HeaderMap::new();
        assert!(!token.is_in(&headers));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer 0123456789abcdef"));
        assert!(token.is_in(&headers));
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer 0123456789abcdeF"));
        assert!(!token.is_in(&headers));
        for (password, is_it) in
            [("any:0123456789abcdef", true), ("0123456789abcdef", false), ("any:other", false)]
        {
            let value = format!("Basic {}", STANDARD.encode(password));
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&value).expect("a header"));
            assert_eq!(token.is_in(&headers), is_it, "{password}");
        }
        assert_eq!(format!("{token:?}"), "Token");
        std::fs::write(&path, "short").expect("written");
        assert!(Token::read(&path).unwrap_err().to_string().contains("has no token"));
    }
}
