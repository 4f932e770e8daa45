//! The interfaces of servers that take profiles: one file each, and one table that lists them.

mod otlp;
mod pyroscope;

use heapwise_report::export::Options;

/// All of them. The first one takes what no other one does.
pub(super) const ALL: &[&dyn Api] = &[&pyroscope::Pyroscope, &otlp::Otlp];

/// What a profile is from, besides its labels.
#[derive(Debug)]
pub(super) struct Identity<'a> {
    /// The name of the machine; empty if it is not known.
    pub(super) host: &'a str,
    /// Of the profile, the same whenever it is sent.
    pub(super) id: [u8; 16],
}

/// A way to hand a profile over.
pub(super) trait Api: Sync {
    /// Whether a path is one of its own.
    fn has(&self, path: &str) -> bool;

    /// The whole path, for one that leads to the server.
    fn path(&self, path: &str) -> String;

    /// The format of its profiles, by name.
    fn format(&self) -> &'static str;

    /// What is sent: the profile and what it is to be called.
    ///
    /// # Errors
    /// It cannot be compressed.
    fn body(&self, profile: Vec<u8>, options: &Options, identity: &Identity<'_>) -> std::io::Result<Vec<u8>>;

    /// The type of what is sent.
    fn content_type(&self) -> &'static str;

    /// Whether what is sent is compressed by gzip as a whole.
    fn is_compressed(&self) -> bool;

    /// Fails if a label cannot have this name.
    fn check_label(&self, name: &str) -> anyhow::Result<()>;

    /// Why the server has taken nothing of it although it says that all went well.
    fn refusal(&self, answer: &[u8]) -> Option<String>;

    /// What to do about a path that the server does not know.
    fn advice(&self) -> &'static str;
}
