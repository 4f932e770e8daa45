//! Comparisons of small recordings that are made here, through the real writer and the real analysis.

mod recording;

use heapwise_analysis::{Analysis, Bytes};
use heapwise_diagnosis::compare::{Caveat, Comparison, Difference, Measure, Status, compare};
use recording::{Made, MadeFrame, frame, site};

/// A function of the standard library, which is no place of the user's.
fn std(function: &'static str) -> MadeFrame {
    frame(function, "/rustc/abc/library/alloc/src/vec/mod.rs", 9)
}

/// A program with two places: `parse` clones, `load` reads.
fn base() -> Made {
    Made::new(vec![
        site(&[std("clone"), frame("app::parse", "/a/parse.rs", 40)], 100, 16),
        site(&[std("read"), frame("app::load", "/a/load.rs", 7)], 2, 4096),
    ])
}

fn compared(old: &Made, new: &Made) -> (Analysis, Analysis, Comparison) {
    let (old, new) = (old.analysis(), new.analysis());
    let comparison = compare(&old, &new);
    (old, new, comparison)
}

fn allocations(difference: &Difference) -> (u64, u64) {
    let change = difference.change(Measure::Allocations);
    (change.old, change.new)
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let (_, _, comparison) = compared(&base(), &base());
    assert!(comparison.is_same() && comparison.is_noise(), "{comparison:?}");
    assert_eq!((comparison.sites.len(), comparison.places.len(), comparison.n_same_sites), (0, 0, 2));
    assert!(comparison.caveats.is_empty());
}

#[test]
fn addresses_lines_hashes_and_versions_of_libraries_make_no_difference() {
    let mut old = base();
    old.sites.push(site(&[frame("app::run::{closure#0}::h0123456789abcdef", "/a/run.rs", 1)], 7, 8));
    let mut new = base();
    new.load_address = 0x7654_0000;
    new.library = "/opt/new/libother.so.2.1";
    new.sites[0].stack[1].line = 99;
    new.sites[1].stack[1].file = "/somewhere/else/load.rs";
    new.sites.push(site(&[frame("app::run::{{closure}}", "/b/run.rs", 2)], 7, 8));
    let (_, _, comparison) = compared(&old, &new);
    assert!(comparison.is_same(), "{:#?}", comparison.sites);
}

#[test]
fn frames_without_names_are_known_by_their_module() {
    let nameless = |line| site(&[frame("", "", line), frame("app::load", "/a/load.rs", 7)], 3, 32);
    let (mut old, mut new) = (base(), base());
    old.sites.push(nameless(1));
    // Other code comes before it in the file, so it has another address.
    new.sites.insert(0, site(&[frame("app::other", "/a/other.rs", 1)], 1, 1));
    new.sites.push(nameless(2));
    let (_, _, comparison) = compared(&old, &new);
    assert_eq!(comparison.sites.len(), 1, "{:#?}", comparison.sites);
    assert_eq!(comparison.sites[0].status, Status::New);
}

#[test]
fn more_and_less_are_reported_per_site_and_place() {
    let (old, mut new) = (base(), base());
    new.sites[0].blocks = 25;
    new.sites.push(site(&[std("reserve"), frame("app::load", "/a/load.rs", 9)], 1, 64));
    new.sites.push(site(&[frame("app::store", "/a/store.rs", 1)], 4, 8));
    let (_, analysis, comparison) = compared(&old, &new);
    let statuses: Vec<_> = comparison.sites.iter().map(|s| (s.status, allocations(s))).collect();
    assert!(statuses.contains(&(Status::Changed, (100, 25))), "{statuses:?}");
    assert!(statuses.contains(&(Status::New, (0, 1))) && statuses.contains(&(Status::New, (0, 4))));
    let places: Vec<_> = comparison.places.iter().map(|p| (p.sum.status, allocations(&p.sum))).collect();
    assert_eq!(places.len(), 3);
    assert_eq!(places[0], (Status::Changed, (100, 25)), "what matters most comes first");
    assert!(places.contains(&(Status::Changed, (2, 3))) && places.contains(&(Status::New, (0, 4))));
    let load = comparison.places.iter().find(|p| allocations(&p.sum) == (2, 3)).expect("it is there");
    let site = &comparison.sites[load.sites[0]];
    assert_eq!((load.sites.len(), allocations(site)), (1, (0, 1)), "only what differs");
    let id = site.new_site.expect("it is new");
    assert_eq!(analysis.stack(&analysis.sites()[id.0 as usize])[0].function, Some("reserve"));
    assert!(!comparison.is_noise() && !comparison.is_same());
    let total = comparison.totals.iter().find(|c| c.measure == Measure::Allocations);
    assert_eq!(total.map(|c| (c.old, c.new)), Some((102, 32)));
}

#[test]
fn what_is_gone_is_reported_with_its_old_site() {
    let (old, mut new) = (base(), base());
    new.sites.remove(0);
    let (_, _, comparison) = compared(&old, &new);
    let [site] = &comparison.sites[..] else { panic!("{comparison:?}") };
    assert_eq!((site.status, site.new_site, allocations(site)), (Status::Gone, None, (100, 0)));
    assert!(site.old_site.is_some());
    assert_eq!(comparison.places[0].sum.status, Status::Gone);
}

#[test]
fn another_decision_about_inlining_makes_no_difference() {
    let (mut old, mut new) = (base(), base());
    let stack = |push, run| site(&[std(push), frame(run, "/a/run.rs", 5)], 9, 8);
    old.sites.push(stack("push<u8, alloc::alloc::Global>", "app::run"));
    new.sites.push(stack("alloc::vec::Vec<T,A>::push", "run"));
    let (_, _, comparison) = compared(&old, &new);
    assert!(comparison.is_same(), "{:#?}", comparison.sites);
}

#[test]
fn a_place_survives_another_way_to_build_the_standard_library() {
    let (mut old, mut new) = (base(), base());
    old.sites.push(site(&[std("Vec::grow"), frame("<app::Tree<T>>::add", "/a/tree.rs", 5)], 9, 8));
    old.sites.push(site(&[std("Vec::grow"), frame("<app::Heap<T>>::add", "/a/tree.rs", 25)], 1, 8));
    new.sites.push(site(&[std("finish_grow"), std("grow_one"), frame("add<u8>", "/a/tree.rs", 5)], 10, 8));
    let (_, _, comparison) = compared(&old, &new);
    assert_eq!(comparison.sites.len(), 3);
    assert!(comparison.places.is_empty(), "{:#?}", comparison.places);
    assert!(comparison.is_noise() && !comparison.is_same());
}

#[test]
fn a_function_that_moved_is_the_same_place_if_its_sites_are() {
    let (mut old, mut new) = (base(), base());
    let sites = |run, file, clones| {
        let of = |inner, blocks| site(&[std(inner), frame(run, file, 5)], blocks, 8);
        if clones > 0 { vec![of("push", 5), of("clone", clones)] } else { vec![of("push", 5)] }
    };
    old.sites.extend(sites("app::v1::solve", "/a/v1.rs", 50));
    new.sites.extend(sites("app::v2::solve", "/a/v2.rs", 0));
    let (_, _, comparison) = compared(&old, &new);
    assert_eq!(comparison.sites.len(), 1, "{:#?}", comparison.sites);
    let [place] = &comparison.places[..] else { panic!("{:#?}", comparison.places) };
    assert_eq!((place.sum.status, allocations(&place.sum)), (Status::Changed, (55, 5)));
}

#[test]
fn a_function_of_the_same_name_elsewhere_is_another_place() {
    let (mut old, mut new) = (base(), base());
    old.sites.push(site(&[std("push"), frame("app::a::new", "/a/a.rs", 5)], 9, 8));
    new.sites.push(site(&[std("collect"), frame("app::b::new", "/a/b.rs", 5)], 9, 8));
    let (_, _, comparison) = compared(&old, &new);
    let statuses: Vec<_> = comparison.places.iter().map(|p| p.sum.status).collect();
    assert!(statuses.contains(&Status::New) && statuses.contains(&Status::Gone), "{statuses:?}");
}

#[test]
fn a_program_under_another_name_is_the_same_program() {
    let (old, mut new) = (base(), base());
    new.program = "/tmp/app-with-my-change";
    let (_, _, comparison) = compared(&old, &new);
    assert!(comparison.is_same(), "{:#?}", comparison.sites);
    let names = |old: &str, new: &str| Caveat::DifferentPrograms { old: old.into(), new: new.into() };
    assert_eq!(comparison.caveats, [names("app", "app-with-my-change")], "and that is worth a warning");
}

#[test]
fn small_changes_are_noise_and_still_there() {
    let (mut old, mut new) = (base(), base());
    old.sites[0].blocks = 20_000;
    new.sites[0].blocks = 20_003;
    let (_, _, comparison) = compared(&old, &new);
    assert!(comparison.is_noise() && !comparison.is_same());
    assert_eq!(comparison.sites.len(), 1);
}

#[test]
fn a_peak_that_threads_did_not_change_is_noise() {
    let made = base();
    let with = |peak: u64, alone: [u64; 2]| {
        let mut analysis = made.analysis();
        analysis.totals.peak_live_bytes = Bytes(peak);
        let thread = analysis.threads[0].clone();
        analysis.threads = alone
            .into_iter()
            .map(|own| {
                let mut thread = thread.clone();
                thread.totals.peak_live_bytes = Bytes(own);
                thread
            })
            .collect();
        analysis
    };
    let varies = |old: &Analysis, new: &Analysis| compare(old, new).peak_varies;
    let base = with(1000, [700, 600]);
    assert!(varies(&base, &with(1300, [700, 600])), "they met at another moment");
    assert!(varies(&base, &with(1300, [700, 500])), "less cannot be the reason of more");
    assert!(!varies(&base, &with(1300, [1000, 600])), "one of them has more");
    assert!(!varies(&base, &with(800, [500, 600])));
    assert!(!varies(&base, &with(1000, [700, 600])), "there is nothing to explain");
}

#[test]
fn a_block_that_threads_share_or_not_is_noise() {
    let (old, mut new) = (base(), base());
    new.sites[1].blocks = 3;
    let threaded = |made: &Made| {
        let mut analysis = made.analysis();
        analysis.threads.push(analysis.threads[0].clone());
        analysis
    };
    let allocations = |comparison: &Comparison| comparison.is_notable(&comparison.totals[0]);
    assert!(allocations(&compared(&old, &new).2), "a single thread does not share");
    assert!(!allocations(&compare(&threaded(&old), &threaded(&new))));
    new.sites[1].blocks = 5;
    assert!(allocations(&compare(&threaded(&old), &threaded(&new))), "more than there are threads");
}

#[test]
fn recordings_that_are_cut_off_or_empty_are_said_to_be() {
    let (mut old, mut new) = (base(), base());
    old.has_end = false;
    new.sites.clear();
    let (_, _, comparison) = compared(&old, &new);
    let ids: Vec<_> = comparison.caveats.iter().map(|c| (c.id(), c.which().map(|w| w.id()))).collect();
    assert_eq!(ids, [("no-end", Some("old")), ("empty", Some("new"))]);
}

#[test]
fn a_recording_without_names_is_said_to_have_none() {
    let mut nameless = base();
    nameless.sites = vec![site(&[frame("", "", 1)], 5, 8), site(&[frame("", "", 2)], 5, 8)];
    let ids = |comparison: Comparison| comparison.caveats.iter().map(Caveat::id).collect::<Vec<_>>();
    assert_eq!(ids(compared(&nameless, &base()).2), ["no-names"]);
    assert_eq!(ids(compared(&base(), &nameless).2), ["no-names"]);
    assert_eq!(
        ids(compared(&nameless, &nameless).2),
        [""; 0],
        "it has no names, and is the same without them"
    );
}

#[test]
fn deep_recursion_is_compared_in_bounded_memory() {
    let deep = |depth: usize| {
        let mut stack = vec![std("grow")];
        stack.resize(depth, frame("app::descend", "/a/tree.rs", 4));
        site(&stack, 1, 8)
    };
    let made = Made::new((1..1500).map(deep).collect());
    let (_, _, comparison) = compared(&made, &made);
    assert!(comparison.is_same());
    assert_eq!(comparison.n_same_sites, 1499, "each depth is a separate site");
}
