//! Threads add stacks to a trie while the collector reads its nodes.

use heapwise_trace::event::{Event, StackId};
use heapwise_trace::live::layout::MAX_NODE_CHUNKS;
use heapwise_trace::live::node::{NodeKind, root_key};
use heapwise_trace::live::words::{decode, encode};
use models::trie::{Growth, Trie};
use models::{Arc, Reader, RingMemory, Sleeper, TrieMemory, explore, thread};

struct Stacks {
    trie: Trie,
    memory: TrieMemory,
}

impl Stacks {
    fn new(chunks: usize) -> Arc<Self> {
        let (trie, memory) = (Trie::default(), TrieMemory::new(chunks));
        let begun = trie.begin(&memory, &memory.hold().expect("no thread has it"));
        begun.expect("there is room for the roots");
        Arc::new(Self { trie, memory })
    }

    /// Adds a stack of these keys, outermost first, as a walk does; `None` if there was no room.
    fn add(&self, keys: &[u64]) -> Option<StackId> {
        let node = |parent, &key| {
            let next = self.trie.next_node(parent, key);
            next.unwrap_or_else(|| self.trie.node(&self.memory, parent, key))
        };
        let id = keys.iter().fold(self.trie.root(false), node);
        (id != StackId::UNKNOWN).then_some(id)
    }

    /// The keys of a stack as the reader finds them, outermost first. Each of its nodes has to be there.
    fn read(&self, id: StackId) -> Vec<u64> {
        let (mut keys, mut at) = (Vec::new(), id.0);
        loop {
            assert!(at != 0 && at < self.memory.count(), "node {at} is not counted");
            let (key, parent) = self.memory.node(at).unwrap_or_else(|| panic!("node {at} is not there"));
            if key == root_key(0, false) {
                keys.reverse();
                return keys;
            }
            keys.push(key);
            assert!(keys.len() < 10, "{id:?} goes round");
            at = parent;
        }
    }

    /// Every node that can be read is whole: all that it hangs on is there, too.
    fn look(&self) {
        for id in 1..self.memory.count() {
            match self.memory.node(id) {
                Some((key, _)) if matches!(NodeKind::from_key(key), NodeKind::Frame { .. }) => {
                    assert_eq!(self.read(StackId(id)).last(), Some(&key));
                }
                _ => {}
            }
        }
    }
}

fn add_at_the_same_time(preemptions: usize, chunks: usize, one: &'static [u64], other: &'static [u64]) {
    explore(preemptions, move || {
        let stacks = Stacks::new(chunks);
        let adders = [one, other].map(|keys| {
            let stacks = Arc::clone(&stacks);
            thread::spawn(move || {
                let id = stacks.add(keys);
                // The next one of the same is the same node, or a twin that another thread made at the same time.
                if let (Some(_), again) = (id, stacks.add(keys)) {
                    assert_eq!(stacks.read(again.expect("it is there")), keys);
                }
                id
            })
        });
        stacks.look();
        let ids = adders.map(|adder| adder.join().expect("it ends"));
        for (keys, id) in [one, other].into_iter().zip(ids) {
            if let Some(id) = id {
                assert_eq!(stacks.read(id), keys);
            }
            assert!(id.is_some() || chunks == 1, "there is room for {keys:?}");
        }
        stacks.look();
    });
}

#[test]
fn the_same_stack_added_twice_at_once_is_that_stack_for_both() {
    add_at_the_same_time(2, MAX_NODE_CHUNKS, &[16, 32], &[16, 32]);
}

#[test]
fn stacks_with_callers_in_common_keep_apart() {
    add_at_the_same_time(2, MAX_NODE_CHUNKS, &[16, 32], &[16, 48]);
}

#[test]
fn a_trie_without_room_has_no_nodes_rather_than_wrong_ones() {
    add_at_the_same_time(2, 1, &[16, 32], &[48]);
}

#[test]
fn every_node_that_an_event_names_is_there_when_the_event_is_read() {
    explore(2, || {
        let stacks = Stacks::new(MAX_NODE_CHUNKS);
        let rings = [16, 16].map(|words| Arc::new(RingMemory::new(words, 0)));
        let writers = [0, 1].map(|nth: usize| {
            let (stacks, ring) = (Arc::clone(&stacks), Arc::clone(&rings[nth]));
            thread::spawn(move || {
                // The second of them finds, perhaps, the node that the first one has made.
                let stack = stacks.add(&[16]).expect("there is room");
                let event = Event::ReallocEnd {
                    new: heapwise_trace::event::BlockAddress(8),
                    size: 1,
                    stack,
                    allocator: heapwise_trace::event::AllocatorNumber::BY_NAME,
                };
                ring.producer().push(encode(event), &Sleeper::new(1));
            })
        });
        for ring in &rings {
            let mut words = Vec::new();
            Reader::default().drain(ring, &mut words);
            if let Some((Event::ReallocEnd { stack, .. }, _)) = decode(&words) {
                assert_eq!(stacks.read(stack), [16]);
            }
        }
        writers.into_iter().for_each(|writer| writer.join().expect("it ends"));
    });
}
