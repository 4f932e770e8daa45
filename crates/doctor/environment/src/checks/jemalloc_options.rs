//! jemalloc's options: those that slow it down, those that it does not know, and those that never reach it.
//!
//! The variable's name has the prefix that jemalloc was built with: the crates of Rust read `_RJEM_MALLOC_CONF`, and the
//! libraries of distributions `MALLOC_CONF`. The wrong one is silently ignored.

use super::Check;
use crate::facts::System;
use crate::{Facts, Finding, Severity};

/// The variables, and words in symbols or file names of the builds that read them.
const PLAIN: &str = "MALLOC_CONF";
const OF_RUST: &str = "_RJEM_MALLOC_CONF";
const PREFIX_OF_RUST: &str = "_rjem_";
/// The link that both kinds of builds read.
const FILE: &str = "/etc/malloc.conf";

/// Options of jemalloc 5.0 to 5.3, from its manual page and `src/jemalloc.c`.
const KNOWN: &[&str] = &[
    "abort",
    "abort_conf",
    "background_thread",
    "bin_shards",
    "cache_oblivious",
    "confirm_conf",
    "debug_double_free_max_scan",
    "dirty_decay_ms",
    "dss",
    "hpa",
    "junk",
    "lg_extent_max_active_fit",
    "lg_prof_interval",
    "lg_prof_sample",
    "lg_tcache_max",
    "max_background_threads",
    "metadata_thp",
    "muzzy_decay_ms",
    "mutex_max_spin",
    "narenas",
    "oversize_threshold",
    "percpu_arena",
    "prof",
    "prof_accum",
    "prof_active",
    "prof_final",
    "prof_gdump",
    "prof_leak",
    "prof_leak_error",
    "prof_prefix",
    "prof_recent_alloc_max",
    "prof_stats",
    "prof_sys_thread_name",
    "prof_thread_active_init",
    "prof_time_resolution",
    "prof_unbias",
    "process_madvise_max_batch",
    "retain",
    "safety_check_abort",
    "slab_sizes",
    "slabs",
    "stats_interval",
    "stats_interval_opts",
    "stats_print",
    "stats_print_opts",
    "tcache",
    "tcache_gc_delay_bytes",
    "tcache_gc_incr_bytes",
    "tcache_max",
    "tcache_nslots_large",
    "tcache_nslots_small_max",
    "tcache_nslots_small_min",
    "test_mode",
    "thp",
    "trust_madvise",
    "utrace",
    "xmalloc",
    "zero",
    "zero_realloc",
];
/// Families of options that grow from version to version.
const KNOWN_STARTS: &[&str] = &["hpa_", "lg_tcache_", "experimental_", "san_", "lg_san_", "debug_"];
/// Options of jemalloc 4 that version 5 refuses.
const REMOVED: &[&str] =
    &["redzone", "quarantine", "lg_dirty_mult", "decay_time", "purge", "lg_chunk", "prof_filename"];

/// An option that makes jemalloc slower.
struct Slow {
    option: &'static str,
    is_slow: fn(&str) -> bool,
    what: &'static str,
    cost: &'static str,
    severity: Severity,
}

const SLOW: &[Slow] = &[
    Slow {
        option: "junk",
        is_slow: |value| value != "false",
        what: "each block filled with junk",
        cost: "dropping a map of a million strings takes 4.5 times as long as without (measured, jemalloc 5.3)",
        severity: Severity::Medium,
    },
    Slow {
        option: "zero",
        is_slow: |value| value == "true",
        what: "each block filled with zeros",
        cost: "filling and dropping a map of a million strings take 1.2 and 1.5 times as long (measured, jemalloc 5.3)",
        severity: Severity::Low,
    },
    Slow {
        option: "tcache",
        is_slow: |value| value == "false",
        what: "no thread caches",
        cost: "dropping a map of a million strings takes 1.9 to 2 times as long with one thread (measured, jemalloc 5.3)",
        severity: Severity::Medium,
    },
    Slow {
        option: "dirty_decay_ms",
        is_slow: |value| value == "0",
        what: "pages returned to the system the moment they are free",
        cost: "dropping a map of a million strings takes 1.3 to 1.5 times as long (measured, jemalloc 5.3)",
        severity: Severity::Low,
    },
    Slow {
        option: "prof",
        is_slow: |value| value == "true",
        what: "jemalloc's own profiler",
        cost: "1.0 to 1.1 times as long with the usual sampling (measured, jemalloc 5.3), more with a small lg_prof_sample",
        severity: Severity::Low,
    },
    Slow {
        option: "narenas",
        is_slow: |value| value == "1",
        what: "one arena for all threads",
        cost: "threads that allocate at the same time wait for each other's locks",
        severity: Severity::Low,
    },
];

pub(super) struct JemallocOptions;

impl Check for JemallocOptions {
    fn id(&self) -> &'static str {
        "jemalloc-options"
    }

    fn about(&self) -> &'static str {
        "MALLOC_CONF or _RJEM_MALLOC_CONF has options that slow jemalloc, that it does not know, or the wrong prefix"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["MALLOC_CONF", "_RJEM_MALLOC_CONF", "JE_MALLOC_CONF"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        if facts.system == System::Windows {
            return Vec::new();
        }
        let of_variables = [PLAIN, OF_RUST].iter().flat_map(|variable| self.of_variable(facts, variable));
        of_variables.chain(self.of_file(facts)).collect()
    }
}

/// How certain it is that a jemalloc reads a variable.
#[derive(PartialEq)]
enum Reader {
    /// One is there.
    There,
    /// There is one that reads the other variable, which this is.
    OfOther(&'static str),
    /// The program is known, and has none.
    None,
    /// The program is not known.
    Unknown,
}

impl JemallocOptions {
    fn of_variable(&self, facts: &Facts, variable: &'static str) -> Vec<Finding> {
        let Some(text) = facts.variables.set(variable) else { return Vec::new() };
        let evidence = format!("{variable}={text}");
        let note = |title: String, remedy: String| {
            vec![Finding::new(self.id(), Severity::Note, title, remedy).because(evidence.clone())]
        };
        match reader(facts, variable) {
            Reader::OfOther(other) => {
                return vec![
                    Finding::new(
                        self.id(),
                        Severity::Low,
                        format!("{variable} does not reach this program's jemalloc"),
                        format!("set {other} to the same instead"),
                    )
                    .because(evidence)
                    .because(format!("its functions have another prefix: it reads {other}"))
                    .costs("the settings have no effect"),
                ];
            }
            Reader::None => {
                return note(
                    format!("{variable} is set, and there is no jemalloc that would read it"),
                    "unset it, or preload or link jemalloc".to_owned(),
                );
            }
            Reader::There | Reader::Unknown => {}
        }
        self.of_text(facts, variable, text, &evidence)
    }

    /// `/etc/malloc.conf`, a link whose target is the options, applies to every jemalloc of the machine.
    fn of_file(&self, facts: &Facts) -> Vec<Finding> {
        let Some(text) = &facts.machine.malloc_conf else { return Vec::new() };
        let is_there = [PLAIN, OF_RUST].iter().any(|variable| reader(facts, variable) == Reader::There);
        let evidence = format!("{FILE} points to {text}");
        if is_there { self.of_text(facts, FILE, text, &evidence) } else { Vec::new() }
    }

    /// What is wrong with options that a jemalloc reads, wherever they stand.
    fn of_text(&self, facts: &Facts, place: &str, text: &str, evidence: &str) -> Vec<Finding> {
        let found = |severity: Severity, title: String, remedy: String| {
            Finding::new(self.id(), severity, title, remedy).because(evidence)
        };
        let mut findings = Vec::new();
        let options: Vec<(&str, &str)> = text
            .split(',')
            .filter(|part| !part.is_empty())
            .map(|part| part.split_once(':').unwrap_or((part, "")))
            .collect();
        for slow in SLOW {
            // The last one counts.
            let value = options.iter().rev().find(|(name, _)| *name == slow.option).map(|(_, value)| *value);
            if let Some(value) = value.filter(|value| (slow.is_slow)(value)) {
                let title = format!("jemalloc {} {}", facts.has(), slow.what);
                let remedy = format!("take {}:{value} out of {place}", slow.option);
                findings.push(found(slow.severity, title, remedy).costs(slow.cost));
            }
        }
        let is_known =
            |name: &str| KNOWN.contains(&name) || KNOWN_STARTS.iter().any(|start| name.starts_with(start));
        for (name, value) in options {
            if REMOVED.contains(&name) {
                let title = format!("jemalloc 5 no longer has the option `{name}`, and ignores it");
                findings.push(found(Severity::Note, title, format!("take {name} out of {place}")));
            } else if !is_known(name) || value.is_empty() {
                let title = format!(
                    "jemalloc does not know the option `{name}`, and ignores it with a warning at best"
                );
                let remedy = "correct it: options are NAME:VALUE with commas between them; `abort_conf:true` makes mistakes \
                              fatal";
                findings.push(found(Severity::Note, title, remedy.to_owned()));
            }
        }
        findings
    }
}

/// Which jemalloc reads a variable, if any.
fn reader(facts: &Facts, variable: &str) -> Reader {
    let linked = facts.program.iter().flat_map(|program| &program.allocators).find(|a| a.name == "jemalloc");
    // Without symbols it is not known how the program calls it.
    if linked.is_some_and(|allocator| allocator.symbol.is_empty()) {
        return Reader::Unknown;
    }
    let prefixed = linked.map(|allocator| allocator.symbol.contains(PREFIX_OF_RUST));
    let library = facts.libraries_like(&["jemalloc"]).next().is_some();
    let (reads, other) = match variable {
        OF_RUST => (prefixed == Some(true), PLAIN),
        _ => (prefixed == Some(false) || library, OF_RUST),
    };
    if reads {
        Reader::There
    } else if linked.is_some() || library {
        Reader::OfOther(other)
    } else if facts.program.is_some() || facts.process.is_some() {
        Reader::None
    } else {
        Reader::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin, OwnAllocator, Program};

    fn facts(variable: &str, value: &str, symbol: Option<&str>, library: bool) -> Facts {
        let own = |symbol: &str| OwnAllocator { name: "jemalloc", symbol: symbol.into() };
        let program = Program { allocators: symbol.map(own).into_iter().collect(), ..Program::default() };
        let preload = Library { path: "/usr/lib/libjemalloc.so.2".into(), origin: Origin::Preload };
        Facts {
            system: System::Linux,
            variables: [(variable, value)].into(),
            program: Some(program),
            libraries: if library { vec![preload] } else { Vec::new() },
            ..Facts::default()
        }
    }

    fn titles(facts: &Facts) -> Vec<String> {
        JemallocOptions.look(facts).into_iter().map(|finding| finding.title).collect()
    }

    #[test]
    fn slow_options_are_reported_where_they_are_read() {
        let found = JemallocOptions.look(&facts("MALLOC_CONF", "junk:true,zero:true", None, true));
        assert_eq!(found.len(), 2);
        let found =
            JemallocOptions.look(&facts("_RJEM_MALLOC_CONF", "tcache:false", Some("_rjem_malloc"), false));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Medium));
        assert_eq!(JemallocOptions.look(&facts("MALLOC_CONF", "background_thread:true", None, true)), []);
        assert_eq!(JemallocOptions.look(&facts("MALLOC_CONF", "junk:true,junk:false", None, true)), []);
    }

    #[test]
    fn the_wrong_prefix_is_reported() {
        let found = titles(&facts("MALLOC_CONF", "junk:true", Some("_rjem_malloc"), false));
        assert_eq!(found, ["MALLOC_CONF does not reach this program's jemalloc"]);
        let found = titles(&facts("_RJEM_MALLOC_CONF", "junk:true", None, true));
        assert_eq!(found, ["_RJEM_MALLOC_CONF does not reach this program's jemalloc"]);
        let found = titles(&facts("MALLOC_CONF", "junk:true", None, false));
        assert_eq!(found, ["MALLOC_CONF is set, and there is no jemalloc that would read it"]);
    }

    #[test]
    fn the_link_for_all_programs_counts_where_there_is_a_jemalloc() {
        let with = |library: bool| {
            let mut facts = facts("LD_PRELOAD", "", None, library);
            facts.machine.malloc_conf = Some("junk:true".into());
            titles(&facts)
        };
        assert_eq!(with(true), ["jemalloc would have each block filled with junk"]);
        assert_eq!(with(false), [""; 0]);
    }

    #[test]
    fn unknown_and_removed_options_are_reported() {
        let found = titles(&facts("MALLOC_CONF", "redzone:true,dirty_decay:1,thp:always,tcache", None, true));
        assert!(
            found[0].contains("`redzone`")
                && found[1].contains("`dirty_decay`")
                && found[2].contains("`tcache`")
        );
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn settings_of_the_table_of_allocators_are_known() {
        for name in ["jemalloc"] {
            let allocator = heapwise_allocators::by_name(name).expect("it is in the table");
            for setting in allocator.settings() {
                assert!(KNOWN.contains(&setting.name), "{name}: {}", setting.name);
            }
        }
    }
}
