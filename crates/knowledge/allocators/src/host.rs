//! Libraries that bring an allocator along, and have a setting that makes them use the system's.

/// A library that chooses among allocators when it starts.
#[derive(Debug)]
pub struct Host {
    /// What the names of its files begin with.
    libraries: &'static [&'static str],
    /// A variable and its value that make it allocate with `malloc`.
    pub system_by: (&'static str, &'static str),
    /// What to do to see its blocks.
    pub unrecorded: &'static str,
}

static HOSTS: &[Host] = &[Host {
    // Arrow's documentation of environment variables; pyarrow's wheel has jemalloc and mimalloc inside.
    libraries: &["libarrow."],
    system_by: ("ARROW_DEFAULT_MEMORY_POOL", "system"),
    unrecorded: "to record Arrow's buffers, run it with ARROW_DEFAULT_MEMORY_POOL=system",
}];

impl Host {
    /// The one whose file has this name.
    pub fn of_file(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.libraries.iter().any(|begin| name.starts_with(begin)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_file() {
        let variable = |name| Host::of_file(name).map(|host| host.system_by.0);
        assert_eq!(variable("libarrow.so.2200"), Some("ARROW_DEFAULT_MEMORY_POOL"));
        assert_eq!(variable("libarrow_python.so"), None, "it allocates with the one above");
        assert_eq!(variable("libjemalloc.so.2"), None);
    }
}
