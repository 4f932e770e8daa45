//! Records a part of its own life: `wrapped_inside FILE WAY`.
//!
//! Ways: `finish` ends the recording, `leave` leaves that to the end of the process, `exit` ends the process at once, `fork`
//! has a child that goes on with what it inherited, `twice` wants two, `sample` records a sample of 500 times as much, and `refused`
//! one of requests that no allocator fulfils.

#![expect(unsafe_code, reason = "forks")]

use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: heapwise::Allocator = heapwise::Allocator::system();

/// A block of the usual size.
type Block = [u64; 4];

/// 300 requests for new blocks and 200 for larger ones, of 128 TiB each.
#[inline(never)]
fn refused() {
    let is_refused = |vector: &mut Vec<u8>| assert!(vector.try_reserve_exact(1 << 47).is_err());
    (0..300).for_each(|_| is_refused(black_box(&mut Vec::new())));
    let mut small: Vec<Vec<u8>> = (0..200).map(|n| vec![n as u8; 100]).collect();
    small.iter_mut().for_each(|vector| is_refused(black_box(vector)));
    // They are where they were.
    assert!(small.iter().zip(0..).all(|(vector, n)| vector[99] == n));
}

/// 1001 blocks, of which 10 stay.
#[inline(never)]
fn phase() -> Vec<Option<Box<Block>>> {
    let mut blocks = Vec::with_capacity(1000);
    blocks.extend((0..1000).map(|n| Some(black_box(Box::new([n; 4])))));
    blocks.truncate(10);
    blocks
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (path, way) = (arguments.next().expect("a file"), arguments.next().expect("a way"));
    let before = phase();
    let recording = match way.as_str() {
        "sample" | "refused" => heapwise::Recorder::options().sample_every_bytes(4096).start(path),
        _ => heapwise::record_to(path),
    };
    let kept = phase();
    let recording = match recording {
        Ok(recording) => recording,
        Err(error) => {
            println!("refused: {error}");
            return;
        }
    };
    match way.as_str() {
        "finish" => {
            let recorded = recording.finish();
            let after = phase();
            let recorded = recorded.expect("it can be written");
            println!("{} events, {} blocks", recorded.events, after.len() + before.len());
        }
        "sample" => {
            for _ in 0..500 {
                drop(phase());
            }
            recording.finish().expect("it can be written");
        }
        "refused" => {
            refused();
            recording.finish().expect("it can be written");
        }
        "leave" => {
            std::mem::forget(recording);
            black_box(&kept);
        }
        "exit" => std::process::exit(7),
        "fork" => {
            // SAFETY: the child allocates, and leaves; the collector's thread is not in it.
            match unsafe { libc::fork() } {
                0 => {
                    drop(phase());
                    drop(recording);
                    std::process::exit(0);
                }
                child => {
                    let mut status = 0;
                    // SAFETY: waits for the child that was just made; the status is ours.
                    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
                    assert_eq!((waited, status), (child, 0), "the child ends well");
                    recording.finish().expect("it can be written");
                }
            }
        }
        "twice" => match heapwise::record_to("another.hw") {
            Err(error) => println!("refused: {error}"),
            Ok(_) => println!("it was allowed"),
        },
        other => panic!("there is no way {other}"),
    }
    drop(kept);
}
