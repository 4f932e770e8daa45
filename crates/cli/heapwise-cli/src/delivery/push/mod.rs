//! `--push`: the profile of each recording goes to a server that shows profiles over time.
//!
//! What was allocated is that of one file; what is in use is what was live at its end. A profile waits in memory until the server takes it:
//! the recording never waits for that. What finds no place any more, and what the server refuses, is counted and said.

mod api;
mod headers;
mod outbox;
mod server;

use super::Destination;
use crate::args::DeliveryArgs;
use anyhow::Context;
use api::Identity;
use heapwise_analysis::Analysis;
use heapwise_report::export::{self, Moment, Options};
use heapwise_tables::Labels;
use outbox::Outbox;
use server::Server;
use std::path::Path;

/// A server, and what waits for it.
pub(super) struct Push {
    api: &'static dyn api::Api,
    service: Option<String>,
    release: Option<String>,
    labels: Vec<(String, String)>,
    outbox: Outbox,
}

impl Push {
    /// Fails if the address, a label or a header cannot be used.
    pub(super) fn new(url: &str, args: &DeliveryArgs) -> anyhow::Result<Self> {
        let (url, api) = server::address(url)?;
        for (name, _) in &args.label {
            api.check_label(name)?;
        }
        let server = Server::new(url, args.push_headers.clone())?;
        let (service, release) = (args.service.clone(), args.release.clone());
        Ok(Self { api, service, release, labels: args.label.clone(), outbox: Outbox::new(server, api)? })
    }
}

impl Destination for Push {
    fn take(&mut self, _: &Path, analysis: &Analysis) -> anyhow::Result<()> {
        let labels = Labels::new(analysis, self.service.as_deref(), self.release.as_deref());
        let options = Options {
            measure: None,
            moment: Some(Moment::End),
            service: Some(labels.service),
            release: Some(labels.release),
            labels: self.labels.clone(),
        };
        let format = export::format(self.api.format()).context("no such format")?;
        let mut profile = Vec::new();
        format.write(analysis, &options, &mut profile)?;
        let identity = Identity { host: &analysis.meta.host, id: export::id(analysis) };
        self.outbox.put(self.api.body(profile, &options, &identity)?);
        Ok(())
    }

    fn end(self: Box<Self>) {
        self.outbox.end();
    }
}
