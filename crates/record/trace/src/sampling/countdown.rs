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
#[rustfmt::skip]
const BY_WEIGHT: [i64; MOST_LOG2 as usize + 1] = [
    i64::MAX, 3_121_657_384_082_680, 1_295_604_874_295_013, 601_371_930_066_063,
    290_655_659_746_208, 142_983_425_899_042, 70_924_294_573_409, 35_322_531_090_877,
    17_626_635_524_235, 8_804_694_158_020, 4_400_195_393_878, 2_199_560_301_291,
    1_099_645_867_353, 549_789_371_051, 274_886_295_893, 137_441_050_667,
    68_720_001_029, 34_359_869_441, 17_179_901_952, 8_589_942_784,
    4_294_969_344, 2_147_484_160, 1_073_741_952, 536_870_944,
    268_435_464, 134_217_730, 67_108_865, 33_554_432,
    16_777_216, 8_388_608, 4_194_304,
];

/// Size classes: binary logarithms of sizes, rounded up.
const CLASSES: usize = 64;

/// The steps of all classes, one row for each distance between recorded blocks.
///
/// PERF: as many rows as five bits tell apart, so that every place is seen to be one.
static STEPS: [i64; 32 * CLASSES] = {
    let mut steps = [i64::MAX; 32 * CLASSES];
    let mut place = 0;
    while place < BY_WEIGHT.len() * CLASSES {
        let (log2, class) = (place / CLASSES, place % CLASSES);
        // The last one is of no bytes: nothing is as large as a quarter of all addresses.
        let class = if class == CLASSES - 1 { 0 } else { class };
        steps[place] = BY_WEIGHT[log2.saturating_sub(class)];
        place += 1;
    }
    steps
};

/// How many bytes lie between two recorded blocks, at most: where the steps of that are. 0 if everything is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distance(u32);

impl Distance {
    /// Two to the power of this in bytes, which is at most [`MOST_LOG2`].
    pub const fn of_log2(log2: u32) -> Self {
        let log2 = if log2 < MOST_LOG2 { log2 } else { MOST_LOG2 };
        Self(log2 * CLASSES as u32)
    }

    /// From what [`Self::to_bits`] has returned.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// A number that says it, 0 for the one of which everything is recorded.
    #[inline(always)]
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// Its binary logarithm.
    pub const fn log2(self) -> u32 {
        self.0 / CLASSES as u32
    }

    /// By how much a countdown is less after a block of this size.
    #[inline(always)]
    fn step(self, size: u64) -> i64 {
        // Rounded up: what the next power of two has as its logarithm. PERF: of a number that is never 0; no bytes have the last class.
        let class = ((size << 1).wrapping_sub(1) | 1).ilog2();
        STEPS[(self.0 + class) as usize % STEPS.len()]
    }
}

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

    /// Whether a block of this size is none of those that are recorded. If it is one, nothing has changed: [`Self::selects`] says so,
    /// too.
    #[inline(always)]
    pub fn passes_over(&mut self, distance: Distance, size: u64) -> bool {
        let less = self.after(distance, size);
        *self = less.unwrap_or(*self);
        less.is_some()
    }

    /// What it is when such a block was passed over; `None` if that is one of those that are recorded.
    #[inline(always)]
    pub fn after(self, distance: Distance, size: u64) -> Option<Self> {
        let step = distance.step(size);
        (self.left >= step).then(|| Self { left: self.left - step, ..self })
    }

    /// A block that was passed over was not there after all, since the allocator has refused it. Otherwise refusals would bring the next block
    /// nearer that is recorded.
    pub fn gives_back(&mut self, distance: Distance, size: u64) {
        self.left = self.left.saturating_add(distance.step(size));
    }

    /// Whether a block of this size is recorded.
    pub fn selects(&mut self, distance: Distance, size: u64) -> bool {
        if self.passes_over(distance, size) {
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
        for (log2, step) in (1..).zip(&BY_WEIGHT[1..]) {
            let exact = -(-(0.5f64.powi(log2))).ln_1p() * ONE;
            assert!((*step as f64 - exact).abs() <= 1e-9 * exact + 1.0, "{log2}: {step} for {exact}");
        }
    }

    #[test]
    fn each_size_has_the_step_of_its_weight() {
        let near = |power: u32| (1u64 << power).saturating_sub(2)..=(1 << power) + 2;
        // More than all addresses is refused, and counts for nothing.
        for size in (0..62).flat_map(near) {
            for log2 in 0..=MOST_LOG2 {
                let of_weight = BY_WEIGHT[weight(1 << log2, size).ilog2() as usize];
                let distance = Distance::of_log2(log2);
                assert_eq!(distance.step(size), of_weight, "{size} bytes, one for every 2^{log2}");
                assert_eq!((distance.log2(), Distance::from_bits(distance.to_bits())), (log2, distance));
            }
        }
    }

    /// An allocator that refuses a hundred requests before each that it fulfils has no other sample than one that refuses none.
    #[test]
    fn refusals_change_nothing() {
        const DISTANCE: Distance = Distance::of_log2(10);
        for (size, refused) in [(16, 16), (16, 600), (100, 16)] {
            let (mut seen, mut recorded) = (0u64, 0u64);
            for seed in 0..400 {
                let mut countdown = Countdown::default();
                countdown.begin(seed);
                for _ in 0..4_000 {
                    for _ in 0..100 {
                        if countdown.passes_over(DISTANCE, refused) {
                            countdown.gives_back(DISTANCE, refused);
                        }
                    }
                    seen += 1;
                    recorded += u64::from(countdown.selects(DISTANCE, size));
                }
            }
            let weight = weight(1 << DISTANCE.log2(), size) as f64;
            let (estimate, truth) = (recorded as f64 * weight, seen as f64);
            let error = (truth * (weight - 1.0)).sqrt();
            assert!((estimate - truth).abs() <= 5.0 * error, "{size}: {estimate} of {truth}");
        }
    }

    /// Blocks of a size are recorded as often as their weight says, whatever other sizes come in between. A weight that is off by
    /// one in a hundred would be found.
    #[test]
    fn each_size_is_recorded_as_often_as_its_weight_says() {
        const DISTANCE: Distance = Distance::of_log2(8);
        let sizes = [8u64, 24, 50, 100, 200, 256, 4000];
        let (mut seen, mut recorded) = ([0u64; 7], [0u64; 7]);
        for seed in 0..1000u64 {
            let mut countdown = Countdown::default();
            countdown.begin(seed);
            for n in 0..80_000u64 {
                let which = (n.wrapping_mul(0x9e37_79b9) >> 7) as usize % sizes.len();
                seen[which] += 1;
                recorded[which] += u64::from(countdown.selects(DISTANCE, sizes[which]));
            }
        }
        for (which, size) in sizes.into_iter().enumerate() {
            let weight = weight(1 << DISTANCE.log2(), size) as f64;
            let (estimate, truth) = (recorded[which] as f64 * weight, seen[which] as f64);
            let error = (truth * (weight - 1.0)).sqrt();
            assert!((estimate - truth).abs() <= 5.0 * error, "{size}: {estimate} of {truth}");
            assert!(error * 5.0 < truth / 100.0, "{size}: the test would not find a wrong weight");
        }
    }
}
