//! One request, and what its answer means.

use super::api::{ALL, Api};
use super::headers;
use anyhow::anyhow;
use heapwise_report::escape::terminal::escape;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;
use ureq::Agent;
use ureq::http::header::RETRY_AFTER;
use ureq::http::{HeaderMap, StatusCode, Uri};
use ureq::tls::{RootCerts, TlsConfig};

/// A request that takes longer is tried again.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a server may have us wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// As much of an answer is read.
const MOST_BYTES: u64 = 64 << 10;
/// As much of it is shown, in characters.
const MOST_SHOWN: usize = 200;

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Taken,
    /// It would be refused again.
    Refused(String),
    /// It may be taken later, after the time that the server asks for.
    Later(String, Option<Duration>),
}

/// Where profiles go.
pub(super) struct Server {
    url: Uri,
    headers: Option<PathBuf>,
    agent: Agent,
}

/// A URL as it is typed, completed, and the interface that it leads to.
pub(super) fn address(text: &str) -> anyhow::Result<(Uri, &'static dyn Api)> {
    let wrong = || {
        anyhow!(
            "--push {text}: give a URL such as http://localhost:4040 or https://collector:4318/v1development/profiles"
        )
    };
    let url: Uri = text.parse().map_err(|_| wrong())?;
    let is_http = matches!(url.scheme_str(), Some("http" | "https"));
    let Some(authority) = url.authority().filter(|authority| is_http && !authority.host().is_empty()) else {
        return Err(wrong());
    };
    if authority.as_str().contains('@') {
        return Err(anyhow!(
            "--push: a password in a URL is visible to all users of the machine; put a header into a file, and name it with --push-headers"
        ));
    }
    if url.query().is_some() {
        return Err(anyhow!(
            "--push {text}: a URL with a question mark cannot be used; labels are given with --label"
        ));
    }
    let api = ALL
        .iter()
        .copied()
        .find(|api| api.has(url.path()))
        .or_else(|| ALL.first().copied())
        .ok_or_else(wrong)?;
    let path = api.path(url.path());
    let url = Uri::builder()
        .scheme(url.scheme_str().unwrap_or_default())
        .authority(authority.clone())
        .path_and_query(path)
        .build()
        .map_err(|_| wrong())?;
    Ok((url, api))
}

impl Server {
    /// Fails if the headers cannot be read.
    pub(super) fn new(url: Uri, headers: Option<PathBuf>) -> anyhow::Result<Self> {
        if let Some(path) = &headers {
            headers::read(path)?;
            let host = url.host().unwrap_or_default();
            let is_here = host == "localhost" || host.starts_with("127.") || host == "[::1]";
            if url.scheme_str() == Some("http") && !is_here {
                heapwise_report::say!(
                    "heapwise: warning: the headers in {} go to {host} without encryption: use https",
                    path.display()
                );
            }
        }
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A header with a token must not go to another server.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("heapwise/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        Ok(Self { url, headers, agent: config.build().new_agent() })
    }

    /// The address, for people.
    pub(super) fn name(&self) -> String {
        escape(&self.url.to_string()).into_owned()
    }

    /// Sends a message.
    pub(super) fn send(&self, api: &dyn Api, body: &[u8]) -> Answer {
        let mut request = self.agent.post(&self.url).content_type(api.content_type());
        if api.is_compressed() {
            request = request.header("content-encoding", "gzip");
        }
        let headers = self.headers.as_deref().map(headers::read).unwrap_or_else(|| Ok(Vec::new()));
        let headers = match headers {
            Ok(headers) => headers,
            Err(error) => return Answer::Later(format!("{error:#}"), None),
        };
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut response = match request.send(body) {
            Ok(response) => response,
            Err(error) => return Answer::Later(explain(&error), None),
        };
        let mut text = Vec::new();
        let _ = response.body_mut().as_reader().take(MOST_BYTES).read_to_end(&mut text);
        judge(api, response.status(), response.headers(), &text)
    }
}

/// What went wrong, in words for people who do not know the crate.
fn explain(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        ureq::Error::HostNotFound => "no such host".to_owned(),
        ureq::Error::Io(error) => escape(&error.to_string()).into_owned(),
        error => escape(&error.to_string()).into_owned(),
    }
}

fn judge(api: &dyn Api, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Answer {
    let code = status.as_u16();
    if status.is_success() {
        return match api.refusal(body) {
            Some(why) => Answer::Refused(shown(why.as_bytes())),
            None => Answer::Taken,
        };
    }
    let what = match shown(body) {
        text if text.is_empty() => format!("it answers {status}"),
        text => format!("it answers {status}: {text}"),
    };
    match code {
        // Also those that the next token, or a server that is being set up, will change.
        401 | 403 | 408 | 429 | 500..=599 => {
            let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            Answer::Later(what, asked.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT)))
        }
        404 | 405 | 415 => Answer::Refused(format!("{what} ({})", api.advice())),
        300..=399 => {
            Answer::Refused(format!("{what}; a redirection is not followed: give the URL that it leads to"))
        }
        _ => Answer::Refused(what),
    }
}

/// The beginning of what a server says, harmless.
fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * MOST_SHOWN)]);
    let words: Vec<_> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|c| !c.is_control()).take(MOST_SHOWN).collect();
    escape(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_says_which_interface_it_is() {
        let formats = |text: &str| {
            let (url, api) = address(text).expect("a URL");
            (url.to_string(), api.format())
        };
        let pyroscope = "/push.v1.PusherService/Push";
        assert_eq!(formats("http://localhost:4040"), (format!("http://localhost:4040{pyroscope}"), "pprof"));
        assert_eq!(formats("https://a/b/"), (format!("https://a/b{pyroscope}"), "pprof"));
        let otlp = "http://[::1]:4318/v1development/profiles";
        assert_eq!(formats(otlp), (otlp.to_owned(), "otlp"));
    }

    #[test]
    fn what_is_no_address_of_a_server_is_said() {
        for text in ["", "localhost:4040", "ftp://a", "http://", "/v1development/profiles", "http://a/b c"] {
            let error = address(text).map(|(url, _)| url).expect_err(text).to_string();
            assert!(error.contains("give a URL such as"), "{text}: {error}");
        }
        let error =
            address("https://user:secret@host").map(|(url, _)| url).expect_err("a password").to_string();
        assert!(error.contains("--push-headers") && !error.contains("secret"), "{error}");
        assert!(address("http://a/?b=c").is_err());
    }

    #[test]
    fn answers_are_judged_by_their_status() {
        let (_, api) = address("http://localhost").expect("a URL");
        let judged = |status: u16, seconds: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(seconds) = seconds {
                headers.insert(RETRY_AFTER, seconds.parse().expect("a value"));
            }
            judge(api, StatusCode::from_u16(status).expect("a status"), &headers, b"a\x1b[2Jb\n c")
        };
        assert_eq!(judged(200, None), Answer::Taken);
        assert!(
            matches!(judged(400, None), Answer::Refused(why) if why.ends_with("400 Bad Request: a[2Jb c"))
        );
        assert!(matches!(judged(404, None), Answer::Refused(why) if why.contains("/v1development/profiles")));
        assert!(matches!(judged(302, None), Answer::Refused(_)));
        assert!(matches!(judged(401, None), Answer::Later(_, None)));
        assert!(matches!(judged(503, Some("7")), Answer::Later(_, Some(wait)) if wait.as_secs() == 7));
        assert!(matches!(judged(429, Some("99999")), Answer::Later(_, Some(LONGEST_WAIT))));
        assert!(matches!(judged(429, Some("tomorrow")), Answer::Later(_, None)));
    }
}
