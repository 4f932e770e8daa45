//! Google's tcmalloc, where heapwise was built with it: its C++ takes minutes to compile.
//!
//! What a program gets with the crate is less than what Google describes. The crate's archive has the object files with the
//! caches of processors and with the background thread, but nothing names them, so they are not linked; and with glibc
//! 2.35 or later the caches of processors would rest, since the C library has registered the thread's rseq already. The
//! library that heapwise carries is the same unless a setting says otherwise, and the lines of the fix name what is needed.

use super::{Allocator, Origin, one_variable_each};
use crate::family::{Family, Sign::Exact, Sign::Mangled};
use crate::fix::{Call, Fix, UNSAFE, before_main};
use crate::setting::{Kind, Setting, Unit};
use crate::settings::Settings;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct TcmallocGoogle;

/// What the library of `allocators/` reads; the allocator itself takes these settings from calls.
const PREFIX: &str = "HEAPWISE_TCMALLOC_";
const PER_CPU: &str = "per_cpu_caches";
const THREAD: &str = "background_thread";
const SUBRELEASE: &str = "hpaa_subrelease";
/// A day.
const LONGEST_MS: i64 = 86_400_000;

static SETTINGS: &[Setting] = &[
    Setting {
        name: PER_CPU,
        meaning: "caches of processors instead of threads; has the C library leave rseq to it, for which glibc needs a tunable",
        kind: Kind::Switch,
        default: "false",
        worth_trying: &["true"],
    },
    Setting {
        name: THREAD,
        meaning: "a separate thread returns free pages to the system and moves what the caches hold to where it is needed",
        kind: Kind::Switch,
        default: "false",
        // By itself it returns little: see the combinations.
        worth_trying: &[],
    },
    Setting {
        name: "background_release_rate",
        meaning: "how much that thread returns to the system, besides ranges of 2 MiB and more that are free as a whole",
        kind: Kind::Number { least: 0, most: 1 << 40, unit: Unit::BytesPerSecond },
        default: "0",
        worth_trying: &[],
    },
    Setting {
        name: "background_sleep_ms",
        meaning: "how long that thread sleeps; it tidies each kind of cache up every 2 to 30 times",
        kind: Kind::Number { least: 1, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "1000",
        worth_trying: &[],
    },
    Setting {
        name: "skip_subrelease_short_ms",
        meaning: "how far back it looks for peaks, whose memory is kept within huge pages",
        kind: Kind::Number { least: 0, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "60000",
        worth_trying: &[],
    },
    Setting {
        name: "skip_subrelease_long_ms",
        meaning: "how far back it looks for what is needed in the long run, whose memory is kept within huge pages",
        kind: Kind::Number { least: 0, most: LONGEST_MS, unit: Unit::Milliseconds },
        default: "300000",
        worth_trying: &[],
    },
    Setting {
        name: SUBRELEASE,
        meaning: "returns parts of huge pages to the system, too, which are small pages from then on",
        kind: Kind::Switch,
        default: "true",
        worth_trying: &[],
    },
    Setting {
        name: "max_per_cpu_cache_size",
        meaning: "what a processor keeps for itself at most, with per_cpu_caches",
        kind: Kind::Number { least: 0, most: i32::MAX as i64, unit: Unit::Bytes },
        default: "1572864",
        worth_trying: &[],
    },
    Setting {
        name: "max_total_thread_cache_bytes",
        meaning: "what all threads together keep for themselves at most, without per_cpu_caches",
        // The library takes less for this much, which is twice its largest size class.
        kind: Kind::Number { least: 512 << 10, most: 1 << 40, unit: Unit::Bytes },
        default: "33554432",
        worth_trying: &["4194304"],
    },
    Setting {
        name: "profile_sampling_interval",
        meaning: "after how many bytes a block is put on a separate page, with its stack kept for a profile; 0 for never",
        kind: Kind::Number { least: 0, most: 1 << 40, unit: Unit::Bytes },
        default: "2097152",
        worth_trying: &["0"],
    },
    Setting {
        name: "memory_limit",
        meaning: "from which size of the heap on free pages are returned to the system at once; 0 for none. It is no \
                  limit for blocks",
        kind: Kind::Number { least: 0, most: 1 << 44, unit: Unit::Bytes },
        default: "0",
        worth_trying: &[],
    },
];

/// A function of the library's, as a statement that declares it.
fn declare(function: &str) -> String {
    format!("unsafe extern \"C\" {{ fn {function}; }}")
}

/// Statements that change a setting of the library.
fn statements(name: &str, value: &str) -> Vec<String> {
    let set = |function: &str, argument: &str| {
        vec![
            declare(&format!("MallocExtension_Internal_Set{function}(value: {argument})")),
            format!("unsafe {{ MallocExtension_Internal_Set{function}({value}) }};"),
        ]
    };
    let set_duration = |function: &str| {
        // Only numbers of the range come here.
        let ms: u64 = value.parse().unwrap_or_default();
        let (seconds, quarters) = (ms / 1000, ms % 1000 * 4_000_000);
        vec![
            "#[allow(dead_code)]".into(),
            "#[repr(C)]".into(),
            // The numbers are passed as that structure is: seconds in halves, and quarters of nanoseconds.
            format!("struct {function}(u32, u32, u32); // absl::Duration"),
            declare(&format!("MallocExtension_Internal_Set{function}(value: {function})")),
            format!(
                "unsafe {{ MallocExtension_Internal_Set{function}({function}({seconds}, 0, {quarters})) }};"
            ),
        ]
    };
    match name {
        PER_CPU if value == "true" => vec![
            declare("TCMalloc_Internal_ForceCpuCacheActivation()"),
            "unsafe { TCMalloc_Internal_ForceCpuCacheActivation() };".into(),
        ],
        THREAD if value == "true" => vec![
            "type Run = extern \"C\" fn(*mut u8) -> *mut u8;".into(),
            declare(
                "pthread_create(id: *mut usize, attributes: *const u8, run: Run, argument: *mut u8) -> i32",
            ),
            declare("MallocExtension_Internal_ProcessBackgroundActions()"),
            "extern \"C\" fn run(_: *mut u8) -> *mut u8 {".into(),
            "    unsafe { MallocExtension_Internal_ProcessBackgroundActions() };".into(),
            "    std::ptr::null_mut()".into(),
            "}".into(),
            "unsafe { pthread_create(&mut 0, std::ptr::null(), run, std::ptr::null_mut()) };".into(),
        ],
        SUBRELEASE => vec![
            declare("TCMalloc_Internal_SetHPAASubrelease(value: bool)"),
            format!("unsafe {{ TCMalloc_Internal_SetHPAASubrelease({value}) }};"),
        ],
        "background_release_rate" => set("BackgroundReleaseRate", "usize"),
        "max_per_cpu_cache_size" => set("MaxPerCpuCacheSize", "i32"),
        "max_total_thread_cache_bytes" => set("MaxTotalThreadCacheBytes", "i64"),
        "profile_sampling_interval" => set("ProfileSamplingInterval", "i64"),
        "memory_limit" => {
            let limit = if value == "0" { "usize::MAX" } else { value };
            vec![
                declare("MallocExtension_Internal_SetMemoryLimit(value: usize, kind: i32)"),
                format!(
                    "unsafe {{ MallocExtension_Internal_SetMemoryLimit({limit}, 0) }}; // 0: not a hard one"
                ),
            ]
        }
        "background_sleep_ms" => set_duration("BackgroundProcessSleepInterval"),
        "skip_subrelease_short_ms" => set_duration("SkipSubreleaseShortInterval"),
        "skip_subrelease_long_ms" => set_duration("SkipSubreleaseLongInterval"),
        _ => Vec::new(),
    }
}

/// The variables that the allocator and the C library read themselves.
fn read_by_themselves(chosen: &Settings) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    if let Some(value) = chosen.get(SUBRELEASE) {
        // 1 takes it away, and 2 has it.
        variables.push(("TCMALLOC_HPAA_CONTROL".into(), if value == "true" { "2" } else { "1" }.into()));
    }
    if chosen.get(PER_CPU) == Some("true") {
        variables.push(("GLIBC_TUNABLES".into(), "glibc.pthread.rseq=0".into()));
    }
    variables
}

/// Its versions have no numbers, and its functions no names that the one of gperftools has.
static FAMILY: Family = Family {
    name: "tcmalloc-google",
    word: "tcmalloc_better",
    libraries: &["libtcmalloc_google"],
    symbols: &[
        Exact("TCMallocInternalMalloc"),
        Exact("TCMallocInternalNew"),
        Exact("MallocExtension_Internal_GetNumericProperty"),
        Mangled("8tcmalloc17tcmalloc_internal"),
    ],
    frames: &["TCMallocInternal", "BridgeTCMallocInternal", "BridgePrepareRealloc"],
    // The last are those of heapwise's own library of it.
    variables: &["TCMALLOC_*", "HEAPWISE_TCMALLOC_*"],
    free_pages: "Let it return pages to the system after the phase that frees much: call \
                `tcmalloc::MallocExtension::ReleaseMemoryToSystem(size_t{1} << 46)`, in Rust its \
                `MallocExtension_Internal_ReleaseMemoryToSystem(1 << 46)`; or have a thread run \
                `MallocExtension::ProcessBackgroundActions()` with a background release rate.",
    unrecorded: Family::WITHOUT_SYMBOLS,
    ..Family::UNKNOWN
};

impl Allocator for TcmallocGoogle {
    fn name(&self) -> &'static str {
        "tcmalloc-google"
    }

    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn origin(&self) -> Origin {
        Origin::OnRequest { version: "0.1.14", source: "libtcmalloc-sys 0.1.14" }
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn variables(&self, chosen: &Settings) -> Vec<(String, String)> {
        let mut variables = one_variable_each(PREFIX, chosen);
        variables.extend(read_by_themselves(chosen));
        variables
    }

    fn fix(&self, chosen: &Settings) -> Fix {
        let mut rust: Vec<String> = vec![
            "use tcmalloc_better::TCMalloc;".into(),
            "#[global_allocator]".into(),
            "static GLOBAL: TCMalloc = TCMalloc;".into(),
        ];
        // The thread comes last, and finds the others as they were set.
        let (mut all, mut last) = (Vec::new(), Vec::new());
        for (name, value) in chosen.iter() {
            if name == THREAD { &mut last } else { &mut all }.extend(statements(name, value));
        }
        all.append(&mut last);
        if !all.is_empty() {
            // The library is initialised by the first block. That would take a limit away, and the thread finds nothing.
            all.insert(0, "drop(std::hint::black_box(Box::new(0u8))); // the first block".into());
        }
        let mut caveats = vec![
            "It has no handlers for fork. A child of a program with threads may wait for ever for a lock that one of them \
             had, unless it executes another program at once."
                .to_owned(),
            "Its C++ takes minutes to compile. It has no versions; the one above is that of the crate with its source."
                .into(),
        ];
        if chosen.get(THREAD) == Some("true") {
            caveats.push(
                "There is one more thread. A child of fork does not have it. The crate's own \
                 process_background_actions_thread() starts none."
                    .into(),
            );
        } else {
            caveats.push(
                "Without background_thread free pages stay, unless the program returns them by a call."
                    .into(),
            );
        }
        if chosen.get(PER_CPU) == Some("true") {
            caveats.push(
                "From glibc 2.35 on, the caches of processors need the variable GLIBC_TUNABLES=glibc.pthread.rseq=0, \
                 which only the environment can have. Without it there are caches of threads, and no message says so."
                    .into(),
            );
        }
        if chosen.get("memory_limit").is_some_and(|limit| limit != "0") {
            caveats.push(
                "Once it cannot keep to the memory_limit, it says so on standard error, once, and returns parts of huge pages to the system from then on."
                    .into(),
            );
        }
        if !all.is_empty() {
            rust.extend(before_main(&all));
            caveats.push("The code is for Linux: other systems have no section .init_array.".into());
            caveats.push(UNSAFE.into());
        }
        Fix {
            cargo: vec![
                r#"tcmalloc-better = { version = "=0.1.19", features = ["realloc"] }"#.into(),
                r#"libtcmalloc-sys = "=0.1.14" # the version that was measured"#.into(),
            ],
            rust,
            environment: read_by_themselves(chosen),
            other_languages: vec![
                "Build it with Bazel (github.com/google/tcmalloc), and link //tcmalloc. That is all of it, also what the \
                 crate leaves out; Debian and Ubuntu have gperftools' tcmalloc, which is another allocator."
                    .into(),
            ],
            calls: vec![Call::new(
                "after a phase that freed much: returns free pages to the system, but for what was needed in the last minutes",
                "tcmalloc::MallocExtension::ReleaseMemoryToSystem(size_t{1} << 46); // #include \
                 \"tcmalloc/malloc_extension.h\", in C++",
                "unsafe extern \"C\" { fn MallocExtension_Internal_ReleaseMemoryToSystem(bytes: usize) -> usize; } unsafe { \
                 MallocExtension_Internal_ReleaseMemoryToSystem(1 << 46) };",
            )],
            caveats,
        }
    }

    fn combinations(&self) -> &'static [&'static [(&'static str, &'static str)]] {
        const RATE: (&str, &str) = ("background_release_rate", "67108864");
        &[
            &[(PER_CPU, "true"), (THREAD, "true")],
            &[(THREAD, "true"), RATE, ("skip_subrelease_short_ms", "0"), ("skip_subrelease_long_ms", "0")],
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Candidate;

    fn candidate(spec: &str) -> Candidate {
        Candidate::parse(&format!("tcmalloc-google{spec}")).expect("its own words")
    }

    #[test]
    fn every_setting_is_a_variable_and_can_be_set_in_code() {
        assert_eq!(candidate("").fix().rust.len(), 3);
        for setting in SETTINGS {
            let value = if setting.kind == Kind::Switch { "true" } else { "1000000" };
            let candidate = candidate(&format!(":{}={value}", setting.name));
            let own = format!("{PREFIX}{}", setting.name.to_uppercase());
            let variables = TcmallocGoogle.variables(candidate.settings());
            assert!(variables.iter().any(|(name, set)| *name == own && set == value), "{variables:?}");
            let fix = candidate.fix();
            assert!(fix.rust.len() > 9 && fix.rust.last().is_some_and(|l| l == "};"), "{fix:?}");
            // What heapwise's own library reads is nothing to a program that has the crate.
            assert!(!fix.environment_line().contains("HEAPWISE"), "{fix:?}");
        }
    }

    #[test]
    fn a_duration_is_passed_in_the_librarys_own_numbers() {
        let rust = candidate(":background_sleep_ms=1250").fix().rust.join("\n");
        assert!(rust.contains("BackgroundProcessSleepInterval(1, 0, 1000000000)"), "{rust}");
    }

    #[test]
    fn caches_of_processors_need_the_c_library_to_leave_rseq_alone() {
        let fix = candidate(":per_cpu_caches=true").fix();
        assert_eq!(fix.environment_line(), "GLIBC_TUNABLES=glibc.pthread.rseq=0");
        assert!(candidate(":per_cpu_caches=false").fix().environment.is_empty());
    }

    #[test]
    fn the_thread_finds_the_rest_set() {
        let rust = candidate(":background_thread=true:memory_limit=1000000").fix().rust.join("\n");
        let (limit, thread) = (rust.find("SetMemoryLimit"), rust.find("pthread_create"));
        assert!(limit.is_some() && limit < thread, "{rust}");
    }
}
