//! How fast recordings are analysed: makes one in memory and reads it.
//!
//! `cargo run --release -p heapwise-analysis --example throughput -- [EVENTS] [THREADS] [LIVE BLOCKS] [PERCENT]`
//!
//! PERCENT of the steps are random, as are PERCENT of the blocks that are freed; the others repeat what was before.

use heapwise_analysis::{Options, analyze};
use heapwise_trace::event::{AllocFunction, AllocatorNumber, BlockAddress, Epoch, Event, StackId};
use heapwise_trace::file::columns::EventsEncoder;
use heapwise_trace::file::records::{
    Meta, ModuleInfo, ProcessEnd, ProcessIndex, ProcessInfo, RunEnd, ThreadIndex, ThreadInfo,
};
use heapwise_trace::file::tables::{ClockReadings, Nodes};
use heapwise_trace::file::{Reader, Writer};
use heapwise_trace::live::node::root_key;
use heapwise_trace::live::words;
use std::time::Instant;

const STACKS: u32 = 2000;
const EVENTS_PER_SECTION: usize = 200_000;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % n
    }
}

/// A thread with its own part of the heap: blocks of 48 bytes, the address that came back last goes out first.
///
/// It runs through a loop, as programs do: a script of steps that is repeated with deviations, and sometimes replaced.
struct Heap {
    live: Vec<u64>,
    free: Vec<u64>,
    next: u64,
    script: Vec<Step>,
    at: usize,
    rounds: u32,
}

#[derive(Clone, Copy)]
struct Step {
    alloc: bool,
    stack: StackId,
    size: u64,
    /// How many blocks ago the block was handed out that is freed.
    back: usize,
}

impl Step {
    fn any(random: &mut Random) -> Self {
        // Few stacks allocate often, and most of them the same size again.
        let rank = random.below(u64::from(STACKS)) * random.below(u64::from(STACKS));
        let stack = StackId((rank / u64::from(STACKS)) as u32 + 2);
        let usual = u64::from(stack.0 % 40);
        let size = if random.below(4) == 0 { random.below(48) } else { usual };
        Self { alloc: random.below(1000) < 505, stack, size, back: random.below(8) as usize }
    }
}

impl Heap {
    fn step(&mut self, random: &mut Random, percent: u64) -> Step {
        if self.at == self.script.len() {
            (self.at, self.rounds) = (0, self.rounds + 1);
            if self.rounds % 200 == 1 {
                self.script = (0..400).map(|_| Step::any(random)).collect();
            }
        }
        self.at += 1;
        if random.below(100) < percent { Step::any(random) } else { self.script[self.at - 1] }
    }

    fn alloc(&mut self) -> BlockAddress {
        let address = self.free.pop().unwrap_or_else(|| {
            self.next += 48;
            self.next
        });
        self.live.push(address);
        BlockAddress(address)
    }

    fn free(&mut self, at: usize) -> BlockAddress {
        let address = self.live.swap_remove(at);
        self.free.push(address);
        BlockAddress(address)
    }
}

fn recording(events: usize, threads: u32, live: usize, percent: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Meta::default()).expect("memory");
    let process = ProcessIndex(0);
    writer.process(&ProcessInfo { index: process, pid: 1, ..ProcessInfo::default() }).expect("memory");
    let module =
        ModuleInfo { process, start: 0x1000, end: 0x100_0000, path: "/app".into(), ..ModuleInfo::default() };
    writer.module(&module).expect("memory");
    let mut nodes = vec![(0, root_key(0, false))];
    nodes.extend((1..=STACKS).map(|i| (if i < 20 { i } else { i / 2 }, 0x1000 + u64::from(i) * 16)));
    writer.nodes(&Nodes { process, first_id: 1, nodes }).expect("memory");
    for i in 0..threads {
        let info =
            ThreadInfo { index: ThreadIndex(i), process, handle: u64::from(i), ..ThreadInfo::default() };
        writer.thread(&info).expect("memory");
    }
    let mut random = Random(88_172_645_463_325_252);
    let heap = |i: u64| Heap {
        live: Vec::new(),
        free: Vec::new(),
        next: 0x5555_0000_0000 + (i << 36),
        script: Vec::new(),
        at: 0,
        rounds: 0,
    };
    let mut heaps: Vec<Heap> = (0..u64::from(threads)).map(heap).collect();
    let mut encoder = EventsEncoder::default();
    let (mut done, mut epoch) = (0, 0u64);
    while done < events {
        let mut words_of: Vec<Vec<u64>> = vec![Vec::new(); threads as usize];
        let first = epoch;
        for part in 0..11 {
            epoch += 1;
            for (i, heap) in heaps.iter_mut().enumerate() {
                let mut push = |event| {
                    let w = words::encode(event);
                    words_of[i].extend_from_slice(&w.words[..w.len]);
                };
                push(Event::Epoch(Epoch(epoch)));
                // The last epoch began while the threads were drained; its events wait for the next section.
                let share = if part == 10 { 50 } else { 10 };
                for _ in 0..EVENTS_PER_SECTION / share / threads as usize {
                    let step = heap.step(&mut random, percent);
                    let full = heap.live.len() >= live / threads as usize;
                    if full || (heap.live.len() > 16 && !step.alloc) {
                        let n = heap.live.len();
                        let any = random.below(100) < percent;
                        let at =
                            if any { random.below(n as u64) as usize } else { n - 1 - step.back.min(n - 1) };
                        push(Event::Free { address: heap.free(at), touched: None });
                    } else {
                        let (size, function) = (step.size, AllocFunction::Malloc);
                        push(Event::Alloc {
                            address: heap.alloc(),
                            size,
                            align_log2: 0,
                            allocator: AllocatorNumber::BY_NAME,
                            function,
                            stack: step.stack,
                        });
                    }
                }
            }
        }
        for (i, words) in words_of.iter().enumerate() {
            done += encoder.add_block(ThreadIndex(i as u32), Epoch(first), words).1 as usize;
        }
        writer.clock(&ClockReadings(vec![(Epoch(epoch), epoch * 1_000_000)])).expect("memory");
        writer.events(&encoder.finish(Epoch(epoch))).expect("memory");
    }
    writer
        .process_end(&ProcessEnd { index: process, epoch: Epoch(epoch), ..ProcessEnd::default() })
        .expect("memory");
    writer.run_end(&RunEnd { exit_code: Some(0), ..RunEnd::default() }).expect("memory");
    writer.into_inner()
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let events = arguments.next().unwrap_or(30_000_000);
    let threads = arguments.next().unwrap_or(1) as u32;
    let live = arguments.next().unwrap_or(100_000);
    let percent = arguments.next().unwrap_or(5) as u64;
    let file = recording(events, threads, live, percent);
    println!("{} bytes, {:.2} per event", file.len(), file.len() as f64 / events as f64);
    for _ in 0..3 {
        let start = Instant::now();
        let reader = Reader::new(file.as_slice()).expect("own recording");
        let mut sections = Reader::new(file.as_slice()).expect("own recording");
        let mut n = 0;
        while let Ok(Some(section)) = sections.next_section() {
            if let heapwise_trace::file::Section::Events(section) = section {
                n += section.blocks().map(|b| b.events().count()).sum::<usize>();
            }
        }
        let decoded = start.elapsed();
        let start = Instant::now();
        let analysis = analyze(reader, &Options::default(), |_| {}).expect("memory does not fail");
        let took = start.elapsed();
        println!(
            "{n} events: {:.3} s ({:.1} ns per event), of which decoding {:.3} s; peak {} blocks, {} sites, {} unknown",
            took.as_secs_f64(),
            took.as_nanos() as f64 / n as f64,
            decoded.as_secs_f64(),
            analysis.totals.peak_live_blocks,
            analysis.sites().len(),
            analysis.totals.unknown_frees + analysis.totals.implicit_frees,
        );
    }
}
