//! The names that earlier files have, whose addresses are not looked up again: most files have the same ones.

use crate::symbolize;
use heapwise_analysis::ImageAddresses;
use heapwise_trace::file::tables::Symbols;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;

#[derive(Default)]
pub(super) struct Known {
    /// By path and build id of their object file.
    addresses: HashMap<(String, String), BTreeSet<u64>>,
    names: Vec<Symbols>,
}

impl Known {
    /// Those of the addresses that were not looked up before.
    pub(super) fn unknown(&self, images: &[ImageAddresses]) -> Vec<ImageAddresses> {
        let new = images.iter().map(|image| {
            let known = self.addresses.get(&key(image));
            let is_new = |address: &u64| known.is_none_or(|known| !known.contains(address));
            ImageAddresses {
                addresses: image.addresses.iter().copied().filter(is_new).collect(),
                ..image.clone()
            }
        });
        new.filter(|image| !image.addresses.is_empty()).collect()
    }

    /// These were looked up, and have names.
    pub(super) fn add(&mut self, images: &[ImageAddresses], names: Option<Symbols>) {
        for image in images {
            self.addresses.entry(key(image)).or_default().extend(&image.addresses);
        }
        self.names.extend(names);
    }

    /// All names until now.
    pub(super) fn names(&self) -> impl Iterator<Item = &Symbols> {
        self.names.iter()
    }

    /// Stores all of them in a file.
    pub(super) fn keep(&self, file: &File) -> Result<(), String> {
        let keep = |names| symbolize::keep(file, names).map_err(|error| format!("{error:#}"));
        self.names.iter().try_for_each(keep)
    }
}

fn key(image: &ImageAddresses) -> (String, String) {
    (image.path.clone(), image.build_id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_looked_up_once() {
        let image = |path: &str, addresses: &[u64]| ImageAddresses {
            path: path.to_owned(),
            build_id: "1".to_owned(),
            addresses: addresses.to_vec(),
        };
        let mut known = Known::default();
        assert_eq!(known.unknown(&[image("/a", &[1, 2])]), [image("/a", &[1, 2])]);
        known.add(&[image("/a", &[1, 2])], None);
        let unknown = known.unknown(&[image("/a", &[2, 3]), image("/b", &[2])]);
        assert_eq!(unknown, [image("/a", &[3]), image("/b", &[2])]);
        known.add(&unknown, None);
        assert_eq!(known.unknown(&[image("/a", &[1]), image("/b", &[2])]), []);
    }
}
