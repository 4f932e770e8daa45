//! Pyroscope: `push.v1.PusherService/Push`, a call of the Connect protocol, with a profile in pprof's format.
//!
//! The messages are those of `push/v1/push.proto` and `types/v1/types.proto`, as far as they are written here; only field numbers matter.

use super::{Api, Identity};
use anyhow::anyhow;
use heapwise_report::export::Options;
use prost::Message;
use std::io;

/// The method's path, below that of the server.
const METHOD: &str = "/push.v1.PusherService/Push";

/// The interface.
pub(super) struct Pyroscope;

#[derive(Clone, PartialEq, prost::Message)]
struct PushRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<RawProfileSeries>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RawProfileSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<LabelPair>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<RawSample>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RawSample {
    #[prost(bytes = "vec", tag = "1")]
    raw_profile: Vec<u8>,
    #[prost(string, tag = "2")]
    id: String,
}

impl Api for Pyroscope {
    fn has(&self, path: &str) -> bool {
        path.ends_with(METHOD)
    }

    fn path(&self, path: &str) -> String {
        match self.has(path) {
            true => path.to_owned(),
            false => format!("{}{METHOD}", path.trim_end_matches('/')),
        }
    }

    fn format(&self) -> &'static str {
        "pprof"
    }

    fn body(&self, profile: Vec<u8>, options: &Options, identity: &Identity<'_>) -> io::Result<Vec<u8>> {
        // A profile has what was allocated since the one before: without `__delta__` the server would subtract once more.
        let mut labels = vec![
            ("__name__", "memory"),
            ("__delta__", "false"),
            ("service_name", options.service.as_deref().unwrap_or("unknown")),
        ];
        let release = options.release.as_deref().unwrap_or_default();
        let others = [("service_version", release), ("hostname", identity.host)];
        labels.extend(others.into_iter().filter(|(_, value)| !value.is_empty()));
        let given = |name: &str| options.labels.iter().any(|(given, _)| given == name);
        labels.retain(|(name, _)| !given(name));
        labels.extend(options.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let labels =
            labels.into_iter().map(|(name, value)| LabelPair { name: name.into(), value: value.into() });
        let sample = RawSample { raw_profile: profile, id: uuid(identity.id) };
        let series = vec![RawProfileSeries { labels: labels.collect(), samples: vec![sample] }];
        Ok(PushRequest { series }.encode_to_vec())
    }

    fn content_type(&self) -> &'static str {
        "application/proto"
    }

    fn is_compressed(&self) -> bool {
        // The profile itself is.
        false
    }

    fn check_label(&self, name: &str) -> anyhow::Result<()> {
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_name = name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit());
        match is_name && !name.starts_with("__") {
            true => Ok(()),
            false => Err(anyhow!(
                "--label {name}: Pyroscope's labels have letters, digits and underscores, and none begins with a digit or two underscores"
            )),
        }
    }

    fn refusal(&self, _: &[u8]) -> Option<String> {
        None
    }

    fn advice(&self) -> &'static str {
        "the URL of a Pyroscope server has no path of its own, that of OpenTelemetry's collector ends with /v1development/profiles"
    }
}

/// An id as Pyroscope writes it.
fn uuid(id: [u8; 16]) -> String {
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_given_replace_ours() {
        let options = Options {
            service: Some("shop".to_owned()),
            labels: vec![("hostname".to_owned(), "mine".to_owned()), ("zone".to_owned(), "eu".to_owned())],
            ..Options::default()
        };
        let identity = Identity { host: "theirs", id: [0xab; 16] };
        let body = Pyroscope.body(vec![1, 2, 3], &options, &identity).expect("a message");
        let request = PushRequest::decode(body.as_slice()).expect("the same");
        let labels: Vec<_> = request.series[0]
            .labels
            .iter()
            .map(|label| (label.name.as_str(), label.value.as_str()))
            .collect();
        let expected = [
            ("__name__", "memory"),
            ("__delta__", "false"),
            ("service_name", "shop"),
            ("hostname", "mine"),
            ("zone", "eu"),
        ];
        assert_eq!(labels, expected);
        let sample = &request.series[0].samples[0];
        assert_eq!(sample.raw_profile, [1, 2, 3]);
        assert_eq!(sample.id, "abababab-abab-abab-abab-abababababab");
    }

    #[test]
    fn names_of_labels_are_those_that_the_server_takes() {
        assert!(["zone", "a_1", "_x"].into_iter().all(|name| Pyroscope.check_label(name).is_ok()));
        let wrong = ["", "1a", "__name__", "a.b", "a b", "ä"];
        assert!(wrong.into_iter().all(|name| Pyroscope.check_label(name).is_err()));
    }

    #[test]
    fn a_path_is_completed_once() {
        assert_eq!(Pyroscope.path("/"), METHOD);
        assert_eq!(Pyroscope.path("/of/a/proxy/"), format!("/of/a/proxy{METHOD}"));
        assert_eq!(Pyroscope.path(METHOD), METHOD);
    }
}
