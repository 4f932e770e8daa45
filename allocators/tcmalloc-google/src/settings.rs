//! The settings of the library, and what is in force.
//!
//! Google's tcmalloc takes nearly all of its settings from calls of the program that it is linked into. Here there are no such calls,
//! so they come in variables, `HEAPWISE_TCMALLOC_` and the setting's name in capitals, and the calls are made when the
//! library is loaded. What the library reads from a variable itself is only reported.

use crate::background;
use crate::native::*;
use core::ffi::{CStr, c_char};
use core::fmt::Write;
use entry::Text;

/// A setting. Switches are 0 and 1.
struct Setting {
    name: &'static CStr,
    is_switch: bool,
    get: fn() -> i64,
    set: fn(i64),
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: c"per_cpu_caches",
        is_switch: true,
        get: || MallocExtension_Internal_GetPerCpuCachesActive().into(),
        // The library turns them on when it is initialised, which comes after this, if rseq is free and this says so.
        set: |value| TCMalloc_Internal_SetPerCpuCachesEnabledNoBuildRequirement(value != 0),
    },
    Setting {
        name: c"hpaa_subrelease",
        is_switch: true,
        get: || TCMalloc_Internal_GetHPAASubrelease().into(),
        // It reads TCMALLOC_HPAA_CONTROL.
        set: |_| (),
    },
    Setting {
        name: c"max_per_cpu_cache_size",
        is_switch: false,
        get: || MallocExtension_Internal_GetMaxPerCpuCacheSize().into(),
        set: |value| MallocExtension_Internal_SetMaxPerCpuCacheSize(value.try_into().unwrap_or(i32::MAX)),
    },
    Setting {
        name: c"max_total_thread_cache_bytes",
        is_switch: false,
        get: || MallocExtension_Internal_GetMaxTotalThreadCacheBytes(),
        set: |value| MallocExtension_Internal_SetMaxTotalThreadCacheBytes(value),
    },
    Setting {
        name: c"profile_sampling_interval",
        is_switch: false,
        get: || MallocExtension_Internal_GetProfileSamplingInterval(),
        set: |value| MallocExtension_Internal_SetProfileSamplingInterval(value),
    },
    Setting {
        name: c"memory_limit",
        is_switch: false,
        // No limit is the largest number there, and 0 here.
        get: || i64::try_from(MallocExtension_Internal_GetMemoryLimit(SOFT)).unwrap_or(0),
        set: |value| {
            MallocExtension_Internal_SetMemoryLimit(
                if value == 0 { usize::MAX } else { value as usize },
                SOFT,
            )
        },
    },
    Setting {
        name: c"background_release_rate",
        is_switch: false,
        get: || MallocExtension_Internal_GetBackgroundReleaseRate() as i64,
        set: |value| MallocExtension_Internal_SetBackgroundReleaseRate(value as usize),
    },
    Setting {
        name: c"background_sleep_ms",
        is_switch: false,
        get: || duration(MallocExtension_Internal_GetBackgroundProcessSleepInterval).ms(),
        set: |value| MallocExtension_Internal_SetBackgroundProcessSleepInterval(Duration::from_ms(value)),
    },
    Setting {
        name: c"skip_subrelease_short_ms",
        is_switch: false,
        get: || duration(MallocExtension_Internal_GetSkipSubreleaseShortInterval).ms(),
        set: |value| MallocExtension_Internal_SetSkipSubreleaseShortInterval(Duration::from_ms(value)),
    },
    Setting {
        name: c"skip_subrelease_long_ms",
        is_switch: false,
        get: || duration(MallocExtension_Internal_GetSkipSubreleaseLongInterval).ms(),
        set: |value| MallocExtension_Internal_SetSkipSubreleaseLongInterval(Duration::from_ms(value)),
    },
    // The last one, for the thread is to find the others as they were set.
    Setting {
        name: c"background_thread",
        is_switch: true,
        get: || background::is_running().into(),
        set: |value| {
            if value != 0 {
                background::start();
            }
        },
    },
];

/// What stands before the name of a setting.
const PREFIX: &[u8] = b"HEAPWISE_TCMALLOC_";

/// Called before the library's own initialisation, which has no number.
#[cfg(panic = "abort")]
#[used]
#[unsafe(link_section = ".init_array.00101")]
static TAKE_SETTINGS: extern "C" fn() = take_settings;

#[cfg_attr(not(panic = "abort"), expect(dead_code, reason = "not a library to be preloaded"))]
extern "C" fn take_settings() {
    // What is set before the first block would be initialised away.
    // SAFETY: the block is not used any more and is freed once.
    unsafe { TCMallocInternalFree(TCMallocInternalMalloc(1)) };
    // A program that has the crate has no caches of processors, see `native.rs`. This one has them if they are asked for.
    TCMalloc_Internal_SetPerCpuCachesEnabledNoBuildRequirement(false);
    for setting in SETTINGS {
        if let Some(value) = chosen(setting.name) {
            (setting.set)(value);
        }
    }
}

/// The value of a setting's variable.
fn chosen(name: &CStr) -> Option<i64> {
    // As long as the longest one with the zero behind it, and then some.
    let mut variable = [0; 64];
    variable[..PREFIX.len()].copy_from_slice(PREFIX);
    let place = variable[PREFIX.len()..63].get_mut(..name.count_bytes())?;
    place.copy_from_slice(name.to_bytes());
    place.make_ascii_uppercase();
    // SAFETY: a C string, and at this time no other thread changes the environment.
    let value = unsafe { libc::getenv(variable.as_ptr().cast::<c_char>()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a C string of the environment.
    match unsafe { CStr::from_ptr(value) }.to_bytes() {
        b"true" => Some(1),
        b"false" => Some(0),
        // What is no number is passed over, and heapwise compares what is in force.
        digits => core::str::from_utf8(digits).ok()?.parse().ok(),
    }
}

/// Writes the value that is in force.
pub fn setting(name: &CStr, out: &mut Text) -> Option<()> {
    let setting = SETTINGS.iter().find(|setting| setting.name == name)?;
    let value = (setting.get)();
    if setting.is_switch {
        return out.write_str(if value != 0 { "true" } else { "false" }).ok();
    }
    write!(out, "{value}").ok()
}
