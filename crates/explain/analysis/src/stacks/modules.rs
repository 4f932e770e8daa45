//! Which object file an address of a process belongs to.

use heapwise_trace::file::records::ModuleInfo;
use rustc_hash::FxHashMap;

/// An object file: the same one in every process that mapped it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Image {
    /// Path as the processes saw it.
    pub path: String,
    /// Build id in hexadecimal digits, empty if it has none.
    pub build_id: String,
}

/// Index of an [`Image`] in [`Images`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ImageId(pub(crate) u32);

/// All images of the recording.
#[derive(Debug, Default)]
pub(crate) struct Images {
    pub(crate) list: Vec<Image>,
    ids: FxHashMap<Image, ImageId>,
}

impl Images {
    pub(crate) fn id(&mut self, image: Image) -> ImageId {
        let next = ImageId(self.list.len() as u32);
        let id = *self.ids.entry(image.clone()).or_insert(next);
        if id == next {
            self.list.push(image);
        }
        id
    }

    pub(crate) fn find(&self, path: &str, build_id: &str) -> Option<ImageId> {
        self.ids.get(&Image { path: path.to_owned(), build_id: build_id.to_owned() }).copied()
    }

    pub(crate) fn get(&self, id: ImageId) -> &Image {
        &self.list[id.0 as usize]
    }
}

#[derive(Clone, Copy, Debug)]
struct Mapping {
    generation: u32,
    start: u64,
    end: u64,
    bias: u64,
    image: ImageId,
    /// Which record it was.
    order: u32,
}

/// The modules of one process over its life.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    mappings: Vec<Mapping>,
    /// For each mapping the highest end of all up to it, once they are in order.
    reach: Vec<u64>,
}

impl Modules {
    pub(crate) fn add(&mut self, info: &ModuleInfo, images: &mut Images) {
        let image = images.id(Image { path: info.path.clone(), build_id: info.build_id.clone() });
        let (generation, start, end, bias) = (info.generation, info.start, info.end, info.bias);
        let order = self.mappings.len() as u32;
        self.mappings.push(Mapping { generation, start, end, bias, image, order });
    }

    /// All are there: puts them in order, so that they can be searched.
    pub(crate) fn close(&mut self) {
        self.mappings.sort_by_key(|m| m.start);
        let reach = self.mappings.iter().scan(0, |reach, m| {
            *reach = m.end.max(*reach);
            Some(*reach)
        });
        self.reach = reach.collect();
    }

    /// Image and linked address of an address, as it was in a generation: the newest module up to then counts. Adds to `steps` how
    /// many were looked at; many are only where many lie on top of each other.
    pub(crate) fn find(&self, generation: u32, address: u64, steps: &mut u64) -> Option<(ImageId, u64)> {
        let behind = self.mappings.partition_point(|m| m.start <= address);
        let near = (0..behind).rev().take_while(|&i| self.reach[i] > address).map(|i| &self.mappings[i]);
        let near = near.inspect(|_| *steps += 1);
        let covering = near.filter(|m| m.generation <= generation && address < m.end);
        let mapping = covering.max_by_key(|m| (m.generation, m.order))?;
        Some((mapping.image, address.wrapping_sub(mapping.bias)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_module_up_to_the_generation_counts() {
        let mut images = Images::default();
        let mut modules = Modules::default();
        let info = |generation, start, path: &str| ModuleInfo {
            generation,
            start,
            end: start + 0x1000,
            bias: start,
            path: path.to_owned(),
            ..ModuleInfo::default()
        };
        modules.add(&info(0, 0x1000, "old"), &mut images);
        modules.add(&info(2, 0x1000, "new"), &mut images);
        modules.add(&info(2, 0x800, "newer"), &mut images);
        modules.close();
        let find = |generation, address| {
            modules.find(generation, address, &mut 0).map(|(i, svma)| (images.get(i).path.clone(), svma))
        };
        assert_eq!(find(1, 0x1010), Some(("old".into(), 0x10)));
        assert_eq!(find(2, 0x1010), Some(("newer".into(), 0x810)), "of equals, the later record counts");
        assert_eq!(find(9, 0x1fff), Some(("new".into(), 0xfff)));
        assert_eq!(find(9, 0x2000), None);
    }
}
