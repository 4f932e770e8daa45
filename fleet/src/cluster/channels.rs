//! Connections to workers.

use crate::token::Token;
use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{ChannelResolver, WorkerChannel};
use http::header::AUTHORIZATION;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tower::ServiceExt;
use url::{Host, Url};

/// How long a worker is waited for that does not accept a connection, or has fallen silent.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// More workers than anyone has.
const MOST: usize = 4096;

/// One connection for each worker, which says the token.
#[derive(Clone, Default)]
pub(crate) struct Channels {
    token: Option<Token>,
    /// Whether other machines reach this one. Then a name of this machine's own is no worker: it was meant to be another machine, and whoever
    /// listens there is not to have the token.
    is_reached: bool,
    open: Arc<Mutex<HashMap<Url, BoxCloneSyncChannel>>>,
}

impl Channels {
    pub(crate) fn new(token: Option<Token>) -> Self {
        Self { token, ..Self::default() }
    }

    /// Those of a worker that listens here.
    pub(crate) fn between_workers(token: Option<Token>, here: SocketAddr) -> Self {
        Self { token, is_reached: !here.ip().is_loopback(), ..Self::default() }
    }

    fn channel(&self, url: &Url) -> Result<BoxCloneSyncChannel, DataFusionError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = open.get(url) {
            return Ok(channel.clone());
        }
        if self.is_reached && is_here(url) {
            return Err(DataFusionError::Configuration(format!(
                "{url} is this worker's own machine: name workers as all machines reach them"
            )));
        }
        let endpoint = Endpoint::from_shared(url.to_string())
            .map_err(|error| DataFusionError::Configuration(format!("{url} is no worker: {error}")))?;
        // A machine that is switched off closes no connection.
        let endpoint = endpoint
            .connect_timeout(PATIENCE)
            .http2_keep_alive_interval(PATIENCE)
            .keep_alive_timeout(PATIENCE)
            .keep_alive_while_idle(true);
        let header = self.token.as_ref().map(Token::header);
        let with_token = endpoint.connect_lazy().map_request(move |mut request: http::Request<Body>| {
            if let Some(header) = &header {
                request.headers_mut().insert(AUTHORIZATION, header.clone());
            }
            request
        });
        let channel = BoxCloneSyncChannel::new(with_token);
        if open.len() < MOST {
            open.insert(url.clone(), channel.clone());
        }
        Ok(channel)
    }
}

/// Whether an address is the machine's own, whatever machine that is.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unspecified(),
        None => true,
    }
}

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        Ok(create_worker_client(self.channel(url)?))
    }
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Channels")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_worker_that_others_reach_does_not_ask_its_own_machine() {
        let channels = |here: &str| Channels::between_workers(None, here.parse().expect("an address"));
        let is_taken =
            |channels: &Channels, url: &str| channels.channel(&Url::parse(url).expect("a URL")).is_ok();
        let (reached, alone) = (channels("10.0.0.5:7077"), channels("127.0.0.1:7077"));
        for here in ["http://localhost:1/", "http://127.0.0.2:1/", "http://[::1]:1/", "http://0.0.0.0:1/"] {
            assert!(!is_taken(&reached, here) && is_taken(&alone, here), "{here}");
        }
        assert!(is_taken(&reached, "http://10.0.0.6:7077/"));
    }
}
