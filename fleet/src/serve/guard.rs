//! Who is answered.

use super::error;
use crate::token::Token;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Answers those that have the token. Without one, only this machine can ask, but a page of somewhere else could have a browser ask, under a
/// name that leads here: so the name has to be this machine's.
#[derive(Debug)]
pub(super) struct Guard {
    address: SocketAddr,
    token: Option<Token>,
}

impl Guard {
    pub(super) fn new(address: SocketAddr, token: Option<Token>) -> Self {
        Self { address, token }
    }

    /// Whether `host`, the name that was asked for, is this machine's.
    fn is_here(&self, host: &str) -> bool {
        let name = host.strip_suffix(&format!(":{}", self.address.port())).unwrap_or(host);
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
            None => {
                let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
                (!host.is_some_and(|host| self.is_here(host))).then(|| {
                    error(StatusCode::FORBIDDEN, "This server answers to localhost and 127.0.0.1 only.")
                })
            }
        }
    }
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
        let guard = Guard::new("127.0.0.1:7070".parse().expect("an address"), None);
        for host in ["127.0.0.1:7070", "localhost:7070", "LOCALHOST:7070", "[::1]:7070", "localhost"] {
            assert!(guard.is_here(host), "{host}");
        }
        for host in [
            "evil.example:7070",
            "localhost.evil.example:7070",
            "127.0.0.1.evil.example",
            "10.0.0.1:7070",
            "",
        ] {
            assert!(!guard.is_here(host), "{host}");
        }
    }
}
