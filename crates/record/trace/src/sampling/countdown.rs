//! Decides which blocks are recorded, with a subtraction for each.
//!
//! A thread counts down from a number with an exponential distribution, by a step that depends on the block's size class alone, and
//! records the block at which that becomes negative. The distribution has no memory: what is left of a countdown is distributed as a
//! new one. So a block is recorded with a probability of exactly 1 - exp(-step), whatever came before it, and the step of a class is the
//! one with which that is 1 in [`weight`](super::weight). A random number is needed for recorded blocks only.

/// Units of a countdown for 1.
const ONE: f64 = (1u64 << 52) as f64;

/// Binary logarithm of the largest distance between recorded blocks.
pub const MOST_LOG2: u32 = 30;

/// -ln(1 - 1/weight) in units, by the binary logarithm of the weight. What has a
/// weight of 1 is always recorded.
///
/// PERF: as many as six bits tell apart, so that each logarithm is seen to have one; behind [`MOST_LOG2`] it is that one's.
#[rustfmt::skip]
const STEPS: [i64; 64] = [
    i64::MAX, 3_121_657_384_082_680, 1_295_604_874_295_013, 601_371_930_066_063,
    290_655_659_746_208, 142_983_425_899_042, 70_924_294_573_409, 35_322_531_090_877,
    17_626_635_524_235, 8_804_694_158_020, 4_400_195_393_878, 2_199_560_301_291,
    1_099_645_867_353, 549_789_371_051, 274_886_295_893, 137_441_050_667,
    68_720_001_029, 34_359_869_441, 17_179_901_952, 8_589_942_784,
    4_294_969_344, 2_147_484_160, 1_073_741_952, 536_870_944,
    268_435_464, 134_217_730, 67_108_865, 33_554_432,
    16_777_216, 8_388_608, 4_194_304,
    4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304,
    4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304,
    4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304,
    4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304, 4_194_304,
    4_194_304,
];

/// One thread's countdown. All zeroes is one that has not begun.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Countdown {
    left: i64,
    random: u64,
}

impl Countdown {
    /// Begins anew. A seed is to be different in each thread; one that is a little different will do.
    pub fn begin(&mut self, seed: u64) {
        self.random = mixed(seed) | 1;
        self.draw();
    }

    /// Whether it has begun.
    #[inline(always)]
    pub const fn has_begun(&self) -> bool {
        self.random != 0
    }

    /// One that has not begun: it passes nothing over.
    pub const fn new() -> Self {
        Self { left: 0, random: 0 }
    }

    /// Whether a block of this size is none of those that are recorded, where at most 2^`log2` bytes lie between two that are. If it
    /// is one, nothing has changed: [`Self::selects`] says so, too.
    #[inline(always)]
    pub fn passes_over(&mut self, log2: u32, size: u64) -> bool {
        let less = self.after(log2, size);
        *self = less.unwrap_or(*self);
        less.is_some()
    }

    /// What it is when such a block was passed over; `None` if that is one of those that are recorded.
    #[inline(always)]
    pub fn after(self, log2: u32, size: u64) -> Option<Self> {
        let step = step(log2, size);
        (self.left >= step).then(|| Self { left: self.left - step, ..self })
    }

    /// A block that was passed over was not there after all, since the allocator has refused it. Otherwise refusals would bring the next block
    /// nearer that is recorded.
    pub fn gives_back(&mut self, log2: u32, size: u64) {
        self.left = self.left.saturating_add(step(log2, size));
    }

    /// Whether a block of this size is recorded.
    pub fn selects(&mut self, log2: u32, size: u64) -> bool {
        if self.passes_over(log2, size) {
            return false;
        }
        self.draw();
        true
    }

    #[cold]
    #[inline(never)]
    fn draw(&mut self) {
        // Between 0 and 1, and neither of them.
        let uniform = ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        self.left = (-libm::log(uniform) * ONE) as i64;
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.random)
    }
}

/// By how much a countdown is less after a block of this size.
#[inline(always)]
fn step(log2: u32, size: u64) -> i64 {
    // Rounded up: what the next power of two has as its logarithm. PERF: of a number that is never 0. Nothing is as large as half of all
    // addresses, of which the highest bit is lost.
    let class = (size.saturating_sub(1) << 1 | 1).ilog2();
    STEPS[log2.saturating_sub(class) as usize % STEPS.len()]
}

/// SplitMix64 by Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): numbers that are as far apart as they can
/// be, from neighbours.
fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::weight;
    use super::*;

    #[test]
    fn steps_are_those_of_the_weights() {
        for (log2, step) in (1..).zip(&STEPS[1..=MOST_LOG2 as usize]) {
            let exact = -(-(0.5f64.powi(log2))).ln_1p() * ONE;
            assert!((*step as f64 - exact).abs() <= 1e-9 * exact + 1.0, "{log2}: {step} for {exact}");
        }
    }

    #[test]
    fn each_size_has_the_step_of_its_weight() {
        let near = |power: u32| (1u64 << power).saturating_sub(2)..=(1 << power) + 2;
        for size in (0..62).flat_map(near).chain([u64::MAX / 2, u64::MAX]) {
            for log2 in 0..=MOST_LOG2 {
                let of_weight = STEPS[weight(1 << log2, size).ilog2() as usize];
                assert_eq!(step(log2, size), of_weight, "{size} bytes, one for every 2^{log2}");
            }
        }
    }

    /// An allocator that refuses a hundred requests before each that it fulfils has no other sample than one that refuses none.
    #[test]
    fn refusals_change_nothing() {
        const LOG2: u32 = 10;
        for (size, refused) in [(16, 16), (16, 600), (100, 16)] {
            let (mut seen, mut recorded) = (0u64, 0u64);
            for seed in 0..400 {
                let mut countdown = Countdown::default();
                countdown.begin(seed);
                for _ in 0..4_000 {
                    for _ in 0..100 {
                        if countdown.passes_over(LOG2, refused) {
                            countdown.gives_back(LOG2, refused);
                        }
                    }
                    seen += 1;
                    recorded += u64::from(countdown.selects(LOG2, size));
                }
            }
            let weight = weight(1 << LOG2, size) as f64;
            let (estimate, truth) = (recorded as f64 * weight, seen as f64);
            let error = (truth * (weight - 1.0)).sqrt();
            assert!((estimate - truth).abs() <= 5.0 * error, "{size}: {estimate} of {truth}");
        }
    }

    /// Blocks of a size are recorded as often as their weight says, whatever other sizes come in between. A weight that is off by
    /// one in a hundred would be found.
    #[test]
    fn each_size_is_recorded_as_often_as_its_weight_says() {
        const LOG2: u32 = 8;
        let sizes = [8u64, 24, 50, 100, 200, 256, 4000];
        let (mut seen, mut recorded) = ([0u64; 7], [0u64; 7]);
        for seed in 0..1000u64 {
            let mut countdown = Countdown::default();
            countdown.begin(seed);
            for n in 0..80_000u64 {
                let which = (n.wrapping_mul(0x9e37_79b9) >> 7) as usize % sizes.len();
                seen[which] += 1;
                recorded[which] += u64::from(countdown.selects(LOG2, sizes[which]));
            }
        }
        for (which, size) in sizes.into_iter().enumerate() {
            let weight = weight(1 << LOG2, size) as f64;
            let (estimate, truth) = (recorded[which] as f64 * weight, seen[which] as f64);
            let error = (truth * (weight - 1.0)).sqrt();
            assert!((estimate - truth).abs() <= 5.0 * error, "{size}: {estimate} of {truth}");
            assert!(error * 5.0 < truth / 100.0, "{size}: the test would not find a wrong weight");
        }
    }
}
