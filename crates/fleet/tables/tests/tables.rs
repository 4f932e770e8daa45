//! The tables as their readers find them: sums that are the totals, stacks that lead to their frames, and what earlier versions wrote.

#[path = "golden/predictions.rs"]
mod predictions;

use heapwise_analysis::{Analysis, Options, analyze};
use heapwise_diagnosis::diagnose;
use heapwise_tables::{Labels, MOST_SITES, Recording, TABLES, TableFile};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, Nodes};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use predictions::predictions;
use std::collections::{BTreeMap, BTreeSet};

/// Recordings of a program in C with threads and a fork.
const RECORDINGS: [&[u8]; 3] = [
    include_bytes!("../../../record/trace/tests/golden/v1.0.hw"),
    include_bytes!("../../../record/trace/tests/golden/v2.0.hw"),
    include_bytes!("../../../record/trace/tests/golden/v3.0.hw"),
];

fn read(recording: &[u8]) -> Analysis {
    let reader = Reader::new(recording).expect("a recording");
    analyze(reader, &Options::default(), |_| {}).expect("memory")
}

/// All tables of a recording, by their names.
fn tables(recording: &[u8]) -> BTreeMap<&'static str, TableFile> {
    let analysis = read(recording);
    let mut source = Recording::new(&analysis);
    source.follow(Reader::new(recording).expect("a recording"), None, |_| {}).expect("memory");
    source.predict(predictions());
    let labels = Labels::new(&analysis, Some("golden"), Some("1.0"));
    let files = source.tables(&diagnose(&analysis), &labels).expect("memory");
    files.into_iter().map(|file| (file.table.name, file)).collect()
}

fn reader(bytes: &[u8]) -> SerializedFileReader<bytes::Bytes> {
    SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).expect("a Parquet file")
}

fn rows(bytes: &[u8]) -> Vec<Row> {
    reader(bytes).get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
}

/// A row as text, by column.
fn cells(row: &Row) -> BTreeMap<String, String> {
    row.get_column_iter().map(|(name, field)| (name.clone(), field.to_string())).collect()
}

fn number(row: &Row, column: &str) -> i64 {
    let mut cells = row.get_column_iter();
    match cells.find(|(name, _)| *name == column) {
        Some((_, Field::Long(number))) => *number,
        other => panic!("{column}: {other:?}"),
    }
}

fn sum(rows: &[Row], column: &str) -> i64 {
    rows.iter().map(|row| number(row, column)).sum()
}

/// The elements of a list.
fn list(row: &Row, column: &str) -> Vec<String> {
    let mut cells = row.get_column_iter();
    match cells.find(|(name, _)| *name == column) {
        Some((_, Field::ListInternal(list))) => list.elements().iter().map(Field::to_string).collect(),
        other => panic!("{column}: {other:?}"),
    }
}

/// Where the sums of sites are the totals of the recording.
const SUMS: &[(&str, &str)] = &[
    ("allocations", "allocations"),
    ("reallocations", "reallocations"),
    ("allocated_bytes", "allocated_bytes"),
    ("temporary_allocations", "temporary_allocations"),
    ("peak_bytes", "peak_live_bytes"),
    ("peak_blocks", "peak_live_blocks"),
    ("live_at_exit_bytes", "never_freed_bytes"),
    ("live_at_exit_blocks", "never_freed_blocks"),
    ("failed_allocations", "failed_allocations"),
];

#[test]
fn sums_are_the_totals_and_every_stack_leads_to_its_frames() {
    for recording in RECORDINGS {
        let tables = tables(recording);
        let of = |name: &str| rows(&tables[name].bytes);
        let (all, sites) = (of("recordings"), of("sites"));
        assert_eq!(all.len(), 1);
        for (part, whole) in SUMS {
            assert_eq!(sum(&sites, part), number(&all[0], whole), "{part}");
        }
        // A block from before the recording, or from a parent process, has no site.
        assert!(sum(&sites, "deallocations") <= number(&all[0], "deallocations"));
        let frames: BTreeSet<String> =
            of("frames").iter().map(|row| cells(row)["frame_id"].clone()).collect();
        let stacks = of("stacks");
        let known: BTreeSet<String> = stacks.iter().map(|row| cells(row)["stack_id"].clone()).collect();
        assert_eq!(known.len(), stacks.len(), "each stack is there once");
        assert_eq!(known.len(), sites.len(), "there are few");
        assert!(sites.iter().all(|row| known.contains(&cells(row)["stack_id"])));
        for stack in &stacks {
            let ids = list(stack, "frame_ids");
            assert!(!ids.is_empty() && ids.iter().all(|id| frames.contains(id)), "{stack}");
        }
        for site in &sites {
            let requests = number(site, "allocations") + number(site, "reallocations");
            let sizes: i64 = list(site, "sizes").iter().map(|n| n.parse::<i64>().expect("a number")).sum();
            assert_eq!(sizes, requests, "{site}");
        }
        for file in tables.values() {
            assert_eq!(file.rows, rows(&file.bytes).len(), "{}", file.name);
            let folder = format!("{}/date=", file.table.name);
            assert!(
                file.name.starts_with(&folder) && file.name.contains("/service=golden/"),
                "{}",
                file.name
            );
        }
    }
}

#[test]
fn the_same_function_has_the_same_id_in_all_recordings() {
    let names = |recording| {
        let file = &tables(recording)["frames"];
        let rows = rows(&file.bytes);
        let named = |row: &Row| {
            let cells = cells(row);
            ((cells["module"].clone(), cells["function"].clone()), cells["frame_id"].clone())
        };
        rows.iter().map(named).collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (names(RECORDINGS[0]), names(RECORDINGS[1]));
    let both: Vec<_> =
        old.iter().filter(|(name, _)| new.contains_key(name) && !name.1.contains("+0x")).collect();
    assert!(both.len() > 3, "{old:?}");
    assert!(both.iter().all(|(name, id)| new[name] == **id));
    let ids: BTreeSet<_> = old.values().collect();
    assert_eq!(ids.len(), old.len(), "two functions have one id");
}

/// A column as Parquet has it.
fn shape(column: &Type) -> String {
    let info = column.get_basic_info();
    let below = match column.is_group() {
        true => column.get_fields().iter().map(|field| shape(field)).collect(),
        false => format!("{:?}", column.get_physical_type()),
    };
    format!("{} {:?} {:?} {below}", info.name(), info.repetition(), info.logical_type_ref())
}

#[test]
fn what_an_earlier_version_wrote_has_the_columns_of_this_one_and_the_same_in_them() {
    // `cargo run -p heapwise-tables --example golden` wrote it. It is never made anew: a new version gets a folder of its own.
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    let today = tables(RECORDINGS[2]);
    // What is said of a recording may be said better.
    let words = ["heapwise", "verdict", "verdict_sentence", "warnings", "tables_version"];
    let mut compared = 0;
    for table in TABLES {
        let Ok(file) = std::fs::read(golden.join(format!("{}.parquet", table.name))) else { continue };
        let columns = |bytes: &[u8]| -> BTreeSet<String> {
            let schema = reader(bytes).metadata().file_metadata().schema_descr().root_schema().clone();
            schema.get_fields().iter().map(|field| shape(field)).collect()
        };
        let now = &today[table.name].bytes;
        let gone: Vec<String> = columns(&file).difference(&columns(now)).cloned().collect();
        assert!(gone.is_empty(), "{table:?}: {gone:?} is gone; that is a new version of the tables");
        compared += 1;
        if table.name == "findings" {
            continue;
        }
        let (then, now) = (rows(&file), rows(now));
        assert_eq!(then.len(), now.len(), "{table:?}");
        for (then, now) in then.iter().zip(&now) {
            let now = cells(now);
            for (column, value) in cells(then).iter().filter(|(column, _)| !words.contains(&column.as_str()))
            {
                assert_eq!(*value, now[column], "{table:?}.{column}");
            }
        }
    }
    assert_eq!(compared, TABLES.len());
}

/// A stack that recordings do not have, as far away as a number can be, takes no memory.
#[test]
fn a_stack_may_have_any_number() {
    let tables = tables(&with_stacks(&[u32::MAX - 1, 1 << 25], 0));
    assert_eq!(sum(&rows(&tables["sites"].bytes), "allocations"), 2);
}

/// A recording with so many stacks, each of which allocates a block of its number's bytes and keeps it, in two halves of the time.
fn with_sites(count: u32) -> Vec<u8> {
    sample_with_sites(count, 0)
}

/// The same of a sample of the blocks.
fn sample_with_sites(count: u32, sample_bytes: u64) -> Vec<u8> {
    with_stacks(&(2..2 + count).collect::<Vec<_>>(), sample_bytes)
}

/// A block for each of these stacks; those from 2 on are known up to their number.
fn with_stacks(stacks: &[u32], sample_bytes: u64) -> Vec<u8> {
    let count = stacks.len() as u32;
    let meta = Meta { sample_bytes, ..Meta::default() };
    let mut writer = Writer::new(Vec::new(), &meta).expect("memory");
    let process = ProcessIndex(0);
    writer.process(&ProcessInfo { index: process, pid: 5, ..ProcessInfo::default() }).expect("memory");
    writer.thread(&ThreadInfo { process, handle: 1, ..ThreadInfo::default() }).expect("memory");
    let (start, path) = (0x100_0000, "/bin/app".to_owned());
    let module =
        ModuleInfo { process, start, end: start + 0x10_0000, bias: start, path, ..ModuleInfo::default() };
    writer.module(&module).expect("memory");
    let nodes = (0..count).map(|at| (1, start + 1 + u64::from(at)));
    let nodes = [(0, root_key(0, false))].into_iter().chain(nodes).collect();
    writer.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
    let mut encoder = EventsEncoder::default();
    let mut words = Vec::new();
    let mut add = |event| {
        let encoded = words::encode(event);
        words.extend_from_slice(&encoded.words[..encoded.len]);
    };
    for (at, &stack) in (0..count).zip(stacks) {
        if at == count / 2 {
            add(Event::Epoch(Epoch(51)));
        }
        add(Event::Alloc {
            address: BlockAddress(0x5000_0000 + u64::from(at) * 0x10_0000),
            size: u64::from(at) + 1,
            align_log2: 0,
            allocator: AllocatorNumber::BY_NAME,
            function: AllocFunction::Malloc,
            stack: StackId(stack),
        });
    }
    encoder.add_block(ThreadIndex(0), Epoch(1), &words);
    writer.events(&encoder.finish(Epoch(u64::MAX))).expect("memory");
    writer.clock(&ClockReadings((0..=100).map(|i| (Epoch(i), i * 1_000_000)).collect())).expect("memory");
    let ended = ProcessEnd { index: process, epoch: Epoch(100), ..ProcessEnd::default() };
    writer.process_end(&ended).expect("memory");
    writer.run_end(&RunEnd { duration_ns: 100_000_000, ..RunEnd::default() }).expect("memory");
    writer.into_inner()
}

#[test]
fn the_smallest_sites_of_many_become_one_row_and_the_sums_stay() {
    let more = 17;
    let count = MOST_SITES as u32 + more;
    let tables = tables(&with_sites(count));
    let (all, sites) = (rows(&tables["recordings"].bytes), rows(&tables["sites"].bytes));
    assert_eq!((sites.len(), tables["stacks"].rows), (MOST_SITES + 1, MOST_SITES));
    for (part, whole) in SUMS {
        assert_eq!(sum(&sites, part), number(&all[0], whole), "{part}");
    }
    let without: Vec<&Row> = sites.iter().filter(|row| cells(row)["stack_id"] == "null").collect();
    let [rest] = without.as_slice() else { panic!("{} rows without a stack", without.len()) };
    assert_eq!(number(rest, "allocations"), i64::from(more));
    assert_eq!(number(rest, "allocated_bytes"), (1..=i64::from(more)).sum::<i64>(), "the smallest ones");
}

#[test]
fn the_largest_sites_are_followed_over_time() {
    let tables = tables(&with_sites(2));
    let rows = rows(&tables["site_samples"].bytes);
    assert_eq!(rows.len(), 2 * 256);
    let of = |stack: &[Row]| stack.iter().map(|row| number(row, "live_bytes")).collect::<Vec<_>>();
    let (second, first) = (of(&rows[..256]), of(&rows[256..]));
    assert!(first[8..].iter().all(|level| *level == 1), "{first:?}");
    let step = second.iter().position(|level| *level == 2).expect("it has a block");
    assert!((125..=135).contains(&step) && second[..step].iter().all(|level| *level == 0), "{second:?}");
    assert!(second[step..].iter().all(|level| *level == 2), "{second:?}");
    assert_eq!(number(&rows[255], "time_ns") / 1_000_000, 99);
}

#[test]
fn fragmentation_is_there_when_pages_were_looked_at() {
    let tables = tables(RECORDINGS[2]);
    let memory = rows(&tables["memory"].bytes);
    let whole: Vec<&Row> = memory.iter().filter(|row| cells(row)["allocator"] == "null").collect();
    assert!(!whole.is_empty());
    let samples = rows(&tables["samples"].bytes);
    let known = samples.iter().filter(|row| cells(row)["fragmentation_bytes"] != "null");
    let known: Vec<i64> = known.map(|row| number(row, "fragmentation_bytes")).collect();
    for look in whole {
        let parts = ["internal_fragmentation", "external_fragmentation", "free_pages"];
        let fragmented: i64 = parts.iter().map(|part| number(look, part)).sum();
        assert!(known.contains(&fragmented), "{fragmented} is none of {known:?}");
    }
}

#[test]
fn only_a_recording_that_was_replayed_has_predictions() {
    let analysis = read(RECORDINGS[2]);
    let labels = Labels::new(&analysis, None, None);
    let without = Recording::new(&analysis).tables(&diagnose(&analysis), &labels).expect("memory");
    assert!(without.iter().all(|file| file.table.name != "predictions"));
    assert_eq!((without.len(), without[0].table.name), (TABLES.len() - 1, "recordings"));
    let tables = tables(RECORDINGS[2]);
    assert_eq!(tables.len(), TABLES.len());
    let rows = rows(&tables["predictions"].bytes);
    let [own, other] = rows.as_slice() else { panic!("{} rows", rows.len()) };
    let numbers = ["peak_rss_bytes", "peak_rss_low_bytes", "peak_rss_high_bytes"];
    assert_eq!(numbers.map(|column| number(own, column)), [20, 19, 23]);
    assert_eq!((&*cells(own)["is_recorded"], number(own, "rss_at_end_bytes")), ("true", 18));
    assert_eq!(list(other, "settings"), ["\"dirty_decay_ms=0\""]);
    assert_eq!(cells(other)["peak_rss_bytes"], "null");
}

#[test]
fn what_is_followed_reaches_the_peak_and_what_is_left_at_the_end() {
    // Processes that end, and one that goes on in a fork.
    for recording in RECORDINGS {
        let tables = tables(recording);
        let mut highest: BTreeMap<String, i64> = BTreeMap::new();
        for row in rows(&tables["site_samples"].bytes) {
            let level = highest.entry(cells(&row)["stack_id"].clone()).or_default();
            *level = (*level).max(number(&row, "live_bytes"));
        }
        assert!(!highest.is_empty());
        for site in rows(&tables["sites"].bytes) {
            let Some(&level) = highest.get(&cells(&site)["stack_id"]) else { continue };
            // What several processes left behind was not there together.
            let most = number(&site, "peak_bytes");
            assert!((most..=number(&site, "most_live_bytes")).contains(&level), "{level}: {site}");
            assert!(level > 0, "{site}");
        }
    }
}

#[test]
fn more_sites_are_followed_than_64_never() {
    let tables = tables(&with_sites(100));
    assert_eq!(tables["site_samples"].rows, 64 * 256);
}

#[test]
fn variances_of_a_sample_add_up_to_the_errors_of_its_totals() {
    let tables = tables(&sample_with_sites(300, 4096));
    let (all, sites) = (rows(&tables["recordings"].bytes), rows(&tables["sites"].bytes));
    for (part, whole) in SUMS {
        assert_eq!(sum(&sites, part), number(&all[0], whole), "{part}");
    }
    let error = |column: &str| {
        let mut cells =
            sites.iter().flat_map(|row| row.get_column_iter().filter(|(name, _)| *name == column));
        let sum = cells.try_fold(0.0, |sum, (_, field)| match field {
            Field::Double(variance) => Some(sum + variance),
            _ => None,
        });
        sum.expect("numbers").sqrt().ceil() as i64
    };
    assert_eq!(error("requests_variance"), number(&all[0], "requests_error"));
    assert_eq!(error("allocated_bytes_variance"), number(&all[0], "allocated_bytes_error"));
    assert!(number(&all[0], "requests_error") > 10);
    let exact = self::tables(&with_sites(3));
    assert!(rows(&exact["sites"].bytes).iter().all(|row| cells(row)["requests_variance"].parse() == Ok(0.0)));
    assert_eq!(cells(&rows(&exact["recordings"].bytes)[0])["requests_error"], "null");
}
