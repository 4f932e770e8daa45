//! What `doctor` knows of programs where they are no ELF files: where they are, and what the registry of Windows has for them.

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
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};

    /// Why nothing is known of a program.
    #[derive(Debug)]
    pub(crate) enum Unknown {
        Missing,
        /// It exists and cannot be read. Never on this platform: it is not read.
        #[expect(dead_code, reason = "as on Linux")]
        Unreadable(String),
    }

    /// The file that a command would execute.
    pub(crate) fn find(program: &OsStr) -> Result<PathBuf, Unknown> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = match Path::new(program).components().count() {
            0 | 1 => std::env::split_paths(&search).collect(),
            // A path is not searched for in `PATH`.
            _ => vec![PathBuf::new()],
        };
        let mut with_ending = program.to_owned();
        with_ending.push(std::env::consts::EXE_SUFFIX);
        let names = [program, &with_ending];
        let places = folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        places.into_iter().find(|path| path.is_file()).ok_or(Unknown::Missing)
    }

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
