//! Recordings that are well formed and mean nothing, or are damaged besides, up to the finished reports.

#![no_main]

use arbitrary::Arbitrary;
use heapwise_analysis::{Ahead, Analysis, Options, Unnamed};
use heapwise_diagnosis::diagnose;
use heapwise_fuzz::recording::{AnySymbols, Recording};
use heapwise_report::{JsonOptions, Style, TextOptions, json, text};
use heapwise_trace::file::Reader;
use heapwise_trace::file::tables::{ImageSymbols, SymbolFrame, Symbols};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    recording: Recording,
    symbols: AnySymbols,
    ignore_symbols: bool,
    width: u8,
    top: u8,
    stacks: bool,
    ascii: bool,
}

fuzz_target!(|input: Input| {
    let Ok((mut file, n_events)) = input.recording.write() else { return };
    let len = file.len() as u64;
    for (at, change) in &input.recording.damage {
        file[(at.0 % len) as usize] ^= change;
    }
    let read = || unnamed(&file, input.ignore_symbols);
    let Some((first, second)) = read().zip(read()) else { return };
    let needed = first.needed_addresses();
    assert_eq!(second.needed_addresses(), needed, "the same file wants the same names");
    let analysis = first.named([]);
    if input.recording.is_proper() {
        assert_eq!(analysis.n_events, n_events, "every event of an undamaged recording is seen");
    }
    let first = reports(&analysis, &input);
    assert_eq!(first, reports(&second.named([]), &input), "the same file gives the same reports");

    let mut symbols =
        Symbols { strings: vec!["main".to_owned(), "src/main.rs".to_owned()], ..Symbols::default() };
    for image in &needed {
        assert!(image.addresses.is_sorted() && !image.addresses.is_empty());
        let mut named =
            ImageSymbols { path: image.path.clone(), build_id: image.build_id.clone(), ..Default::default() };
        for (line, &address) in (0u32..).zip(&image.addresses) {
            let start = symbols.frames.len() as u32;
            // One frame, or none, or two of which the inner one is inlined; and strings that there are not.
            symbols.frames.extend((0..line % 3).map(|i| SymbolFrame {
                function: Some(i * 2),
                file: Some(1),
                line: (line > 2).then_some(line),
                inlined: i == 0,
            }));
            named.addresses.push((address, start..symbols.frames.len() as u32));
        }
        symbols.images.push(named);
    }
    let others = input.symbols.symbols();
    for symbols in [vec![symbols.clone()], vec![symbols, others]] {
        let Some(read) = read() else { return };
        reports(&read.named(symbols), &input);
    }
});

fn unnamed(file: &[u8], ignore_symbols: bool) -> Option<Unnamed> {
    let mut options = Options::default();
    options.ignore_symbols = ignore_symbols;
    let mut read = 0;
    let reader = Reader::new(file).ok()?;
    let unnamed = Ahead::new(reader, &options).finish(&options, |offset| {
        assert!(offset >= read, "progress does not go back");
        read = offset;
    });
    Some(unnamed.expect("memory cannot fail to be read"))
}

fn reports(analysis: &Analysis, input: &Input) -> (String, String) {
    let options = TextOptions {
        top: usize::from(input.top),
        stacks: input.stacks,
        ascii: input.ascii,
        folder: Some("/usr".to_owned()),
        ..TextOptions::default()
    };
    let diagnosis = diagnose(analysis);
    let text = text(analysis, &diagnosis, &options, Style { color: false, width: usize::from(input.width) });
    let control = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "what the program chose must not control the terminal");
    let json =
        json(analysis, &diagnosis, &JsonOptions { top: (input.top > 100).then_some(usize::from(input.top)) });
    assert!(json.len() > 2, "an empty report means that it could not be written");
    (text, json)
}
