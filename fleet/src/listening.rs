//! Listening at an address, which is this machine's alone unless there is a token.

use crate::failure::{Failure, USAGE};
use crate::token::Token;
use anyhow::{Context, anyhow};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Listens, and returns the address with its port, which may have been 0.
///
/// # Errors
/// If other machines can reach the address and there is no token, or it cannot be had.
pub(crate) async fn listen(
    address: SocketAddr,
    token: Option<&Token>,
) -> Result<(TcpListener, SocketAddr), Failure> {
    if !address.ip().is_loopback() && token.is_none() {
        let error = anyhow!(
            "other machines can reach {address}: that takes --token-file FILE, a secret that those who ask have, too"
        );
        return Err(Failure::new(USAGE, error));
    }
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen at {address}: name another address with --listen"))?;
    let address = listener.local_addr().context("cannot listen")?;
    Ok((listener, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_others_can_reach_has_a_token() {
        let token = Token::of("0123456789abcdef");
        let listen = async |address: &str, token| listen(address.parse().expect("an address"), token).await;
        let (listener, address) = listen("127.0.0.1:0", None).await.expect("a port");
        assert_ne!(address.port(), 0);
        assert!(listen("0.0.0.0:0", Some(&token)).await.is_ok());
        assert_eq!(listen("0.0.0.0:0", None).await.unwrap_err().code, USAGE);
        let in_use = listen(&address.to_string(), None).await.unwrap_err();
        assert!(format!("{:#}", in_use.error).contains("--listen"), "{:#}", in_use.error);
        drop(listener);
    }
}
