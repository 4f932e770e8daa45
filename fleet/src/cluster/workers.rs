//! The workers that a question is asked of.

use super::{Channels, Identity};
use anyhow::{Context, Result, bail, ensure};
use datafusion::error::DataFusionError;
use datafusion_distributed::{ChannelResolver, GetWorkerInfoRequest, WorkerResolver};
use futures::future::join_all;
use heapwise_report::say;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// How long a worker may take to say what it is.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Workers as they were named.
#[derive(Debug)]
pub(crate) struct Workers {
    urls: Vec<Url>,
    channels: Channels,
    /// Those that were said to be left out.
    left_out: Mutex<BTreeSet<Url>>,
}

/// Workers that answered a moment ago.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) urls: Vec<Url>,
    pub(crate) channels: Channels,
}

impl Workers {
    /// # Errors
    /// If one is no `HOST:PORT`.
    pub(crate) fn new(named: &[String], channels: Channels) -> Result<Self> {
        let url = |name: &String| {
            let url =
                Url::parse(&format!("http://{name}")).with_context(|| format!("{name} is no HOST:PORT"))?;
            let port = name.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
            // Whatever else is in it has a mark of its own.
            let is_address = url.has_host() && port.is_some() && !name.contains(['/', '?', '#', '@', '\\']);
            ensure!(is_address, "{name} is no HOST:PORT");
            Ok(url)
        };
        let mut urls: Vec<Url> = named.iter().map(url).collect::<Result<_>>()?;
        let mut once = BTreeSet::new();
        urls.retain(|url| once.insert(url.clone()));
        Ok(Self { urls, channels, left_out: Mutex::default() })
    }

    /// Those that answer and read these fleets. Others are named, once.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) async fn reach(&self, fleets: &[(String, String)]) -> Result<Reached> {
        let answers = join_all(self.urls.iter().map(|url| self.problem_of(url, fleets))).await;
        let mut reached = Vec::new();
        for (url, problem) in self.urls.iter().zip(answers) {
            let Some(problem) = problem else {
                reached.push(url.clone());
                continue;
            };
            if self.left_out.lock().unwrap_or_else(PoisonError::into_inner).insert(url.clone()) {
                say!("heapwise: warning: the worker {} is left out: {problem}", shown(url));
            }
        }
        if reached.is_empty() {
            bail!(
                "none of the workers can answer: start one with `heapwise fleet worker`, or ask without --workers"
            );
        }
        Ok(Reached { urls: reached, channels: self.channels.clone() })
    }

    /// Whether one of these no longer answers.
    pub(crate) async fn has_lost(&self, reached: &Reached) -> bool {
        let answers = join_all(reached.urls.iter().map(|url| self.problem_of(url, &[]))).await;
        answers.iter().any(Option::is_some)
    }

    /// Why a worker cannot answer.
    async fn problem_of(&self, url: &Url, fleets: &[(String, String)]) -> Option<String> {
        let ask = async {
            let mut client = self.channels.get_worker_client_for_url(url).await?;
            client.get_worker_info(GetWorkerInfoRequest {}).await
        };
        match tokio::time::timeout(ANSWERS_WITHIN, ask).await {
            Ok(Ok(info)) => Identity::parse(&info.version).lacks(fleets),
            Ok(Err(error)) => Some(plain(&error)),
            Err(_) => Some("it does not answer".to_owned()),
        }
    }
}

/// Why a connection failed, without what the libraries below call it.
fn plain(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    if text.contains("authenticat") {
        return "it wants another token (--token-file)".to_owned();
    }
    if text.contains("onnect") {
        return "it cannot be reached".to_owned();
    }
    if text.contains("KeepAliveTimedOut") {
        return "it does not answer".to_owned();
    }
    format!("it does not answer as a worker: {}", text.lines().next().unwrap_or_default())
}

/// As it was named.
fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

impl WorkerResolver for Reached {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(self.urls.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_a_host_and_a_port() {
        let workers = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            Workers::new(&names, Channels::default())
        };
        let two = workers(&["10.0.0.1:80", "[::1]:7077", "10.0.0.1:80"]).expect("two workers");
        assert_eq!(two.urls.iter().map(shown).collect::<Vec<_>>(), ["10.0.0.1:80", "[::1]:7077"]);
        for wrong in ["", "host", "host:x", "user@host:1", ":x@host:1", "host:1/path", "host:1?x", "host:1#x"]
        {
            assert!(workers(&[wrong]).is_err(), "{wrong}");
        }
    }
}
