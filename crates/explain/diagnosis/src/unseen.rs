//! Memory that the recording does not have: how much there is, which allocators it may belong to, and whether anything can be
//! judged without it.

use crate::units::bytes;
use heapwise_allocators::{Family, Host, families};
use heapwise_analysis::{AllocatorInside, Analysis, BlindSpot, Breakdown, Bytes, Process};

/// From this part of the resident memory on (one in so many) unrecorded memory is too much for a verdict.
const MUCH: u64 = 4;
/// From this part on an allocator that is there may be in use. Some is unrecorded in every program: the loader's own, and stacks of
/// threads that never allocate.
const IN_USE: u64 = 16;
/// The heap of a language's runtime takes more as soon as it is used. Unrecorded in programs that only sleep, in KiB: PHP 348, Python
/// 744, Guile 1,630, node 3,050, Ruby 4,960; and PHP without its heap 52, which are the loader's own.
const LEAST_HEAP: Bytes = Bytes(128 << 10);
/// Files that are named in a sentence.
const MOST_NAMED: usize = 3;

/// What was not recorded of the process with the most memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// Allocators whose blocks are not recorded, with the files that they are inside of.
    pub allocators: Vec<(String, String)>,
    /// Resident memory that no recorded allocator explains, at the peak; 0 also if pages were not looked at.
    pub unrecorded: Bytes,
    /// Whether that is so much that nothing can be said of memory as a whole.
    pub is_much: bool,
    /// One sentence with names and numbers.
    pub sentence: String,
    /// What to do.
    pub remedy: String,
}

/// What there is to say. `None` if nothing is missing that matters.
pub fn unseen(analysis: &Analysis) -> Option<Unseen> {
    let peak = analysis.accounting.at_peak.as_ref();
    let part = |one_in: u64| peak.is_some_and(|b| b.unrecorded.0.saturating_mul(one_in) > b.rss.0);
    // Without a look at pages it is not known whether they are in use.
    let is_used = |spot: &&BlindSpot| is_the_programs(spot) || peak.is_none() || part(IN_USE);
    let of_peak = |spot: &&BlindSpot| peak.is_none_or(|b| may_be_in(analysis, b, &spot.file));
    let spots = analysis.blind_spots.iter().filter(|spot| !spot.allocator.is_empty());
    let spots: Vec<&BlindSpot> = spots.filter(is_used).filter(of_peak).collect();
    let is_much = part(MUCH);
    if spots.is_empty() && !is_much {
        return None;
    }
    let bypassed = if is_much { bypassed(analysis, peak) } else { Vec::new() };
    Some(Unseen {
        allocators: spots.iter().map(|spot| (spot.allocator.clone(), spot.file.clone())).collect(),
        unrecorded: peak.map_or(Bytes(0), |b| b.unrecorded),
        is_much,
        sentence: sentence(analysis, (&spots, &bypassed), peak),
        remedy: match spots.is_empty() && analysis.lacks_a_part() {
            true => "record again: a whole recording shows what that memory is".to_owned(),
            false if spots.is_empty() && !bypassed.is_empty() => BYPASSED.to_owned(),
            false if bypassed.is_empty() => remedy(&spots),
            false => format!("{}; to record {}, {REBUILT}", remedy(&spots), bypassed.join(" and ")),
        },
    })
}

/// What to do if it may be an allocator whose functions are hardly called where they are entered.
const BYPASSED: &str = "look at its mappings (`pmap -x`). A compiler may put copies of an allocator's functions into their callers, where \
     nothing can be entered: build that file without link-time optimisation, or with the C library's malloc, to record it";
/// The same beside what is to be done for others.
const REBUILT: &str = "build that file without link-time optimisation, or with the C library's malloc: a compiler may have put copies \
     of its functions into their callers";
/// An allocator whose functions are entered hands out at least one of so many blocks.
const FEW: u64 = 1000;

/// Allocators of which hardly a block was recorded although their functions are entered, in files of the process whose memory this is.
fn bypassed(analysis: &Analysis, peak: Option<&Breakdown>) -> Vec<String> {
    let blocks = |number: u8| {
        let of = analysis.allocators.iter().find(|of| of.number.0 == number);
        of.map_or(0, |of| of.allocations)
    };
    let is_bypassed = |inside: &&AllocatorInside| {
        !inside.allocator.is_empty()
            && inside.number != 0
            && blocks(inside.number).saturating_mul(FEW) < analysis.totals.allocations
            && peak.is_none_or(|peak| may_be_in(analysis, peak, &inside.file))
    };
    let inside = analysis.end.iter().flat_map(|end| &end.allocators_inside).filter(is_bypassed);
    let text = |inside: &AllocatorInside| {
        let file = inside.file.rsplit('/').next().unwrap_or(&inside.file);
        format!("{} inside {file}", inside.allocator)
    };
    inside.take(MOST_NAMED).map(text).collect()
}

/// Whether it is the heap of a language's runtime that is there and not used, which the pages show: a variable turns PHP's off, and a tool
/// may have the texts by which Go's is known.
pub fn is_unused(analysis: &Analysis, spot: &BlindSpot) -> bool {
    family(spot).is_some_and(|family| family.is_runtime)
        && analysis.accounting.at_peak.as_ref().is_some_and(|peak| {
            peak.unrecorded < LEAST_HEAP
                && analysis.is_of_the_peak(peak)
                && is_only_in(analysis, peak, &spot.file)
        })
}

/// Whether no other process is known to have the file than the one whose memory this is.
fn is_only_in(analysis: &Analysis, moment: &Breakdown, file: &str) -> bool {
    may_be_in(analysis, moment, file)
        && analysis.processes.iter().all(|process| process.index == moment.process || !has(process, file))
}

fn family(spot: &BlindSpot) -> Option<&'static Family> {
    families().find(|family| family.name == spot.allocator)
}

/// Whether it is the allocator of the program itself, and so surely in use.
fn is_the_programs(spot: &BlindSpot) -> bool {
    spot.id == BlindSpot::OWN_ALLOCATOR && !family(spot).is_some_and(|family| family.is_runtime)
}

/// Whether a file was loaded into the process whose memory this is. One process has all files of its recording; of several, each
/// knows those that occur in its stacks, and in those of the processes that it was forked from.
fn may_be_in(analysis: &Analysis, moment: &Breakdown, file: &str) -> bool {
    let find = |index| analysis.processes.iter().find(|process| process.index == index);
    let parent = |process: &&Process| process.forked_from.and_then(find);
    let line = std::iter::successors(find(moment.process), parent);
    analysis.processes.len() == 1 || line.take(analysis.processes.len()).any(|process| has(process, file))
}

/// Whether a file occurs in the stacks of a process.
fn has(process: &Process, file: &str) -> bool {
    // The loader may know a file by a link to it: the version behind the name may differ.
    let stem = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.split_once(".so").map_or(name, |(stem, _)| stem).to_owned()
    };
    process.modules.iter().any(|module| stem(&module.path) == stem(file))
}

/// What an allocator is called in a sentence.
fn label(spot: &BlindSpot) -> &str {
    match spot.allocator.as_str() {
        "Rust global allocator" => "a #[global_allocator]",
        "own malloc" | "static malloc" => "a malloc",
        name => name,
    }
}

fn sentence(
    analysis: &Analysis,
    (spots, bypassed): (&[&BlindSpot], &[String]),
    peak: Option<&Breakdown>,
) -> String {
    let amount = |b: &Breakdown| {
        let moment = analysis.moment(b);
        format!("{} of {} resident {moment} are unrecorded", bytes(b.unrecorded.0), bytes(b.rss.0))
    };
    let amount = peak.map(amount);
    if spots.is_empty() {
        let reason = match analysis.lacks_a_part() {
            true => "a part of the recording is missing, and its events with it".to_owned(),
            false if bypassed.is_empty() => {
                "memory that the program maps itself, or of an allocator that heapwise does not know"
                    .to_owned()
            }
            false => format!(
                "memory that the program maps itself, of an allocator that heapwise does not know, or of {}: its functions are \
                 entered, but hardly called",
                bypassed.join(" or ")
            ),
        };
        return format!("{}: {reason}", amount.unwrap_or_default());
    }
    let is = if spots.len() == 1 { "is" } else { "are" };
    let names = names(spots);
    let of_entered = match bypassed {
        [] => String::new(),
        [one] => format!(", and {one} is hardly called where it is entered"),
        several => format!(", and {} are hardly called where they are entered", several.join(" and ")),
    };
    amount.map_or_else(
        || format!("{names} {is} not recorded"),
        |amount| format!("{names} {is} not recorded{of_entered}: {amount}"),
    )
}

/// `jemalloc and mimalloc inside libarrow.so and pymalloc inside python3`.
fn names(spots: &[&BlindSpot]) -> String {
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for spot in spots {
        match files.iter_mut().find(|(file, _)| *file == spot.file) {
            Some((_, names)) => names.push(label(spot)),
            None => files.push((&spot.file, vec![label(spot)])),
        }
    }
    let is_one = files.len() == 1;
    let short = |file: &str| {
        if is_one { file.to_owned() } else { file.rsplit('/').next().unwrap_or(file).to_owned() }
    };
    let mut texts: Vec<String> = files
        .iter()
        .take(MOST_NAMED)
        .map(|(file, names)| format!("{} inside {}", names.join(" and "), short(file)))
        .collect();
    if files.len() > MOST_NAMED {
        texts.push(format!("others in {} more files", files.len() - MOST_NAMED));
    }
    match texts.as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        texts => texts.concat(),
    }
}

fn remedy(spots: &[&BlindSpot]) -> String {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for spot in spots {
        let file = spot.file.rsplit('/').next().unwrap_or(&spot.file);
        let one = match Host::of_file(file) {
            Some(host) => host.unrecorded,
            None => family(spot).map_or(Family::UNKNOWN.unrecorded, |family| family.unrecorded),
        };
        match all.iter_mut().find(|(known, _)| *known == one) {
            Some((_, names)) if names.contains(&label(spot)) => {}
            Some((_, names)) => names.push(label(spot)),
            None => all.push((one, vec![label(spot)])),
        }
    }
    match all.as_slice() {
        [] => "look at its mappings (`pmap -x`); an allocator inside the program is recorded if it is wrapped in heapwise::Allocator"
            .to_owned(),
        [(only, _)] => (*only).to_owned(),
        several => {
            let texts: Vec<_> =
                several.iter().map(|(one, names)| format!("{}: {one}", names.join(" and "))).collect();
            texts.join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Program;
    use heapwise_analysis::{OfAllocator, Warning};
    use heapwise_trace::event::AllocatorNumber;
    use heapwise_trace::file::records::RunEnd;

    const MIB: u64 = 1 << 20;

    fn analysis(unrecorded: u64, spots: &[(&str, &str, &str)]) -> Analysis {
        let mut p = Program::default();
        let stack = p.stack(&["main|/u/src/a.c|7"]);
        p.alloc(stack, 24);
        let mut analysis = p.analysis();
        let (rss, unrecorded) = (Bytes(100 * MIB), Bytes(unrecorded * MIB));
        analysis.accounting.at_peak = Some(Breakdown { rss, unrecorded, ..Breakdown::default() });
        let spot = |&(id, allocator, file): &(&str, &str, &str)| BlindSpot {
            id: id.into(),
            allocator: allocator.into(),
            file: file.into(),
            ..BlindSpot::default()
        };
        analysis.blind_spots = spots.iter().map(spot).collect();
        analysis
    }

    fn judged(unrecorded: u64, spots: &[(&str, &str, &str)]) -> Option<(String, bool)> {
        unseen(&analysis(unrecorded, spots)).map(|found| (found.sentence, found.is_much))
    }

    const OWN: &str = BlindSpot::OWN_ALLOCATOR;
    const LIBRARY: &str = BlindSpot::LIBRARY_ALLOCATOR;

    #[test]
    fn a_heap_of_a_runtime_without_pages_is_not_used() {
        let spots = [(OWN, "Zend memory manager", "/usr/bin/php"), (OWN, "jemalloc", "/usr/bin/php")];
        let unused = |analysis: &Analysis| {
            analysis.blind_spots.iter().map(|spot| is_unused(analysis, spot)).collect::<Vec<_>>()
        };
        let mut of_php = analysis(0, &spots);
        assert_eq!(
            unused(&of_php),
            [true, false],
            "the program's own allocator is in use whatever its pages are"
        );
        assert_eq!(unused(&analysis(1, &spots)), [false, false]);
        of_php.accounting.at_peak = None;
        assert_eq!(unused(&of_php), [false, false], "pages were not looked at");
    }

    #[test]
    fn an_allocator_that_is_entered_and_hardly_called_may_be_it() {
        let mut analysis = analysis(80, &[]);
        let inside = AllocatorInside {
            allocator: "jemalloc".into(),
            file: "/usr/lib/libduck.so".into(),
            functions: 30,
            number: 2,
        };
        let end = RunEnd { allocators_inside: vec![inside], ..RunEnd::default() };
        analysis.end = Some(end);
        let found = unseen(&analysis).expect("much is unrecorded");
        assert!(
            found.sentence.contains("or of jemalloc inside libduck.so: its functions are entered"),
            "{found:?}"
        );
        assert!(found.remedy.contains("link-time optimisation"), "{found:?}");
        // Beside one that is not entered at all, each has its remedy.
        let mut both = self::analysis(80, &[(LIBRARY, "pymalloc", "/usr/lib/libpython3.so")]);
        both.end = analysis.end.clone();
        let found = unseen(&both).expect("much is unrecorded");
        let expected =
            "is not recorded, and jemalloc inside libduck.so is hardly called where it is entered: 80.0 MiB";
        assert!(found.sentence.contains(expected), "{found:?}");
        let remedies =
            ["PYTHONMALLOC=malloc", "to record jemalloc inside libduck.so, build that file without"];
        assert!(remedies.iter().all(|part| found.remedy.contains(part)), "{found:?}");
        let of = OfAllocator { number: AllocatorNumber(2), allocations: 1, ..OfAllocator::default() };
        analysis.allocators = vec![of];
        let found = unseen(&analysis).expect("much is unrecorded");
        assert!(!found.sentence.contains("jemalloc"), "it is called: {found:?}");
    }

    #[test]
    fn a_programs_allocator_is_named_however_little_it_has() {
        let (sentence, is_much) = judged(12, &[(OWN, "jemalloc", "/usr/bin/ruff")]).expect("something");
        let expected = "jemalloc inside /usr/bin/ruff is not recorded: 12.0 MiB of 100 MiB resident at the peak are unrecorded";
        assert_eq!((sentence.as_str(), is_much), (expected, false));
        assert!(judged(0, &[(OWN, "jemalloc", "/usr/bin/ruff")]).is_some());
        let mut unlooked = analysis(0, &[(OWN, "Rust global allocator", "/a")]);
        unlooked.accounting.at_peak = None;
        let found = unseen(&unlooked).expect("something");
        assert_eq!(found.sentence, "a #[global_allocator] inside /a is not recorded");
    }

    #[test]
    fn what_is_inside_libraries_and_runtimes_counts_if_much_is_unrecorded() {
        let spots = [
            (LIBRARY, "pymalloc", "/lib/libpython3.so.1"),
            (LIBRARY, "jemalloc", "/x/libarrow.so"),
            (LIBRARY, "mimalloc", "/x/libarrow.so"),
        ];
        assert_eq!(judged(5, &spots), None);
        assert_eq!(judged(5, &[(OWN, "pymalloc", "/usr/bin/python3")]), None, "it may be set to use malloc");
        let found = unseen(&analysis(80, &spots)).expect("something");
        assert!(
            found.sentence.starts_with(
                "pymalloc inside libpython3.so.1 and jemalloc and mimalloc inside libarrow.so are not recorded: 80.0 MiB of"
            ),
            "{}",
            found.sentence
        );
        assert!(
            found.remedy.contains("PYTHONMALLOC=malloc; jemalloc and mimalloc: to record Arrow's buffers"),
            "{}",
            found.remedy
        );
        assert!(found.is_much);
        let found = unseen(&analysis(80, &[(LIBRARY, "jemalloc", "/x/libdata.so")])).expect("something");
        assert!(found.remedy.starts_with("to record the blocks"), "{}", found.remedy);
    }

    #[test]
    fn much_unrecorded_memory_counts_without_a_name() {
        assert_eq!(judged(25, &[]), None);
        let (sentence, is_much) = judged(26, &[]).expect("something");
        assert!(sentence.starts_with("26.0 MiB of 100 MiB resident") && is_much, "{sentence}");
        assert_eq!(judged(0, &[("static-child", "", "")]), None, "no allocator");
    }

    #[test]
    fn a_recording_of_which_a_part_is_missing_blames_no_allocator() {
        let mut cut = analysis(26, &[]);
        assert!(unseen(&cut).expect("something").sentence.ends_with("that heapwise does not know"));
        cut.warnings.push(Warning::Truncated);
        let found = unseen(&cut).expect("something");
        assert!(
            found
                .sentence
                .ends_with("unrecorded: a part of the recording is missing, and its events with it")
        );
        assert!(found.remedy.starts_with("record again"), "{}", found.remedy);
    }

    #[test]
    fn of_several_processes_only_that_with_the_file_counts() {
        let mut two = analysis(80, &[(LIBRARY, "pymalloc", "/usr/lib/libpython3.11.so.1.0")]);
        let mut other = two.processes[0].clone();
        other.index.0 = 1;
        two.processes.push(other);
        let sentence = |analysis: &Analysis| unseen(analysis).expect("something").sentence;
        assert!(sentence(&two).starts_with("80.0 MiB"), "{}", sentence(&two));
        two.processes[0].modules[0].path = "/lib/libpython3.11.so.1".into();
        assert!(sentence(&two).starts_with("pymalloc inside"), "{}", sentence(&two));
    }
}
