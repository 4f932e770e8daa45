//! Who is answered.
//!
//! Only this machine can ask, but a page of somewhere else could have a browser ask, under a name that leads here: so the name has to be
//! this machine's.

use hyper::header::{HOST, HeaderMap};
use hyper::{Method, Request, StatusCode};
use std::net::IpAddr;

/// Why a request is refused, if it is.
pub(super) fn refusal<B>(request: &Request<B>, only_here: bool) -> Option<(StatusCode, &'static str)> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Some((StatusCode::METHOD_NOT_ALLOWED, "profiles can only be read: GET or HEAD"));
    }
    if is_of_another_site(request.headers()) {
        return Some((StatusCode::FORBIDDEN, "pages of other sites are not answered"));
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    if only_here && (hosts.next().is_some() || !host.is_some_and(is_here)) {
        return Some((
            StatusCode::FORBIDDEN,
            "answers are for localhost and 127.0.0.1: the header Host names another machine",
        ));
    }
    None
}

/// Whether `host`, the name that was asked for, is this machine's.
fn is_here(host: &str) -> bool {
    // With any port: this one may be reached through another one.
    let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = port.map_or(host, |(name, _)| name);
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || bare.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
}

/// Whether a browser says that another site's page asks.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|there| there == value);
    is("sec-fetch-site", "cross-site") && !is("sec-fetch-dest", "document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for host in [
            "127.0.0.1:6061",
            "localhost:6061",
            "LOCALHOST:6061",
            "[::1]:6061",
            "[::1]",
            "localhost",
            "127.1.2.3",
        ] {
            assert!(is_here(host), "{host}");
        }
        for host in [
            "evil.example:6061",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1:6061",
            "",
            "localhost:x",
            "[::1",
        ] {
            assert!(!is_here(host), "{host}");
        }
    }

    #[test]
    fn a_refusal_has_a_reason() {
        let ask = |method: &str, headers: &[(&str, &str)], only_here| {
            let request = Request::builder().method(method);
            let request = headers.iter().fold(request, |r, (name, value)| r.header(*name, *value));
            refusal(&request.body(()).expect("a request"), only_here).map(|(status, _)| status.as_u16())
        };
        let here = ("host", "127.0.0.1");
        assert_eq!(ask("GET", &[here], true), None);
        assert_eq!(ask("HEAD", &[here], true), None);
        assert_eq!(ask("POST", &[here], true), Some(405));
        assert_eq!(ask("GET", &[], true), Some(403));
        assert_eq!(ask("GET", &[here, ("host", "evil.example")], true), Some(403));
        assert_eq!(ask("GET", &[("host", "evil.example")], true), Some(403));
        assert_eq!(ask("GET", &[("host", "evil.example")], false), None);
        assert_eq!(
            ask("GET", &[here, ("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image")], true),
            Some(403)
        );
        assert_eq!(
            ask("GET", &[here, ("sec-fetch-site", "none"), ("sec-fetch-dest", "document")], true),
            None
        );
    }
}
