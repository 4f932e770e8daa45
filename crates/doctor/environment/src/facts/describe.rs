//! Facts in words: what was looked at, whether or not something is wrong with it.

use super::{Facts, Libc, Origin, Probes, System, Thp, WindowsHeap};

impl Facts {
    /// What is known, each with a name: `("executable", "/usr/bin/ls, dynamically linked, glibc 2.36")`.
    pub fn described(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        let mut add = |name: &'static str, text: Option<String>| all.extend(text.map(|text| (name, text)));
        add("executable", self.executable());
        add("allocator", self.allocator());
        add("blocks", self.probes.as_ref().map(blocks));
        let variables: Vec<String> =
            self.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        add("heap variables", Some(if variables.is_empty() { "none".into() } else { variables.join(" ") }));
        add(
            "tracer",
            self.process.as_ref().map(|process| match &process.tracer {
                Some(tracer) => format!("{} ({})", tracer.name, tracer.pid),
                None if self.windows.as_ref().is_some_and(|w| w.being_debugged == Some(true)) => {
                    "a debugger".into()
                }
                None => "none".into(),
            }),
        );
        add("process heap", self.windows.as_ref().and_then(process_heap));
        add(
            "huge pages",
            self.machine.thp.map(|mode| match mode {
                Thp::Always => "always".into(),
                Thp::Madvise => "where asked for".into(),
                Thp::Never => "never".into(),
            }),
        );
        add(
            "overcommit",
            self.machine.overcommit.map(|mode| match mode {
                0 => "by heuristic".into(),
                1 => "always".into(),
                _ => "never".into(),
            }),
        );
        add("control group", self.control_group());
        all
    }

    fn executable(&self) -> Option<String> {
        let program = self.program.as_ref()?;
        let linked = match program.is_static {
            _ if self.system == System::Windows => return Some(program.path.display().to_string()),
            true => "statically linked",
            false => "dynamically linked",
        };
        let libc = match (program.libc, self.machine.glibc) {
            (Libc::Glibc, Some((major, minor))) => format!(", glibc {major}.{minor}"),
            (Libc::Glibc, None) => ", glibc".into(),
            (Libc::Musl, _) => ", musl".into(),
            (Libc::Unknown, _) => String::new(),
        };
        let gains = if program.is_privileged { ", gains privileges" } else { "" };
        Some(format!("{}, {linked}{libc}{gains}", program.path.display()))
    }

    fn allocator(&self) -> Option<String> {
        let program = self.program.as_ref()?;
        let mut names: Vec<String> =
            program.allocators.iter().map(|own| format!("{} in the executable", own.name)).collect();
        names.extend(program.sanitizers.iter().map(|name| format!("{name} in the executable")));
        let libraries =
            self.other_allocators().filter(|library| library.origin != Origin::Preload || !program.is_static);
        names.extend(libraries.map(|library| library.path.display().to_string()));
        if names.is_empty() && self.system == System::Linux {
            names.push(if program.libc == Libc::Musl { "musl's".into() } else { "the C library's".into() });
        }
        (!names.is_empty()).then(|| names.join(", "))
    }

    fn control_group(&self) -> Option<String> {
        let group = self.machine.cgroup.as_ref()?;
        let mib = |bytes: Option<u64>| bytes.map(|bytes| format!("{} MiB", bytes >> 20));
        let current = mib(group.current_bytes).unwrap_or_else(|| "an unknown amount".into());
        let limits: Vec<String> = [("high", mib(group.high_bytes)), ("max", mib(group.max_bytes))]
            .into_iter()
            .filter_map(|(name, limit)| Some(format!("{name} {}", limit?)))
            .collect();
        let limits = if limits.is_empty() { "no limit".into() } else { limits.join(", ") };
        Some(format!("{current}, {limits}"))
    }
}

fn blocks(probes: &Probes) -> String {
    let filled = |fill: Option<u8>, what: &str| match fill {
        Some(byte) => format!("{what} blocks: filled with 0x{byte:02X}"),
        None => format!("{what} blocks: not filled"),
    };
    let mut said = vec![filled(probes.fresh_fill, "new")];
    // A fill of new blocks hides one of freed blocks.
    if probes.fresh_fill.is_none() {
        said.push(filled(probes.freed_fill, "freed"));
    }
    said.push(format!("malloc_usable_size: {} for 193 requested", probes.usable_of_193));
    said.join(", ")
}

fn process_heap(windows: &WindowsHeap) -> Option<String> {
    let flag = windows.nt_global_flag?;
    let forced = windows.force_flags.map_or(String::new(), |flags| format!(", ForceFlags {flags:#x}"));
    let wine = windows.wine.as_ref().map_or(String::new(), |version| format!(", Wine {version}"));
    Some(format!("NtGlobalFlag {flag:#x}{forced}{wine}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Machine, Program};

    #[test]
    fn what_is_known_is_said_and_nothing_else() {
        let program = Program { path: "/bin/x".into(), libc: Libc::Glibc, ..Program::default() };
        let machine = Machine { glibc: Some((2, 36)), thp: Some(Thp::Never), ..Machine::default() };
        let facts = Facts { system: System::Linux, program: Some(program), machine, ..Facts::default() };
        let expected = [
            ("executable", "/bin/x, dynamically linked, glibc 2.36".to_owned()),
            ("allocator", "the C library's".to_owned()),
            ("heap variables", "none".to_owned()),
            ("huge pages", "never".to_owned()),
        ];
        assert_eq!(facts.described(), expected);
    }
}
