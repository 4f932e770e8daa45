//! Who is answered.

use super::error;
use crate::token::Token;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use std::net::IpAddr;
use std::sync::Arc;

/// Answers those that have the token. Without one, only this machine can ask, but a page of somewhere else could have a browser ask, under a
/// name that leads here: so the name has to be this machine's.
#[derive(Debug)]
pub(super) struct Guard {
    token: Option<Token>,
}

impl Guard {
    pub(super) fn new(token: Option<Token>) -> Self {
        Self { token }
    }

    /// Whether `host`, the name that was asked for, is this machine's.
    fn is_here(host: &str) -> bool {
        // With any port: this one may be reached through another one.
        let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = port.map_or(host, |(name, _)| name);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost") || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    fn refusal(&self, request: &Request) -> Option<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(error(StatusCode::METHOD_NOT_ALLOWED, "Pages can only be read."));
        }
        let headers = request.headers();
        match &self.token {
            Some(token) if token.is_in(headers) => None,
            Some(_) => {
                let mut response =
                    error(StatusCode::UNAUTHORIZED, "The password is the token of this server.");
                let challenge = HeaderValue::from_static("Basic realm=\"heapwise\", charset=\"UTF-8\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                Some(response)
            }
            // A page of somewhere else may lead here, but not have pages made behind its reader's back.
            None if is_of_another_site(headers) => {
                Some(error(StatusCode::FORBIDDEN, "This page is not shown inside of another site's."))
            }
            None => {
                let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
                (!host.is_some_and(Self::is_here)).then(|| {
                    error(StatusCode::FORBIDDEN, "This server answers to localhost and 127.0.0.1 only.")
                })
            }
        }
    }
}

/// Whether a browser says that another site's page wants this one as a part of itself.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|there| there == value);
    is("sec-fetch-site", "cross-site") && !is("sec-fetch-dest", "document")
}

pub(super) async fn check(guard: Arc<Guard>, request: Request, next: Next) -> Response {
    match guard.refusal(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered_without_a_token() {
        for host in [
            "127.0.0.1:7070",
            "localhost:7070",
            "LOCALHOST:7070",
            "[::1]:7070",
            "[::1]",
            "localhost",
            "localhost:8080",
        ] {
            assert!(Guard::is_here(host), "{host}");
        }
        for host in [
            "evil.example:7070",
            "localhost.evil.example:7070",
            "127.0.0.1.evil.example",
            "10.0.0.1:7070",
            "",
        ] {
            assert!(!Guard::is_here(host), "{host}");
        }
    }
}
