//! Recordings of some kilobytes that claim gigabytes, with right checksums.
//!
//! Their sections are compressed by hand, as runs of the same byte: no compressor is more compact, and 64 MiB are made at once.

use heapwise_trace::file::{HEADER_BYTES, MAGIC, MAJOR};

/// The most bytes that a section may have after decompression.
const LARGEST: usize = 64 << 20;

/// A recording that is made section by section.
#[derive(Clone, Debug)]
pub struct Bomb {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Whether it makes impossible claims; the others are read to their end.
    pub is_damage: bool,
}

/// A payload as runs of bytes.
#[derive(Clone, Debug, Default)]
struct Payload(Vec<(Vec<u8>, usize)>);

impl Payload {
    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.push((bytes.to_vec(), 1));
        self
    }

    fn number(self, mut value: u64) -> Self {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        self.raw(&bytes)
    }

    fn run(mut self, byte: u8, times: usize) -> Self {
        self.0.push((vec![byte], times));
        self
    }

    /// A column: its length and a run.
    fn column(self, byte: u8, times: usize) -> Self {
        self.number(times as u64).run(byte, times)
    }

    fn len(&self) -> usize {
        self.0.iter().map(|(bytes, times)| bytes.len() * times).sum()
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(bytes, times)| bytes.repeat(*times)).collect()
    }

    /// One zstd frame: see RFC 8878.
    fn packed(&self) -> Vec<u8> {
        const BLOCK: usize = 128 << 10;
        let mut blocks: Vec<(u32, usize, Vec<u8>)> = Vec::new();
        for (bytes, times) in &self.0 {
            if bytes.len() == 1 {
                let (mut left, byte) = (*times, bytes.clone());
                while left > 0 {
                    let size = left.min(BLOCK);
                    blocks.push((1, size, byte.clone()));
                    left -= size;
                }
            } else {
                bytes.chunks(BLOCK).for_each(|chunk| blocks.push((0, chunk.len(), chunk.to_vec())));
            }
        }
        // Magic number; one segment with a size of eight bytes.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
        frame.extend((self.len() as u64).to_le_bytes());
        let last = blocks.len() - 1;
        for (i, (kind, size, content)) in blocks.into_iter().enumerate() {
            let header = u32::from(i == last) | kind << 1 | (size as u32) << 3;
            frame.extend(&header.to_le_bytes()[..3]);
            frame.extend(content);
        }
        frame
    }
}

impl Bomb {
    fn new(name: &'static str) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(MAJOR.to_le_bytes());
        bytes.resize(HEADER_BYTES, 0);
        Self { name, bytes, is_damage: true }.facts(1, r#"{"command":["bomb"],"page_bytes":4096}"#)
    }

    fn harmless(self) -> Self {
        Self { is_damage: false, ..self }
    }

    fn facts(self, kind: u16, json: &str) -> Self {
        let bytes = json.as_bytes().to_vec();
        self.section(kind, 0, bytes.len(), &bytes)
    }

    fn packed(self, kind: u16, payload: &Payload) -> Self {
        self.section(kind, 1, payload.len(), &payload.packed())
    }

    fn times(mut self, n: usize, mut section: impl FnMut(Self) -> Self) -> Self {
        for _ in 0..n {
            self = section(self);
        }
        self
    }

    fn section(mut self, kind: u16, encoding: u16, len: usize, stored: &[u8]) -> Self {
        let mut frame = b"HWSE".to_vec();
        frame.extend(kind.to_le_bytes());
        frame.extend(encoding.to_le_bytes());
        frame.extend((stored.len() as u32).to_le_bytes());
        frame.extend((len as u32).to_le_bytes());
        let mut crc = crc32fast::Hasher::new();
        crc.update(&frame);
        crc.update(stored);
        frame.extend(crc.finalize().to_le_bytes());
        self.bytes.extend(frame);
        self.bytes.extend(stored);
        self
    }

    /// A process with a thread, whose events follow.
    fn program(self) -> Self {
        self.facts(2, r#"{"index":0,"pid":1,"allocator":"/lib/libc.so.6"}"#)
            .facts(3, r#"{"index":0,"process":0,"tid":1,"handle":1}"#)
    }
}

/// A section of blocks of one size that follow each other in memory, from an address on.
fn blocks(address: u64, n: usize, size: u64, watermark: u64) -> Payload {
    let distance = 8u64;
    Payload::default()
        .number(watermark)
        .number(1)
        // Thread 0 from epoch 1 on; the first block with its address, stack and size, the others like it.
        .raw(&[0, 1])
        .number(n as u64)
        .number(n as u64)
        .raw(&[0x01])
        .run(0x21, n - 1)
        .raw(&[0])
        .number(address_bytes(address).len() as u64 + n as u64 - 1)
        .raw(&address_bytes(address))
        .run((distance << 1) as u8, n - 1)
        .column(0, n)
        .raw(&[1, 2])
        .number(size_bytes(size).len() as u64)
        .raw(&size_bytes(size))
        .raw(&[0, 0])
}

fn size_bytes(size: u64) -> Vec<u8> {
    Payload::default().number(size).0.remove(0).0
}

/// An address as the first difference of its column.
fn address_bytes(address: u64) -> Vec<u8> {
    size_bytes(address / 8 * 2)
}

/// Recordings that are read quickly. Each took more than a gibibyte or ten seconds before there were bounds.
pub fn all() -> Vec<Bomb> {
    vec![
        nodes(),
        nodes_in_pieces(),
        empty_blocks(),
        empty_strings(),
        readings(),
        readings_in_pieces(),
        unknown_kinds(),
        findings(),
        far_stacks(),
        processes(),
        epochs_of_many_threads(),
        deep(6_000),
    ]
}

/// Recordings with the maximum number of events, for which an unoptimised heapwise takes a while.
pub fn long() -> Vec<Bomb> {
    vec![live_blocks(), waiting_events(), unknown_frees(), looks(), deep(60_000)]
}

/// 12 × 33 million nodes.
pub fn nodes() -> Bomb {
    let n = (LARGEST - 16) / 2;
    let payload = Payload::default().number(0).number(1).number(n as u64).run(2, n * 2);
    Bomb::new("nodes").times(12, |bomb| bomb.packed(6, &payload))
}

/// As many as a section may have, over and over, for one process after the other.
fn nodes_in_pieces() -> Bomb {
    let n = 2 << 20;
    let mut process = 0;
    Bomb::new("nodes-in-pieces").times(30, |bomb| {
        process += 1;
        bomb.packed(6, &Payload::default().number(process).number(1).number(n as u64).run(2, n * 2))
    })
}

/// 5 million blocks of events without events.
pub fn empty_blocks() -> Bomb {
    let n = 5_000_000;
    let payload = Payload::default().number(1).number(n as u64).run(0, n * 11);
    let few = Payload::default().number(1).number(60_000).run(0, 60_000 * 11);
    Bomb::new("empty-blocks").packed(5, &few).packed(5, &payload)
}

/// 60 million empty names.
pub fn empty_strings() -> Bomb {
    let n = 60_000_000;
    Bomb::new("empty-strings").packed(11, &Payload::default().number(n as u64).run(0, n + 1))
}

/// 20 × 33 million readings of the clock.
pub fn readings() -> Bomb {
    let n = (LARGEST - 16) / 2;
    let payload = Payload::default().number(n as u64).run(1, n * 2);
    Bomb::new("readings").times(20, |bomb| bomb.packed(7, &payload))
}

/// The same in sections of as many as may be.
fn readings_in_pieces() -> Bomb {
    let n = 1 << 20;
    let payload = Payload::default().number(n as u64).run(1, n * 2);
    Bomb::new("readings-in-pieces").times(400, |bomb| bomb.packed(7, &payload))
}

/// 20 sections of a kind that does not exist, followed by one that is read.
pub fn unknown_kinds() -> Bomb {
    let payload = Payload::default().run(0, LARGEST);
    Bomb::new("unknown-kinds").times(20, |bomb| bomb.packed(999, &payload)).facts(12, "{}").harmless()
}

/// A list of 5 million findings of nothing.
fn findings() -> Bomb {
    let mut json = br#"{"blind_spots":["#.to_vec();
    json.extend(b"{},".repeat(5_000_000));
    json.extend(b"{}]}");
    let stored = zstd::bulk::compress(&json, 1).expect("memory is there");
    Bomb::new("findings").section(12, 1, json.len(), &stored).harmless()
}

/// 60 million blocks that are never freed.
fn live_blocks() -> Bomb {
    let (n, mut at) = (15 << 20, 0u64);
    Bomb::new("live-blocks").program().times(4, |bomb| {
        at += 1;
        bomb.packed(5, &blocks(at << 36, n, 8, at + 1))
    })
}

/// 30 million events that can never be ordered.
fn waiting_events() -> Bomb {
    let mut at = 0u64;
    Bomb::new("waiting-events").program().times(10, |bomb| {
        at += 1;
        bomb.packed(5, &blocks(at << 36, 3 << 20, 8, 0))
    })
}

/// 8 million frees of blocks that were never allocated, in one epoch.
fn unknown_frees() -> Bomb {
    let n = 4 << 20;
    let section = |watermark: u64| {
        let payload =
            Payload::default().number(watermark).number(1).raw(&[0, 1]).number(n as u64).column(2, n);
        payload.raw(&[0]).column(2, n).raw(&[0, 0, 0, 0, 0])
    };
    Bomb::new("unknown-frees").program().packed(5, &section(2)).packed(5, &section(3)).harmless()
}

/// The highest stack address that is accepted, in 16 processes.
fn far_stacks() -> Bomb {
    let mut i = 0u64;
    Bomb::new("far-stacks")
        .times(16, |bomb| {
            i += 1;
            let bomb = bomb.facts(3, &format!(r#"{{"index":{i},"process":{i},"handle":{i}}}"#));
            let stack = size_bytes(((1 << 26) - 1) * 2);
            let payload = Payload::default().number(i + 1).number(1).number(i).raw(&[1, 1]);
            let payload = payload.raw(&[1, 0x01, 0, 1, 2, 1, 0]).number(stack.len() as u64).raw(&stack);
            bomb.packed(5, &payload.raw(&[1, 8, 0, 0]))
        })
        .harmless()
}

/// 262,144 processes of which nothing is known but a memory sample.
fn processes() -> Bomb {
    let mut payload = Payload::default().number(1 << 18);
    for process in 0..1 << 18 {
        payload = payload.number(process).raw(&[0, 0]);
    }
    let bytes = payload.bytes();
    let stored = zstd::bulk::compress(&bytes, 1).expect("memory is there");
    Bomb::new("processes").section(8, 1, bytes.len(), &stored).harmless()
}

/// A thousand threads, each of which is in 4000 epochs.
fn epochs_of_many_threads() -> Bomb {
    let (threads, n) = (1000u64, 4000);
    let mut payload = Payload::default().number(1 << 40).number(threads);
    for thread in 0..threads {
        payload = payload.number(thread).number(1 + thread * 5000).number(n as u64 + 1);
        // Readings of the clock, and at last a mark, so that there is an event to be ordered.
        payload = payload.number(n as u64 + 1).run(6, n).raw(&[11]).raw(&[0, 0, 0, 0, 0]);
        payload = payload.column(1, n).raw(&[2, 4, 0]);
    }
    Bomb::new("epochs").program().packed(5, &payload).harmless()
}

/// A recursion with a call site at each depth: as many frames as the square of it.
fn deep(depth: u64) -> Bomb {
    // The root, a frame below it, and then each below the one before at the next address.
    let nodes =
        Payload::default().number(0).number(1).number(depth + 1).raw(&[2, 8, 2]).number((0x8000 - 4) * 2);
    let nodes = (1..depth).fold(nodes, |nodes, _| nodes.raw(&[2, 16]));
    let n = depth as usize;
    let indices = (0..depth).fold(Payload::default(), |indices, i| indices.number(i)).bytes();
    let events = Payload::default().number(2).number(1).raw(&[0, 1]).number(depth).column(1, n).raw(&[0]);
    let events = events.column(16, n).number(indices.len() as u64).raw(&indices);
    let events = events.number(depth).raw(&[4]).run(2, n - 1).column(8, n).raw(&[0, 0]);
    let compressed = |payload: &Payload| zstd::bulk::compress(&payload.bytes(), 1).expect("memory is there");
    let bomb = Bomb::new("deep").program().section(6, 1, nodes.len(), &compressed(&nodes));
    bomb.section(5, 1, events.len(), &compressed(&events)).harmless()
}

/// 200 snapshots of pages that were requested, each at 256 GiB.
fn looks() -> Bomb {
    let mut epoch = 1;
    Bomb::new("looks")
        .program()
        .packed(5, &blocks(1 << 32, 1000, 8, 2))
        .times(200, |bomb| {
            epoch += 1;
            let pages = 1u64 << 26;
            let payload = Payload::default().number(0).number(epoch).number(epoch).number(1).number(4096);
            let payload =
                payload.number(pages << 12).number(0).number(1).number(16).number(pages * 2).number(0);
            bomb.packed(13, &payload.number(pages).number(1).number(0).number(pages << 1))
        })
        .harmless()
}
