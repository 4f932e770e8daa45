//! What is at which address.

use super::turn::Turn;
use super::{Served, guard, metrics, pprof, text};
use heapwise_portable::profile::memory;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use std::time::Duration;

pub(super) type Answer = Response<Full<Bytes>>;

/// The longest time that a difference is taken over.
const MOST_SECONDS: u64 = 3600;

const INDEX: &str = "\
/debug/pprof/heap    a sample of the live heap: go tool pprof http://…/debug/pprof/heap
/debug/pprof/allocs  a sample of all allocations since sampling began
  ?seconds=N         what N seconds changed
  ?debug=1           as text
/metrics             numbers for Prometheus
";

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Answers a request.
pub(super) async fn answer<'a, B>(served: &'a Served, request: &Request<B>, turn: &Turn<'a>) -> Answer {
    if let Some((status, why)) = guard::refusal(request, served.only_here) {
        let mut answer = problem(status, why);
        if status == StatusCode::METHOD_NOT_ALLOWED {
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        return answer;
    }
    match request.uri().path() {
        "/debug/pprof/heap" => profile(served, request, "heap", turn).await,
        "/debug/pprof/allocs" => profile(served, request, "allocs", turn).await,
        "/metrics" => page(PROMETHEUS, metrics::text(&served.profile.totals(), memory()).into_bytes()),
        "/debug/pprof" | "/debug/pprof/" => page(TEXT, INDEX.into()),
        _ => problem(StatusCode::NOT_FOUND, "there are /debug/pprof/heap, /debug/pprof/allocs and /metrics"),
    }
}

async fn profile<'a, B>(served: &'a Served, request: &Request<B>, name: &str, turn: &Turn<'a>) -> Answer {
    let Wanted { seconds, is_text } = match Wanted::parse(request.uri().query().unwrap_or_default()) {
        Ok(wanted) => wanted,
        Err(why) => return problem(StatusCode::BAD_REQUEST, why),
    };
    // Of an answer whose head alone is wanted, nothing has to be waited for.
    let is_difference = seconds.is_some();
    let seconds = seconds.filter(|_| request.method() != Method::HEAD);
    let default_type = if name == "heap" { "inuse_space" } else { "alloc_space" };
    let before = match seconds {
        None => None,
        Some(seconds) => {
            if !turn.take(&served.differences) {
                return busy("too many wait for a difference already");
            }
            let before = served.profile.snapshot();
            turn.wait(seconds).await;
            Some(before)
        }
    };
    if is_text && !turn.take(&served.texts) {
        return busy("another text is asked for already");
    }
    let mut now = served.profile.snapshot();
    if is_text {
        let all = text::shorten(&mut now);
        let names = served.names.learn(&now.sites).await;
        return page(TEXT, text::text(&now, all, &names).await.into_bytes());
    }
    let names = served.names.learn(&now.sites).await;
    match pprof::bytes(&now, before.as_ref(), default_type, &names).await {
        Ok(bytes) => {
            let mut answer = page("application/octet-stream", bytes);
            let file =
                format!("attachment; filename=\"{name}{}\"", if is_difference { "-delta" } else { "" });
            if let Ok(value) = HeaderValue::from_str(&file) {
                answer.headers_mut().insert(CONTENT_DISPOSITION, value);
            }
            answer
        }
        Err(_) => problem(StatusCode::INTERNAL_SERVER_ERROR, "the profile cannot be written"),
    }
}

/// What a query asks for. Parameters that Go has and that mean nothing here (`gc`) are ignored, as are all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    seconds: Option<Duration>,
    is_text: bool,
}

impl Wanted {
    fn parse(query: &str) -> Result<Self, &'static str> {
        let mut wanted = Self::default();
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            match name {
                "seconds" => {
                    let seconds = value.parse().ok().filter(|seconds| (1..=MOST_SECONDS).contains(seconds));
                    let why = "seconds has to be a whole number from 1 to 3600";
                    wanted.seconds = Some(Duration::from_secs(seconds.ok_or(why)?));
                }
                "debug" => wanted.is_text = value.parse::<u32>().map_err(|_| "debug has to be 0 or 1")? > 0,
                _ => {}
            }
        }
        match wanted {
            Self { seconds: Some(_), is_text: true } => {
                Err("what seconds changed is no text: seconds and debug exclude each other")
            }
            wanted => Ok(wanted),
        }
    }
}

/// For those that there is no place for.
pub(super) fn busy(why: &str) -> Answer {
    let mut answer = problem(StatusCode::SERVICE_UNAVAILABLE, why);
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

fn problem(status: StatusCode, why: &str) -> Answer {
    let mut answer = page(TEXT, format!("{why}\n").into_bytes());
    *answer.status_mut() = status;
    answer
}

fn page(kind: &'static str, content: Vec<u8>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(content)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // Browsers neither guess what it is nor keep it.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_those_of_go() {
        let seconds = |seconds| Ok(Wanted { seconds: Some(Duration::from_secs(seconds)), is_text: false });
        assert_eq!(Wanted::parse(""), Ok(Wanted::default()));
        assert_eq!(Wanted::parse("gc=1&seconds=30"), seconds(30));
        assert_eq!(Wanted::parse("seconds=5&debug=0"), seconds(5));
        assert_eq!(Wanted::parse("debug=1"), Ok(Wanted { seconds: None, is_text: true }));
        for wrong in [
            "seconds=0",
            "seconds=-1",
            "seconds=x",
            "seconds=",
            "seconds=3601",
            "debug=x",
            "seconds=1&debug=1",
        ] {
            assert!(Wanted::parse(wrong).is_err(), "{wrong}");
        }
    }
}
