//! A small deterministic generator: SplitMix64 for seeds, xorshift64* for the stream.

/// One step of SplitMix64: spreads neighbouring seeds over all 64 bits.
pub const fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of this seed. Neighbouring seeds give unrelated streams.
    pub const fn new(seed: u64) -> Self {
        let state = mix(seed);
        Self(if state == 0 {
            0x9e37_79b9_7f4a_7c15
        } else {
            state
        })
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, or 0 if `bound` is 0. Uses the upper bits by multiplication, so
    /// that no division is on the hot path; the bias is below `bound` / 2^64.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_a_bound_are_uniform() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
        }
        assert!(
            seen.iter().all(|&count| (9_500..10_500).contains(&count)),
            "{seen:?}"
        );
    }

    #[test]
    fn neighbouring_seeds_are_unrelated_from_the_first_number_on() {
        let ones: u32 = (0..1_000).map(|seed| Rng::new(seed).below(2) as u32).sum();
        assert!((420..580).contains(&ones), "{ones}");
    }

    #[test]
    fn a_bound_of_zero_gives_zero() {
        assert_eq!(Rng::new(1).below(0), 0);
    }
}
