//! `heapwise lab debug-heap`: a debugger makes a program slower, the variable undoes it, and another allocator does not notice.

use crate::tool::{finish, heapwise, wine};
use serde_json::Value;

#[test]
fn the_debug_heap_is_in_place_and_the_fix_undoes_it() {
    let line = ["lab", "debug-heap", "--quick", "--workload", "hash-map", "--format", "json"];
    let (code, output, errors) = finish(heapwise(&line));
    assert_eq!(code, 0, "{output}{errors}");
    let json: Value = serde_json::from_str(&output).unwrap_or_else(|e| panic!("no JSON: {e}\n{output}"));
    assert_eq!(json["schema"], "heapwise.lab/1");
    let tables = json["tables"].as_array().expect("there are tables");
    let heaps = tables.iter().find(|table| table["id"] == "heaps").expect("that of the heaps");
    let rows = heaps["rows"].as_array().expect("it has rows");
    // A run counts only if the worker itself found its heap to be the one that was meant.
    for (name, flags) in [("plain", "0x00000000"), ("debug-heap", "0x40000060"), ("fixed", "0x00000000")] {
        let row =
            rows.iter().find(|row| row["condition"] == name).unwrap_or_else(|| panic!("no {name}: {heaps}"));
        assert_eq!(row["force_flags"], flags, "{row}");
        assert!(row["runs"].as_u64().is_some_and(|runs| runs > 0), "{row}");
    }
    let mimalloc = rows.iter().find(|row| row["condition"] == "mimalloc").expect("mimalloc ran");
    assert_eq!(
        (&mimalloc["allocator"], &mimalloc["force_flags"]),
        (&"mimalloc".into(), &"0x40000060".into())
    );
    // Under Wine the output names the emulation.
    assert_eq!(output.contains("EMULATION"), wine().is_some(), "{output}");
}
