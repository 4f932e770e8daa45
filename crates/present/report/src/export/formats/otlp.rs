//! OpenTelemetry's profiles: the request that a collector takes at `/v1development/profiles`, which is also the message that its files have.
//!
//! The signal is being developed, and the message changes now and then; this is version 1.9 of it. There is one profile for each type of
//! value, since a profile has only one there, and all share one dictionary. Comments and build ids are attributes, named by OpenTelemetry's
//! semantic conventions.

mod dictionary;

use crate::export::format::{Format, Options};
use crate::export::heap_profile;
use crate::export::stacks;
use crate::export::text;
use dictionary::{Dictionary, string};
use heapwise_analysis::Analysis;
use heapwise_trace::pprof::{PERIOD_TYPE, SAMPLE_TYPES};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::profiles::v1development::{
    Profile, ProfilesData, ResourceProfiles, Sample, ScopeProfiles, ValueType,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use std::io::{self, Write};

/// The format.
#[derive(Debug)]
pub(crate) struct Otlp;

impl Format for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn about(&self) -> &'static str {
        "OpenTelemetry's profiles, which are experimental there: for collectors"
    }

    fn is_binary(&self) -> bool {
        true
    }

    fn has_one_moment(&self) -> bool {
        true
    }

    fn has_labels(&self) -> bool {
        true
    }

    fn write(&self, analysis: &Analysis, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let moment = options.moment.unwrap_or_default();
        let mut dictionary = Dictionary::new(analysis);
        let mut samples: [Vec<Sample>; SAMPLE_TYPES.len()] = Default::default();
        stacks::for_each(analysis, stacks::MANY, |steps, numbers| {
            let values = heap_profile::values(numbers, moment);
            if values.iter().any(|&value| value != 0) {
                let stack_index = dictionary.stack(steps);
                for (samples, value) in samples.iter_mut().zip(values).filter(|(_, value)| *value != 0) {
                    samples.push(Sample { stack_index, values: vec![value], ..Sample::default() });
                }
            }
            Ok(())
        })?;
        let comments = heap_profile::comments(analysis, moment).into_iter().map(string).collect();
        let comments = AnyValue { value: Some(Value::ArrayValue(ArrayValue { values: comments })) };
        let attribute_indices = vec![dictionary.attribute("pprof.profile.comment", comments)];
        let mut kind = |(kind, unit): (&str, &str)| ValueType {
            type_strindex: dictionary.string(kind),
            unit_strindex: dictionary.string(unit),
        };
        let period_type = kind(PERIOD_TYPE);
        let profiles = SAMPLE_TYPES.iter().zip(samples).map(|(sample_type, samples)| Profile {
            sample_type: Some(kind(*sample_type)),
            samples,
            time_unix_nano: analysis.meta.started_unix_ns,
            duration_nano: analysis.duration.0,
            period_type: Some(period_type),
            period: heap_profile::period(analysis),
            profile_id: heap_profile::id(analysis, sample_type.0).to_vec(),
            attribute_indices: attribute_indices.clone(),
            ..Profile::default()
        });
        let scope = InstrumentationScope {
            name: "heapwise".to_owned(),
            version: text::harmless(&analysis.meta.heapwise).into_owned(),
            ..InstrumentationScope::default()
        };
        let scope_profiles =
            vec![ScopeProfiles { scope: Some(scope), profiles: profiles.collect(), ..Default::default() }];
        let resource = Some(resource(analysis, options));
        let data = ProfilesData {
            resource_profiles: vec![ResourceProfiles { resource, scope_profiles, ..Default::default() }],
            dictionary: Some(dictionary.finish()),
        };
        out.write_all(&data.encode_to_vec())
    }
}

/// What was recorded.
fn resource(analysis: &Analysis, options: &Options) -> Resource {
    let program = analysis.meta.command.first().map_or("", |path| text::last_part(path));
    let unknown = || format!("unknown_service:{}", text::harmless(program));
    let mut attributes = vec![(
        "service.name",
        string(text::harmless(&options.service.clone().unwrap_or_else(unknown)).into_owned()),
    )];
    if let Some(release) = options.release.as_ref().filter(|release| !release.is_empty()) {
        attributes.push(("service.version", string(release.clone())));
    }
    if !analysis.meta.host.is_empty() {
        attributes.push(("host.name", string(text::harmless(&analysis.meta.host).into_owned())));
    }
    if !program.is_empty() {
        attributes.push(("process.executable.name", string(text::harmless(program).into_owned())));
    }
    if let Some(process) = analysis.processes.first() {
        let value = Some(Value::IntValue(process.pid.into()));
        attributes.push(("process.pid", AnyValue { value }));
    }
    let given = options.labels.iter().map(|(key, value)| (key.as_str(), string(value.clone())));
    // One that is given by the user replaces ours.
    attributes.retain(|(key, _)| options.labels.iter().all(|(given, _)| given != key));
    let attributes = attributes.into_iter().chain(given).map(|(key, value)| KeyValue {
        key: key.to_owned(),
        value: Some(value),
        ..KeyValue::default()
    });
    Resource { attributes: attributes.collect(), ..Resource::default() }
}
