//! What `doctor` knows of programs where they are no ELF files: what the registry of Windows has for them.

/// No probes: what Windows' heap does can be read in its header.
pub(super) mod probe {
    use heapwise_environment::facts::Probes;

    pub(crate) fn ask(_library: Option<&str>) -> Option<Probes> {
        None
    }
}

/// A program file, for the checks.
pub(super) mod program {
    use heapwise_environment::Facts;
    use heapwise_environment::facts::Program;
    use std::path::Path;

    /// Nothing: the program of a process is among its facts already.
    pub(crate) fn add_of_process(_pid: u32, _facts: &mut Facts) -> Result<(), String> {
        Ok(())
    }

    /// Adds it to what is known of a command.
    pub(crate) fn add(found: &Path, facts: &mut Facts) {
        facts.program = Some(Program { path: found.to_owned(), ..Program::default() });
        #[cfg(windows)]
        if let Some(windows) = &mut facts.windows {
            windows.image_options = heapwise_environment::facts::windows::image_options(found);
        }
    }

    /// Nothing is preloaded here.
    pub(crate) fn takes_preloads(_program: &Program) -> bool {
        false
    }
}
