//! Connections to workers.

use crate::token::Token;
use async_trait::async_trait;
use datafusion::error::DataFusionError;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{ChannelResolver, WorkerChannel};
use http::header::AUTHORIZATION;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tonic::body::Body;
use tonic::transport::Endpoint;
use tower::ServiceExt;
use url::Url;

/// How long a worker is waited for that does not accept a connection, or has fallen silent.
const PATIENCE: Duration = Duration::from_secs(5);
/// More workers than anyone has.
const MOST: usize = 4096;

/// One connection for each worker, which says the token.
#[derive(Clone, Default)]
pub(crate) struct Channels {
    token: Option<Token>,
    open: Arc<Mutex<HashMap<Url, BoxCloneSyncChannel>>>,
}

impl Channels {
    pub(crate) fn new(token: Option<Token>) -> Self {
        Self { token, open: Arc::default() }
    }

    fn channel(&self, url: &Url) -> Result<BoxCloneSyncChannel, DataFusionError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = open.get(url) {
            return Ok(channel.clone());
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
