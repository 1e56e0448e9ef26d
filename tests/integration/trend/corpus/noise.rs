//! The noise of real programs: footprints by the second, of a Python service and a Python garbage collector,
//! a Node heap, Java with two collectors, a Perl hash, a shell loop, each doing random requests over a bounded
//! store, as their PSS + `SwapPss` stood in `smaps_rollup`.

use super::Rng;

/// The noise of recorded programs.
#[derive(Debug)]
pub(crate) struct Noise {
    /// The residual of each recording without its trend, by the second, as a share of the footprint.
    residuals: Vec<Vec<f64>>,
    /// Whole recordings, in bytes.
    pub(crate) recordings: Vec<(String, Vec<f64>)>,
}

/// Seconds on either side that a trend is the median of.
const NEAR: usize = 30;

/// Seconds that are taken in one piece, so that what follows upon what stays as it was.
const BLOCK: usize = 40;

/// Seconds left out at the beginning of a recording: the start of the program.
const START: usize = 60;

impl Noise {
    /// The noise in the fixture.
    pub(crate) fn recorded() -> Self {
        let text = include_str!("../../../fixtures/trend/footprints.csv");
        let recordings: Vec<(String, Vec<f64>)> = text
            .lines()
            .map(|line| {
                let mut cells = line.split(',');
                let name = cells.next().unwrap().to_owned();
                (
                    name,
                    cells.flat_map(str::parse::<f64>).map(|kib| kib * 1024.0).collect(),
                )
            })
            .collect();
        let residuals = recordings.iter().map(|(_, bytes)| residuals(&bytes[START..])).collect();
        Self { residuals, recordings }
    }

    /// So many values of the noise of one recorded program, drawn block by block, for a program of `size`
    /// bytes. What a larger one does is the sum of more: its noise is a lesser share of it, as the square root.
    pub(crate) fn of_program(&self, rng: &mut Rng, which: usize, values: usize, size: f64) -> Vec<f64> {
        let residuals = &self.residuals[which];
        let recorded = &self.recordings[which].1;
        let strength = (recorded[recorded.len() / 2] / size).min(1.0).sqrt();
        let mut noise = Vec::with_capacity(values + BLOCK);
        while noise.len() < values {
            let from = rng.below(residuals.len() - BLOCK);
            noise.extend(residuals[from..from + BLOCK].iter().map(|r| r * strength));
        }
        noise.truncate(values);
        noise
    }

    /// The usual noise of a series of so many values: some program's own, half to twice as strong, and a little
    /// that nothing explains.
    pub(crate) fn usual(&self, rng: &mut Rng, values: usize, size: f64) -> Vec<f64> {
        let strength = rng.range(0.5, 2.0);
        let grain = rng.scale(0.0002, 0.004);
        let which = rng.below(self.residuals.len());
        let mut noise = self.of_program(rng, which, values, size);
        for one in &mut noise {
            *one = one.mul_add(strength, grain * rng.normal());
        }
        noise
    }
}

fn residuals(bytes: &[f64]) -> Vec<f64> {
    (0..bytes.len())
        .map(|i| {
            let mut near = bytes[i.saturating_sub(NEAR)..(i + NEAR + 1).min(bytes.len())].to_vec();
            near.sort_unstable_by(f64::total_cmp);
            let middle = near[near.len() / 2];
            (bytes[i] - middle) / middle
        })
        .collect()
}
