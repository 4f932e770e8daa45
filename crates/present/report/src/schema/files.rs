//! The files in docs/schema are made of the structures, and are those of the structures that there are.

use super::{allocators, bench_diff, compare, diff, doctor, lab, replay, report, tune};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

fn check<T: JsonSchema>(schema: &str) {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let made = serde_json::to_string_pretty(&generator.into_root_schema_for::<T>()).expect("JSON") + "\n";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/schema/");
    let path = format!("{folder}{}.json", schema.replace('/', "-"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &made).expect("the file can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(there == made, "{path} is not of the structures that there are: `cargo xtask schemas` writes it");
}

#[test]
fn the_files_are_those_of_the_structures() {
    check::<allocators::Allocators>(allocators::SCHEMA);
    check::<bench_diff::BenchDiff>(bench_diff::SCHEMA);
    check::<compare::Comparison>(compare::SCHEMA);
    check::<diff::Diff<'static>>(diff::SCHEMA);
    check::<doctor::Checkup>(doctor::SCHEMA);
    check::<lab::Lab>(lab::SCHEMA);
    check::<replay::Replay>(replay::SCHEMA);
    check::<report::Report<'static>>(report::SCHEMA);
    check::<tune::Tuned>(tune::SCHEMA);
}
