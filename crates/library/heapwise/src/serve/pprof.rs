//! A snapshot as a profile for pprof, as Go's programs serve it.
//!
//! As in exports of recordings, addresses are as linked and each object file is mapped where it was linked to be, so `pprof -list` and
//! `-disasm` find the instructions in the file. What Go leaves out is left out, too: frames that only lead to the allocator.

use super::names::{Learned, Shown};
use heapwise_environment::harmless::escape;
use heapwise_portable::profile::{Counts, Site, Snapshot, Totals};
use heapwise_trace::pprof::{
    Encoder, Functions, Label, Line, Loaded, Location, Mapping, Profile, Sample, Strings, signed,
};
use std::collections::HashMap;
use std::io;

/// Frames of a stack that are sampled; where there are as many, there may have been more.
use heapwise_portable::MOST_FRAMES;

/// So many sites are written before others get their turn.
const AT_ONCE: usize = 64;

const NO_STACK: &str = "[stacks beyond the bound]";
const CUT: &str = "[cut stack]";

/// The profile, or what has changed in it since a snapshot before. Others get their turn meanwhile.
pub(super) async fn bytes(
    now: &Snapshot,
    before: Option<&Snapshot>,
    default_type: &str,
    names: &Learned<'_>,
) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(names);
    let mut out = Encoder::new(Vec::new());
    out.put(&writer.head(now, before, default_type))?;
    for (number, site) in now.sites.iter().enumerate() {
        if number % AT_ONCE == 0 {
            tokio::task::yield_now().await;
        }
        let earlier = before.and_then(|before| before.sites.get(number)).map(|site| site.counts);
        let value = values(&site.counts, &earlier.unwrap_or_default());
        if value.iter().all(|value| *value == 0) {
            continue;
        }
        let location_id = writer.locations(&site.stack, &mut out)?;
        let label = writer.size(site);
        out.put(&Profile { sample: vec![Sample { location_id, value, label }], ..Profile::default() })?;
    }
    writer.finish(out)
}

fn values(now: &Counts, before: &Counts) -> Vec<i64> {
    let change = |of: fn(&Counts) -> u64| signed(of(now)) - signed(of(before));
    vec![
        change(|counts| counts.alloc_objects),
        change(|counts| counts.alloc_bytes),
        change(|counts| counts.live_objects),
        change(|counts| counts.live_bytes),
    ]
}

struct Writer<'a> {
    names: &'a Learned<'a>,
    strings: Strings,
    functions: Functions,
    /// By return address and how many of its lines are left out.
    locations: HashMap<(u64, usize), u64>,
    /// The places that stand for what is not known, by their names.
    marks: HashMap<&'static str, u64>,
    /// The addresses that each object file has to cover; the last one is of those that are in none.
    ranges: HashMap<Option<usize>, (u64, u64)>,
}

impl<'a> Writer<'a> {
    fn new(names: &'a Learned<'a>) -> Self {
        Self {
            names,
            strings: Strings::default(),
            functions: Functions::default(),
            locations: HashMap::new(),
            marks: HashMap::new(),
            ranges: HashMap::new(),
        }
    }

    fn head(&mut self, now: &Snapshot, before: Option<&Snapshot>, default_type: &str) -> Profile {
        let comments = comments(now, before);
        let duration = before.map_or(0, |before| now.age_ns - before.age_ns);
        Profile {
            time_nanos: signed(now.started_unix_ns + now.age_ns),
            duration_nanos: signed(duration),
            comment: comments.iter().map(|comment| self.strings.index(comment)).collect(),
            ..self.strings.head(default_type, signed(now.sample_bytes))
        }
    }

    /// Go's label of each sample: how large its blocks are at most. An average would be another one in each profile, and readers that
    /// compare profiles take samples with other labels for others.
    fn size(&mut self, site: &Site) -> Vec<Label> {
        let size = Some(site.most_bytes).filter(|size| *size > 0);
        let key = self.strings.index("bytes");
        size.map(|size| Label { key, num: signed(size), num_unit: key }).into_iter().collect()
    }

    fn locations(&mut self, stack: &[u64], out: &mut Encoder<Vec<u8>>) -> io::Result<Vec<u64>> {
        if stack.is_empty() {
            return Ok(vec![self.mark(NO_STACK, out)?]);
        }
        let shown = self.names.stack(stack);
        let mut ids =
            shown.iter().map(|frame| self.location(frame, out)).collect::<io::Result<Vec<u64>>>()?;
        if stack.len() == MOST_FRAMES {
            ids.push(self.mark(CUT, out)?);
        }
        Ok(ids)
    }

    fn next_id(&self) -> u64 {
        (self.locations.len() + self.marks.len()) as u64 + 1
    }

    fn location(&mut self, frame: &Shown, out: &mut Encoder<Vec<u8>>) -> io::Result<u64> {
        let key = (frame.return_address, frame.hidden);
        if let Some(&id) = self.locations.get(&key) {
            return Ok(id);
        }
        let id = self.next_id();
        self.locations.insert(key, id);
        let line = frame.lines().iter().map(|line| {
            let (name, file) = (self.strings.index(&line.function), self.strings.index(&line.file));
            Line { function_id: self.functions.id(name, file), line: line.line.into() }
        });
        let line = line.collect();
        let (address, module) = (frame.place.address, frame.place.module);
        let (from, to) = self.ranges.entry(module).or_insert((address, address));
        (*from, *to) = ((*from).min(address), (*to).max(address));
        let location = Location { id, address, line, mapping_id: mapping_id(module) };
        out.put(&Profile { location: vec![location], ..Profile::default() })?;
        Ok(id)
    }

    fn mark(&mut self, mark: &'static str, out: &mut Encoder<Vec<u8>>) -> io::Result<u64> {
        if let Some(&id) = self.marks.get(mark) {
            return Ok(id);
        }
        let id = self.next_id();
        self.marks.insert(mark, id);
        let name = self.strings.index(mark);
        let line = vec![Line { function_id: self.functions.id(name, 0), line: 0 }];
        self.ranges.entry(None).or_insert((0, 0));
        let location = Location { id, line, mapping_id: mapping_id(None), ..Location::default() };
        out.put(&Profile { location: vec![location], ..Profile::default() })?;
        Ok(id)
    }

    fn finish(mut self, mut out: Encoder<Vec<u8>>) -> io::Result<Vec<u8>> {
        let modules = self.names.modules();
        let program = std::env::current_exe().unwrap_or_default();
        let mut ranges: Vec<_> = self.ranges.into_iter().collect();
        // The program itself has to come first, and what is in no file last.
        ranges.sort_unstable_by_key(|(number, _)| {
            let path = number.map(|number| &modules[number].path);
            (path.is_none(), path.is_some_and(|path| *path != program.to_string_lossy()), *number)
        });
        for (number, range) in ranges {
            let module = number.map(|number| &modules[number]);
            let loaded =
                module.map(|module| Loaded { start: module.start, end: module.end, bias: module.bias });
            let filename = module.map_or("[unknown]".into(), |module| escape(&module.path));
            let filename = self.strings.index(&filename);
            let build_id = self.strings.index(module.map_or("", |module| &module.build_id));
            let mapping = Mapping::as_linked(mapping_id(number), range, loaded, filename, build_id);
            out.put(&Profile { mapping: vec![mapping], ..Profile::default() })?;
        }
        out.finish(self.functions, self.strings)
    }
}

/// 1 for what is in no object file.
fn mapping_id(module: Option<usize>) -> u64 {
    module.map_or(1, |number| number as u64 + 2)
}

fn comments(now: &Snapshot, before: Option<&Snapshot>) -> Vec<String> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let earlier = before.map(|before| before.totals).unwrap_or_default();
    let change = |of: fn(&Totals) -> u64| signed(of(&now.totals)) - signed(of(&earlier));
    let (version, every) = (env!("CARGO_PKG_VERSION"), now.sample_bytes);
    let head = format!("heapwise {version}: estimates from a sample, one block for every {every} bytes");
    let (samples, live) = (change(|totals| totals.samples), change(|totals| totals.live_samples));
    let mut comments = match before {
        Some(before) => vec![
            format!("{head}; {samples} blocks were sampled meanwhile, {live:+} are live"),
            format!("what {:.3} s changed", seconds(now.age_ns - before.age_ns)),
        ],
        None => vec![
            format!("{head}; {samples} blocks were sampled, {live} of them are live"),
            format!(
                "sampling began {:.3} s before; blocks from before that are not in it",
                seconds(now.age_ns)
            ),
        ],
    };
    comments.push("a block that was resized counts as freed and allocated anew".to_owned());
    let warnings = [
        (change(|totals| totals.lost_samples), "are missing, there was no room for them".to_owned()),
        (
            change(|totals| totals.unfollowed_samples),
            "are allocated and never live, there was no place for them among the live ones".to_owned(),
        ),
        (change(|totals| totals.samples_without_stack), format!("have no stack: {NO_STACK}")),
    ];
    let warnings = warnings.into_iter().filter(|(count, _)| *count > 0);
    comments.extend(warnings.map(|(count, what)| format!("warning: {count} samples {what}")));
    comments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_a_difference_are_of_the_difference() {
        let snapshot = |samples, live_samples, lost_samples, age_ns| Snapshot {
            sites: Vec::new(),
            totals: Totals { samples, live_samples, lost_samples, ..Totals::default() },
            sample_bytes: 512,
            started_unix_ns: 0,
            age_ns,
        };
        let (before, now) = (snapshot(1000, 500, 7, 1_000_000_000), snapshot(1030, 480, 7, 3_500_000_000));
        let difference = comments(&now, Some(&before));
        assert!(
            difference[0].ends_with("; 30 blocks were sampled meanwhile, -20 are live"),
            "{difference:?}"
        );
        assert_eq!((difference[1].as_str(), difference.len()), ("what 2.500 s changed", 3));
        let whole = comments(&now, None);
        assert!(whole[0].ends_with("; 1030 blocks were sampled, 480 of them are live"), "{whole:?}");
        assert_eq!(whole[3], "warning: 7 samples are missing, there was no room for them");
    }
}
