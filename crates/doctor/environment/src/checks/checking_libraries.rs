//! Libraries that check, count or fence each block, and that are preloaded or linked.

use super::Check;
use crate::{Facts, Finding, Severity};

struct Kind {
    words: &'static [&'static str],
    what: &'static str,
    cost: &'static str,
    severity: Severity,
}

/// glibc's own checking library has a separate check, `malloc-check`, and so have builds of mimalloc that check.
const KINDS: &[Kind] = &[
    Kind {
        words: &["libefence"],
        what: "Electric Fence, which puts each block on separate pages",
        cost: "hundreds to thousands of times as long (measured with 5,000 and 10,000 strings: 120 to 240 to fill, 1,400 to \
               2,400 to drop)",
        severity: Severity::High,
    },
    Kind {
        words: &["libduma"],
        what: "DUMA, which puts each block on separate pages",
        cost: "hundreds to thousands of times as long (measured with 5,000 and 10,000 strings: 280 to 420 to fill, 1,500 to \
               2,900 to drop)",
        severity: Severity::High,
    },
    Kind {
        words: &["libtcmalloc_debug", "libtcmalloc_minimal_debug"],
        what: "tcmalloc's checking build",
        cost: "dropping a map of a million strings takes 64 to 122 times as long, of 200,000 with libtcmalloc_minimal_debug 7 \
               times (measured, gperftools 2.10)",
        severity: Severity::High,
    },
    Kind {
        words: &["libmemusage"],
        what: "glibc's libmemusage, which counts each block",
        cost: "dropping a map of a million strings takes 1.4 to 1.8 times as long (measured, glibc 2.36)",
        severity: Severity::Medium,
    },
    Kind {
        words: &["libgmalloc"],
        what: "Guard Malloc, which puts each block on separate pages",
        cost: "about a hundred times as long (Apple's manual page of libgmalloc)",
        severity: Severity::High,
    },
    Kind {
        words: &["libdmalloc", "libmpatrol", "libmcheck"],
        what: "an allocator for debugging",
        cost: "each block is checked or noted",
        severity: Severity::Medium,
    },
    Kind {
        words: &["libscudo", "libhardened_malloc"],
        what: "a hardened allocator",
        cost: "each block is checked when it is freed, and little memory is used again soon",
        severity: Severity::Low,
    },
];

pub(super) struct CheckingLibraries;

impl Check for CheckingLibraries {
    fn id(&self) -> &'static str {
        "checking-library"
    }

    fn about(&self) -> &'static str {
        "a library that checks or fences each block is loaded: efence, duma, tcmalloc_debug, memusage, gmalloc"
    }

    fn variables(&self) -> &'static [&'static str] {
        &["LD_PRELOAD", "DYLD_INSERT_LIBRARIES"]
    }

    fn look(&self, facts: &Facts) -> Vec<Finding> {
        let of_kind = |kind: &'static Kind| {
            facts.libraries_like(kind.words).map(move |library| {
                let title = format!("the program {} {}", facts.has(), kind.what);
                let remedy = format!("{} when you measure", super::without(library));
                Finding::new(self.id(), kind.severity, title, remedy)
                    .because(super::loaded(library))
                    .costs(kind.cost)
            })
        };
        KINDS.iter().flat_map(of_kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Library, Origin};

    #[test]
    fn each_kind_is_reported_and_others_are_not() {
        let look = |name: &str, origin: Origin| {
            let libraries = vec![Library { path: format!("/usr/lib/{name}").into(), origin }];
            CheckingLibraries.look(&Facts { libraries, ..Facts::default() })
        };
        for name in
            ["libefence.so.0", "libduma.so", "libtcmalloc_debug.so.4", "libmemusage.so", "libgmalloc.dylib"]
        {
            assert_eq!(look(name, Origin::Preload).len(), 1, "{name}");
        }
        assert_eq!(look("libtcmalloc.so.4", Origin::Preload), []);
        assert!(look("libefence.so.0", Origin::Preload)[0].remedy.contains("LD_PRELOAD"));
        assert!(look("libefence.so.0", Origin::SystemPreload)[0].remedy.contains("/etc/ld.so.preload"));
    }
}
