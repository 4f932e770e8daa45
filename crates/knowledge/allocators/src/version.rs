//! Which version of an allocator a program gets.

use crate::installed::find_installed;
use crate::registry::{Allocator, Origin};

impl dyn Allocator {
    /// The exact version of the library that a program gets, as that library reports it; where it is installed with the system,
    /// what can be found out without starting it.
    pub fn version(&self) -> String {
        match self.origin() {
            Origin::Bundled { version, .. } | Origin::OnRequest { version, .. } => version.to_owned(),
            Origin::CLibrary => crate::c_library::version(),
            Origin::Installed { files, .. } => {
                // libtcmalloc_minimal.so.4 is a link to a file with the whole number of the interface, which is not that of
                // gperftools; the library itself reports that when it runs.
                let file = find_installed(files).and_then(|path| path.canonicalize().ok());
                let name = file.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
                let interface =
                    name.and_then(|n| n.split_once(".so.").map(|(_, version)| format!("so.{version}")));
                interface.unwrap_or_default()
            }
        }
    }
}
