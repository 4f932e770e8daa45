//! The object files that addresses are in.

use crate::system::{self, Module};

/// Those that addresses were looked for in.
#[derive(Debug, Default)]
pub struct Modules {
    list: Vec<Module>,
}

impl Modules {
    /// All of them. Numbers are indices.
    pub fn list(&self) -> &[Module] {
        &self.list
    }

    /// The number of the one that has the instruction in front of a return address, which may be behind the last byte of its function,
    /// and of its file.
    pub fn number_of(&self, return_address: u64) -> Option<usize> {
        let at = return_address.wrapping_sub(1);
        self.list.iter().position(|module| (module.start..module.end).contains(&at))
    }

    /// Learns which object file an address is in. If that changed the list, from which number on.
    pub fn look_for(&mut self, return_address: u64) -> Option<usize> {
        if self.number_of(return_address).is_some() {
            return None;
        }
        let found = system::module_of(return_address.wrapping_sub(1))?;
        // One whose end was not known has grown. Its number stays.
        if let Some(at) = self.list.iter().position(|module| module.start == found.start) {
            self.list[at].end = self.list[at].end.max(found.end);
            return Some(at);
        }
        self.list.push(found);
        Some(self.list.len() - 1)
    }
}
