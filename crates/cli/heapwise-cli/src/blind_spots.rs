//! What a preload library cannot see, as far as it is known before the program starts.

mod inside;

use inside::Reached;
pub(crate) use inside::{complete, inside};

use crate::args::RecorderChoice;
use heapwise_symbols::inspect::{Class, Executable, Libc, Machine, inspect};
use heapwise_trace::file::records::BlindSpot;
use heapwise_trace::live::layout::LIVE_VERSION;
use std::ffi::OsStr;
use std::path::Path;

/// What heapwise will not see of a program. One that records itself may still be recorded through the preload library.
pub(crate) fn of_program(executable: &Executable, recorder: RecorderChoice) -> Vec<BlindSpot> {
    let mut executable = executable.clone();
    executable.wrapper_version = executable.wrapper_version.filter(|_| recorder == RecorderChoice::Library);
    of_executable(&executable)
}

/// Whether a program has wrapped its allocator, and records itself.
pub(crate) fn records_itself(executable: &Executable) -> bool {
    executable.wrapper_version == Some(LIVE_VERSION)
}

/// The same for a program file that a recorded process has executed.
pub(crate) fn of_file(path: &Path) -> Vec<BlindSpot> {
    inspect(path, None).map_or_else(|_| Vec::new(), |executable| of_executable(&executable))
}

/// What a program that records itself does not see: the allocations of other code in it, linked or loaded.
fn beside_the_wrapper(executable: &Executable) -> Vec<BlindSpot> {
    // A static program can be recorded in no other way.
    if !executable.is_preloaded_into() {
        return Vec::new();
    }
    vec![BlindSpot {
        id: BlindSpot::BESIDE_THE_WRAPPER.into(),
        what: format!(
            "{} is recorded through heapwise::Allocator: what code in C allocates by itself is not in it",
            executable.path.display()
        ),
        remedy: "where the allocator below the wrapper is the system's, heapwise run --recorder preload records all of it".into(),
        ..BlindSpot::default()
    }]
}

/// Whether a program can be recorded only by writing the recorder into it, and that is worth it.
pub(crate) fn is_written_into(executable: &Executable) -> bool {
    let is_recorded_otherwise = executable.interpreter.is_some() || records_itself(executable);
    // The kernel would not let a program gain privileges that is traced.
    !is_recorded_otherwise && !executable.privileges.any() && reached_of(executable).is_any
}

/// Why the recorder is not written into a program that is linked statically, and what to do.
pub(crate) fn not_written(executable: &Executable) -> (&'static str, &'static str) {
    if executable.privileges.any() {
        (
            "gains privileges when it starts",
            "record a copy without these privileges, as a user who does not need them",
        )
    } else if (executable.class, executable.machine) != (Class::Elf64, Machine::X86_64) {
        ("is not for 64-bit x86", "build it for x86_64")
    } else if executable.stripped {
        (
            "has no symbols by which its allocator could be found",
            "keep its symbols (for Rust: strip = false; else no -s and no strip), or have its debug file below /usr/lib/debug",
        )
    } else {
        (
            "has no allocator in C that is known",
            "link it dynamically against glibc (for Rust: a *-gnu target without +crt-static), or wrap its allocator in \
             heapwise::Allocator",
        )
    }
}

/// Which allocators of a program its functions are planned for. What is planned may still fail in the process; that is seen when it
/// has run.
fn reached_of(executable: &Executable) -> Reached {
    let is_known = executable.is_preloaded_into() || executable.libc == Libc::Static;
    if is_known { inside::reached(&executable.path) } else { Reached::default() }
}

fn of_executable(executable: &Executable) -> Vec<BlindSpot> {
    if records_itself(executable) {
        return beside_the_wrapper(executable);
    }
    let name = executable.path.display();
    let mut spots = Vec::new();
    if let Some(version) = executable.wrapper_version {
        spots.push(BlindSpot {
            id: "other-wrapper".into(),
            what: format!(
                "the heapwise::Allocator in {name} is of another version of heapwise (its recorder speaks {version}, this \
                 program {LIVE_VERSION}), so it cannot record itself"
            ),
            remedy: format!(
                "build it with the crate heapwise {0}, or record it with the program heapwise of its version; this is {0}",
                env!("CARGO_PKG_VERSION")
            ),
            ..BlindSpot::default()
        });
    }
    let reached = reached_of(executable);
    if executable.interpreter.is_none() && !reached.has_allocator() {
        // What Go links is static by default, and its objects would not be recorded in any case.
        let runtime = executable.own_allocators.iter().find(|own| own.is_runtime);
        let runtime = runtime.and_then(|own| inside::spot(own, &executable.path));
        let (why, remedy) = match &runtime {
            Some(own) => {
                (format!("has no heap but that of its language ({})", own.allocator), own.remedy.as_str())
            }
            None => {
                let (why, remedy) = not_written(executable);
                (why.to_owned(), remedy)
            }
        };
        let what = format!("{name} is statically linked, and {why}: nothing of it will be recorded");
        let (id, remedy) = (BlindSpot::STATIC_EXECUTABLE.into(), remedy.to_owned());
        spots.push(BlindSpot { id, what, remedy, ..runtime.unwrap_or_default() });
        return spots;
    }
    let mut add = |id: &str, what: String, remedy: &str| {
        spots.push(BlindSpot { id: id.into(), what, remedy: remedy.into(), ..BlindSpot::default() });
    };
    if executable.privileges.any() {
        add(
            "privileged-executable",
            format!(
                "{name} gains privileges when it starts (set-uid, set-gid or file capabilities), and the loader \
                     then ignores LD_PRELOAD"
            ),
            "record a copy without these privileges, as a user who does not need them",
        );
    }
    if executable.exports_malloc && !reached.has_malloc {
        add(
            "exports-malloc",
            format!("{name} defines malloc itself, which takes precedence over heapwise's"),
            "build it without its own allocator to record it",
        );
    }
    let own = inside::named(&executable.own_allocators).filter(|own| !own.reaches_libc && !reached.has(own));
    spots.extend(own.filter_map(|own| inside::spot(own, &executable.path)));
    spots
}

/// Lines for people.
pub(crate) fn print(program: &OsStr, spots: &[BlindSpot]) {
    let spots: Vec<_> = spots.iter().filter(|spot| spot.id != BlindSpot::BESIDE_THE_WRAPPER).collect();
    for spot in &spots {
        heapwise_report::say!("heapwise: warning: {}", spot.what);
        heapwise_report::say!("heapwise:    help: {}", spot.remedy);
    }
    if !spots.is_empty() {
        heapwise_report::say!("heapwise: running {} all the same", program.to_string_lossy());
    }
}
