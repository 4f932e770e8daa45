//! OpenTelemetry: OTLP over HTTP, with a request that is compressed as a whole.

use super::{Api, Identity};
use anyhow::anyhow;
use flate2::Compression;
use flate2::write::GzEncoder;
use heapwise_report::export::Options;
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceResponse;
use prost::Message;
use std::io::{self, Write};

/// What the path of every collector ends with.
const PATH: &str = "/v1development/profiles";

/// The interface.
pub(super) struct Otlp;

impl Api for Otlp {
    fn has(&self, path: &str) -> bool {
        path.ends_with(PATH)
    }

    fn path(&self, path: &str) -> String {
        path.to_owned()
    }

    fn format(&self) -> &'static str {
        "otlp"
    }

    fn body(&self, profile: Vec<u8>, _: &Options, _: &Identity<'_>) -> io::Result<Vec<u8>> {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(&profile)?;
        out.finish()
    }

    fn content_type(&self) -> &'static str {
        "application/x-protobuf"
    }

    fn is_compressed(&self) -> bool {
        true
    }

    fn check_label(&self, name: &str) -> anyhow::Result<()> {
        match name.is_empty() || name.chars().any(char::is_control) {
            true => Err(anyhow!("--label {name}: an attribute needs a name without control characters")),
            false => Ok(()),
        }
    }

    fn refusal(&self, answer: &[u8]) -> Option<String> {
        let answer = ExportProfilesServiceResponse::decode(answer).ok()?.partial_success?;
        (answer.rejected_profiles > 0).then_some(answer.error_message)
    }

    fn advice(&self) -> &'static str {
        "the receiver needs the collector's gate service.profilesSupport, and a pipeline for profiles"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesPartialSuccess;

    #[test]
    fn an_answer_may_say_that_nothing_was_taken() {
        let answer = |rejected_profiles| {
            let error_message = "too old".to_owned();
            let partial_success = Some(ExportProfilesPartialSuccess { rejected_profiles, error_message });
            Otlp.refusal(&ExportProfilesServiceResponse { partial_success }.encode_to_vec())
        };
        assert_eq!(answer(4).as_deref(), Some("too old"));
        assert_eq!(answer(0), None);
        assert_eq!(Otlp.refusal(b""), None);
        assert_eq!(Otlp.refusal(b"<html>"), None);
    }
}
