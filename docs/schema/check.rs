//! Whether a file of this folder is that of the structure that is written: for the tests of the crates that have such structures.
//! `cargo xtask schemas` has them write the files.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

pub(crate) fn check<T: JsonSchema>(schema: &str) {
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
