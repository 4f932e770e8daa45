//! Moments of a recording, as they are shown.

/// A moment of the recording.
pub(super) fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, ns / 100_000_000 % 10),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::clock;

    #[test]
    fn moments_are_short() {
        let all = [0, 12_340_000_000, 75_000_000_000, 7_300_000_000_000].map(clock);
        assert_eq!(all, ["0.0 s", "12.3 s", "1 min 15 s", "2 h 01 min"]);
    }
}
