//! A small generator of numbers, the same on every machine.

use std::f64::consts::TAU;

/// xorshift64*.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The generator of one series.
    pub(crate) fn new(shape: usize, seed: u64) -> Self {
        let mut rng = Self((shape as u64 + 1) << 32 | (seed + 1));
        for _ in 0..8 {
            rng.next();
        }
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly from one to the other.
    pub(crate) fn range(&mut self, from: f64, to: f64) -> f64 {
        (to - from).mul_add(self.unit(), from)
    }

    /// From one to the other, evenly by their logarithm.
    pub(crate) fn scale(&mut self, from: f64, to: f64) -> f64 {
        from * (to / from).powf(self.unit())
    }

    /// A whole number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// True that often.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// Normally distributed, with mean 0 and deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().max(1e-300).ln()).sqrt() * (TAU * self.unit()).cos()
    }

    /// Exponentially distributed.
    pub(crate) fn waiting(&mut self, mean: f64) -> f64 {
        -mean * self.unit().max(1e-300).ln()
    }
}
