//! Exports of a recording that an earlier version of heapwise made: two processes, three threads, names, reallocations.
//!
//! Exports are tested with real readers in `tests/tests/exports.rs`; the tests here need no other program.

use heapwise_analysis::{Analysis, Options as AnalysisOptions, analyze};
use heapwise_report::export::{FORMATS, Format, Measure, Options};
use heapwise_trace::file::Reader;
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::profiles::v1development::{Location, Mapping, ProfilesData, Stack};
use prost::Message;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};

const V1_0: &[u8] = include_bytes!("../../../record/trace/tests/golden/v1.0.hw");

fn analysis() -> Analysis {
    let reader = Reader::new(V1_0).expect("the header is sound");
    analyze(reader, &AnalysisOptions::default(), |_| {}).expect("memory can be read")
}

fn export(format: &str, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    let format = heapwise_report::export::format(format).expect("a format of this name");
    format.write(&analysis(), options, &mut out).expect("memory");
    out
}

#[test]
fn a_line_of_folded_stacks_is_a_site_from_the_outermost_function_inwards() {
    let options = Options { measure: Some(Measure::AllocatedBytes), ..Options::default() };
    let text = String::from_utf8(export("folded", &options)).expect("text");
    assert_eq!(text.lines().count(), analysis().sites().len());
    let sum: u64 = text.lines().filter_map(|l| l.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
    assert_eq!(sum, analysis().totals.allocated_bytes.0);
    assert!(text.lines().any(|line| line == "clone3;start_thread;work;name 130"), "{text}");
    assert!(text.lines().any(|line| line.ends_with(";main;child;name 124")), "{text}");
}

#[test]
fn program_points_of_dhat_are_unique_and_add_up() {
    let file: Value = serde_json::from_slice(&export("dhat", &Options::default())).expect("JSON");
    let points = file["pps"].as_array().expect("program points");
    let sum = |field: &str| points.iter().map(|p| p[field].as_u64().expect("a number")).sum::<u64>();
    let totals = analysis().totals;
    assert_eq!(
        (sum("tbk"), sum("tb")),
        (totals.allocations + totals.reallocations, totals.allocated_bytes.0)
    );
    assert_eq!((sum("gb"), sum("eb")), (totals.peak_live_bytes.0, totals.never_freed_bytes.0));
    assert!(points.iter().all(|p| p["mb"].as_u64() >= p["gb"].as_u64()), "the most is less than the peak");
    let stacks: BTreeSet<String> = points.iter().map(|p| p["fs"].to_string()).collect();
    assert_eq!(stacks.len(), points.len(), "a stack occurs twice");
    let table = file["ftbl"].as_array().expect("a table of frames");
    assert_eq!(table[0], "[root]");
    let frames = points.iter().flat_map(|p| p["fs"].as_array().expect("frames"));
    assert!(frames.map(|f| f.as_u64().expect("an index")).all(|f| f > 0 && (f as usize) < table.len()));
}

#[test]
fn threads_of_firefox_add_up() {
    let file: Value = serde_json::from_slice(&export("firefox", &Options::default())).expect("JSON");
    let totals = analysis().totals;
    let expected = [totals.peak_live_bytes.0, totals.allocated_bytes.0, totals.allocations];
    for (thread, total) in file["threads"].as_array().expect("threads").iter().zip(expected) {
        let weights = thread["samples"]["weight"].as_array().expect("weights").iter();
        assert_eq!(weights.map(|w| w.as_u64().expect("a number")).sum::<u64>(), total, "{}", thread["name"]);
    }
}

#[test]
fn a_profile_for_pprof_is_whole_and_the_same_every_time() {
    let file = export("pprof", &Options::default());
    assert_eq!(file, export("pprof", &Options::default()));
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(file.as_slice()).read_to_end(&mut message).expect("a whole gzip file");
    let holds = |text: &str| message.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(["alloc_objects", "inuse_space", "main", "libc.so.6"].into_iter().all(holds));
}

#[test]
fn the_profiles_of_otlp_add_up_and_refer_to_what_is_there() {
    let options = Options {
        service: Some("shop".to_owned()),
        labels: vec![("host.name".to_owned(), "mine".to_owned())],
        ..Options::default()
    };
    let file = export("otlp", &options);
    assert_eq!(file, export("otlp", &options));
    // The request of a collector and the message in files are the same bytes.
    let request = ExportProfilesServiceRequest::decode(file.as_slice()).expect("a request");
    let data = ProfilesData::decode(file.as_slice()).expect("a message");
    assert_eq!(request.resource_profiles, data.resource_profiles);
    let resource = data.resource_profiles[0].resource.as_ref().expect("a resource");
    let attribute = |key: &str| {
        let found: Vec<_> = resource.attributes.iter().filter(|attribute| attribute.key == key).collect();
        assert_eq!(found.len(), 1, "{key}");
        match found[0].value.as_ref().and_then(|value| value.value.clone()) {
            Some(any_value::Value::StringValue(text)) => text,
            other => panic!("{key} is {other:?}"),
        }
    };
    assert_eq!((attribute("service.name"), attribute("host.name")), ("shop".to_owned(), "mine".to_owned()));

    let tables = data.dictionary.expect("tables");
    let text = |index: i32| tables.string_table[index as usize].as_str();
    assert_eq!(tables.string_table.iter().collect::<BTreeSet<_>>().len(), tables.string_table.len());
    assert_eq!((text(0), &tables.location_table[0]), ("", &Location::default()));
    assert_eq!((&tables.stack_table[0], &tables.mapping_table[0]), (&Stack::default(), &Mapping::default()));
    let profiles = &data.resource_profiles[0].scope_profiles[0].profiles;
    let totals = analysis().totals;
    let expected = [
        ("alloc_objects", totals.allocations),
        ("alloc_space", totals.allocated_bytes.0),
        ("inuse_objects", analysis().exact_sites().iter().map(|site| site.numbers.peak_blocks).sum()),
        ("inuse_space", totals.peak_live_bytes.0),
    ];
    assert_eq!(profiles.len(), expected.len());
    let mut names = BTreeSet::new();
    for (profile, (name, total)) in profiles.iter().zip(expected) {
        let kind = profile.sample_type.expect("a type");
        assert_eq!(text(kind.type_strindex), name);
        let values = profile.samples.iter().flat_map(|sample| &sample.values);
        assert_eq!(values.sum::<i64>(), total as i64, "{name}");
        assert!(profile.samples.iter().all(|sample| sample.values[0] > 0 && sample.stack_index > 0));
        let stacks = profile.samples.iter().map(|sample| &tables.stack_table[sample.stack_index as usize]);
        for location in stacks.flat_map(|stack| &stack.location_indices) {
            let location = &tables.location_table[*location as usize];
            let mapping = &tables.mapping_table[location.mapping_index as usize];
            let covers = mapping.memory_start <= location.address && location.address < mapping.memory_limit;
            assert!(location.mapping_index == 0 || covers, "{location:x?} is not in {mapping:x?}");
            let functions = location.lines.iter().map(|line| line.function_index as usize);
            names.extend(functions.map(|at| text(tables.function_table[at].name_strindex)));
        }
        assert_eq!(profile.profile_id.len(), 16);
    }
    assert!(["main", "work", "child"].into_iter().all(|name| names.contains(name)), "{names:?}");
    let ids: BTreeSet<_> = profiles.iter().map(|profile| &profile.profile_id).collect();
    assert_eq!(ids.len(), profiles.len());
}

/// A writer that is full after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.min(bytes.len()) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            n => {
                self.0 -= n;
                Ok(n)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_fills_up() {
    let analysis = analysis();
    for format in FORMATS.iter().copied() {
        let write = |room| {
            let format: &dyn Format = format;
            format.write(&analysis, &Options::default(), &mut Full(room))
        };
        let whole = export(format.name(), &Options::default()).len();
        if format.missing(&analysis).is_some() {
            assert_eq!(whole, 0, "{format:?} writes nothing of what is not there");
            continue;
        }
        for room in [0, 1, whole / 2, whole - 1] {
            let error = write(room).expect_err("there is no room");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{format:?} with {room} bytes");
        }
        write(whole).expect("there is just enough room");
    }
}
