//! Asks as any client does, and reads what comes.

use heapwise_trace::pprof::{Label, Profile};
use prost::Message;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("text")
    }
}

/// `None` if the connection is closed without an answer.
pub(crate) fn send(address: SocketAddr, request: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    // It may be refused before it is whole.
    let _ = stream.write_all(request.as_bytes());
    read(&mut stream)
}

pub(crate) fn read(stream: &mut TcpStream) -> Option<Answer> {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(len @ 1..) = stream.read(&mut piece) {
        all.extend_from_slice(&piece[..len]);
    }
    let end = all.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = String::from_utf8(all[..end].to_vec()).expect("a head of text");
    let status = head.split(' ').nth(1)?.parse().expect("a status");
    Some(Answer { status, head: head.to_ascii_lowercase(), body: all[end + 4..].to_vec() })
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    send(address, &request).unwrap_or_else(|| panic!("no answer to {path}"))
}

/// Functions, innermost first, with file and line.
pub(crate) type Stack = Vec<(String, String, i64)>;

/// A profile, with names instead of numbers.
pub(crate) struct Read {
    pub(crate) profile: Profile,
    /// The stack of each sample, its values; its blocks' size.
    pub(crate) samples: Vec<(Stack, Vec<i64>, i64)>,
}

impl Read {
    pub(crate) fn of(address: SocketAddr, path: &str) -> Self {
        let answer = get(address, path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.head);
        assert!(answer.head.contains("content-type: application/octet-stream"), "{}", answer.head);
        let mut message = Vec::new();
        flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut message).expect("it is gzip");
        let profile = Profile::decode(&message[..]).expect("it is a profile");
        let text = |index: i64| profile.string_table[index as usize].clone();
        let functions: BTreeMap<_, _> =
            profile.function.iter().map(|f| (f.id, (text(f.name), text(f.filename)))).collect();
        let mappings: Vec<u64> = profile.mapping.iter().map(|mapping| mapping.id).collect();
        let mut locations = BTreeMap::new();
        for location in &profile.location {
            assert!(mappings.contains(&location.mapping_id), "a location without a mapping");
            let lines = location.line.iter().map(|line| {
                let (name, file) = functions[&line.function_id].clone();
                (name, file, line.line)
            });
            assert!(locations.insert(location.id, lines.collect::<Vec<_>>()).is_none(), "a location twice");
        }
        let samples = profile.sample.iter().map(|sample| {
            let stack = sample.location_id.iter().flat_map(|id| locations[id].clone()).collect();
            let size = |label: &Label| (text(label.key) == "bytes").then_some(label.num);
            (stack, sample.value.clone(), sample.label.iter().find_map(size).unwrap_or_default())
        });
        let samples = samples.collect();
        Self { profile, samples }
    }

    pub(crate) fn text(&self, index: i64) -> &str {
        &self.profile.string_table[index as usize]
    }

    /// The sums over the samples with a function in their stack: allocated objects and bytes, live objects and bytes.
    pub(crate) fn sums(&self, function: &str) -> [i64; 4] {
        let mut sums = [0; 4];
        for (stack, values, _) in &self.samples {
            if stack.iter().any(|(name, ..)| name.contains(function)) {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
        sums
    }
}

/// Reads metrics as strictly as the format's description is: HELP and TYPE before each, no name twice, numbers.
pub(crate) fn metrics(address: SocketAddr) -> BTreeMap<String, (String, f64)> {
    let answer = get(address, "/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
    let text = answer.text();
    assert!(text.ends_with('\n'));
    let mut metrics = BTreeMap::new();
    let lines: Vec<&str> = text.lines().collect();
    for three in lines.chunks(3) {
        let [help, kind, value] = three else { panic!("{three:?}") };
        let (name, about) = help.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')).expect(help);
        assert!(!about.is_empty() && !about.contains('\\'), "{help}");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        let kind = kind.strip_prefix("# TYPE ").and_then(|rest| rest.strip_prefix(name)).expect(kind).trim();
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        assert!(["counter", "gauge"].contains(&kind), "{kind}");
        let value = value.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')).expect(value);
        let value: f64 = value.parse().expect("a number");
        assert!(value.is_finite() && value >= 0.0, "{name} {value}");
        assert!(metrics.insert(name.to_owned(), (kind.to_owned(), value)).is_none(), "{name} twice");
    }
    metrics
}
