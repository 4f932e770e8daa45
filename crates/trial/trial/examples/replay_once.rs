//! Replays a recording once and prints what was measured: for work on the replay itself.
//!
//! `replay_once FILE CANDIDATE [ROUNDS]`

use heapwise_allocators::{Candidate, Libraries};
use heapwise_analysis::{Options, analyze};
use heapwise_collector::usable;
use heapwise_trace::file::Reader;
use heapwise_trial::replay::{Plan, Replayer, compile, worker};
use std::fs::File;
use std::io::BufReader;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let text: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match text[1..] {
        [worker::COMMAND, parent, shared, records] => worker::work(parent, shared, records),
        [usable::COMMAND] => usable::ask_here().iter().for_each(|size| println!("{size}")),
        [file, candidate, ref rest @ ..] => {
            let open = || -> Result<_, Box<dyn std::error::Error>> {
                Ok(Reader::new(BufReader::new(File::open(file)?))?)
            };
            let began = Instant::now();
            let analysis = analyze(open()?, &Options::default(), |_| {})?;
            println!("analysed in {:?}", began.elapsed());
            let busiest =
                (0..analysis.processes.len()).max_by_key(|&i| analysis.processes[i].totals.allocations);
            let began = Instant::now();
            let script = compile(open()?, &analysis, busiest.unwrap_or(0), |_| {})?;
            println!("compiled in {:?}: {:?}", began.elapsed(), script.counts());
            let replayer = Replayer::new(&script, std::env::current_exe()?);
            let libraries = Libraries::new(&[]);
            let prepared = libraries.prepare(&Candidate::parse(candidate)?)?;
            let sizes = replayer.sizes(&prepared);
            for plan in [
                Plan { is_empty: true, time_every: 0, accounts: false, ..Plan::default() },
                Plan { is_empty: true, accounts: false, ..Plan::default() },
                Plan { time_every: 0, accounts: false, ..Plan::default() },
                Plan { accounts: false, ..Plan::default() },
                Plan::default(),
            ] {
                let measured = replayer.replay(&prepared, sizes.as_ref(), &plan)?;
                let per_call = |ns: u64| ns as f64 / script.counts().calls() as f64;
                println!("{plan:?}");
                println!(
                    "  {:?} wall {:.1} cpu {:.1} ns a call, peak {} end {} live {:?} refused {}",
                    measured.ending,
                    per_call(measured.wall.0),
                    per_call(measured.cpu.0),
                    measured.peak_rss.0 >> 10,
                    measured.end_rss.0 >> 10,
                    measured.live,
                    measured.refused,
                );
                println!("  {:?}\n  {:?}\n  {:?}", measured.allocate, measured.free, measured.reallocate);
                println!("  {:?}\n  {:?}", measured.at_peak, measured.at_end);
                if rest.is_empty() {
                    continue;
                }
                println!("  {:?}", measured.slowest);
            }
        }
        _ => eprintln!("replay_once FILE CANDIDATE [slowest]"),
    }
    Ok(())
}
