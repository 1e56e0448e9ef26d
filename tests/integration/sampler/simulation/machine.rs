//! A made machine: processes whose figures drift at known rates, walked as a planner chooses.

use std::time::Duration;

use zmtop::sampler::policy::plan::{Candidate, Planner, Policy, Purpose};

/// Seconds after which what is seen counts: the first scan and what follows from it are over.
pub(super) const WARM_UP: u32 = 60;

/// A process of the made machine.
#[derive(Clone)]
pub(super) struct Process {
    pub(super) cost: Duration,
    /// The predicted cost of its first walk.
    pub(super) predicted: Duration,
    /// Bytes by which its bound grows in a second.
    pub(super) rate: u64,
    pub(super) pss: u64,
    /// Bytes of its PSS that others could change.
    pub(super) externally_mutable: u64,
    pub(super) focus: bool,
    pub(super) born: Duration,
    pub(super) ends: Duration,
    pub(super) walked: Option<Duration>,
    pub(super) was_idle: bool,
    pub(super) walks: u32,
    /// The highest age shown.
    pub(super) oldest: Duration,
    /// The highest bound shown, in tolerances.
    pub(super) worst: f64,
    /// The longest time in a row that a bound beyond the tolerance was shown, and the one that lasts.
    pub(super) beyond: Duration,
    pub(super) beyond_since: Option<Duration>,
}

impl Process {
    pub(super) fn new(micros: u64, rate: u64) -> Self {
        let cost = Duration::from_micros(micros);
        Self {
            cost,
            predicted: cost,
            rate,
            pss: 10 << 20,
            externally_mutable: 2 << 20,
            focus: false,
            born: Duration::ZERO,
            ends: Duration::MAX,
            walked: None,
            was_idle: false,
            walks: 0,
            oldest: Duration::ZERO,
            worst: 0.0,
            beyond: Duration::ZERO,
            beyond_since: None,
        }
    }

    pub(super) fn in_focus(self) -> Self {
        Self { focus: true, ..self }
    }

    fn tolerance(&self) -> u64 {
        (self.pss / 100).max(1 << 20)
    }

    fn bound(&self, now: Duration) -> u64 {
        let since = now.saturating_sub(self.walked.unwrap_or(now));
        (since.as_secs_f64() * self.rate as f64) as u64
    }

    fn candidate(&self, place: usize, now: Duration) -> Candidate {
        Candidate {
            walkable: true,
            age: self.walked.map(|at| now.saturating_sub(at)),
            waited: now.saturating_sub(self.born),
            cost: if self.walks > 0 { self.cost } else { self.predicted },
            bound: self.bound(now),
            // Each walk proves twice as many faults harmless.
            faulted: self.bound(now) > 0,
            proven: self.walks >= 8,
            tolerance: self.tolerance(),
            externally_mutable: self.externally_mutable,
            focus: self.focus,
            was_idle: self.was_idle,
            place: place as u64,
            ..Candidate::default()
        }
    }

    fn take_walk(&mut self, now: Duration, purpose: Purpose) {
        self.walked = Some(now);
        self.was_idle = purpose == Purpose::Idle;
        self.walks += 1;
    }

    /// Notes what is shown of it.
    fn show(&mut self, now: Duration) {
        let Some(walked) = self.walked else { return };
        self.oldest = self.oldest.max(now.saturating_sub(walked));
        let bound = self.bound(now) as f64 / self.tolerance() as f64;
        self.worst = self.worst.max(bound);
        if bound > 1.0 {
            let since = *self.beyond_since.get_or_insert(now);
            self.beyond = self.beyond.max(now.saturating_sub(since));
        } else {
            self.beyond_since = None;
        }
    }
}

/// A stream of processes that start.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) per_second: f64,
    pub(super) lives: Duration,
    pub(super) process: Process,
}

/// The result of a simulation, without the first scan.
#[derive(Default)]
pub(super) struct Found {
    /// Shares of a core that walks took: of all, and of processes that were there before.
    pub(super) spent: f64,
    pub(super) spent_on_old: f64,
    /// The most in any one tick, in walks.
    pub(super) most: usize,
    /// The processes that were there before.
    pub(super) processes: Vec<Process>,
    /// The time that each newcomer had no figures, until it was walked, ended or the simulation did; in order.
    pub(super) without: Vec<Duration>,
    pub(super) started: usize,
}

impl Found {
    /// Returns the highest of what was shown of the processes there before.
    pub(super) fn max<T: PartialOrd + Default>(&self, of: impl Fn(&Process) -> T) -> T {
        let all = self.processes.iter().map(of);
        all.fold(T::default(), |max, value| if value > max { value } else { max })
    }

    /// Returns the highest age of a figure, in seconds.
    pub(super) fn oldest(&self) -> f64 {
        self.max(|p| p.oldest).as_secs_f64()
    }

    /// Returns the time within which 99 of 100 newcomers had figures.
    pub(super) fn p99_without(&self) -> Duration {
        self.without
            .get(self.without.len() * 99 / 100)
            .copied()
            .unwrap_or_default()
    }
}

/// Runs a machine with the default policy; what is seen counts after the [warm-up](WARM_UP), or the first third.
pub(super) fn run(mut processes: Vec<Process>, streams: &[Stream], step: Duration, ticks: u32) -> Found {
    let mut planner = Planner::new(Policy::default());
    let mut found = Found::default();
    let old = processes.len();
    let (mut spent, mut spent_on_old) = (Duration::ZERO, Duration::ZERO);
    for tick in 0..ticks {
        let now = step * tick;
        for stream in streams {
            let per_tick = stream.per_second * step.as_secs_f64();
            let count = (f64::from(tick + 1) * per_tick) as u32 - (f64::from(tick) * per_tick) as u32;
            for n in 0..count {
                // They start evenly over the time since the last tick; who has ended before is never seen.
                let born = now.saturating_sub(step * n / count.max(1));
                let ends = born.saturating_add(stream.lives);
                if ends > now {
                    processes.push(Process {
                        born: now,
                        ends,
                        ..stream.process.clone()
                    });
                }
            }
        }
        let candidates: Vec<Candidate> = processes.iter().enumerate().map(|(i, p)| p.candidate(i, now)).collect();
        let chosen = planner.choose(now, &candidates);
        for c in &chosen {
            let p = &mut processes[c.index];
            planner.charge(c.purpose, candidates[c.index].cost, p.cost);
            p.take_walk(now, c.purpose);
            if c.purpose != Purpose::Initial {
                spent += p.cost;
                spent_on_old += if c.index < old { p.cost } else { Duration::ZERO };
            }
            if c.index >= old && p.walks == 1 {
                found.without.push(now.saturating_sub(p.born));
            }
        }
        if tick > 0 {
            found.most = found.most.max(chosen.len());
        }
        if now > Duration::from_secs(WARM_UP.into()) || tick * 3 > ticks {
            processes[..old].iter_mut().for_each(|p| p.show(now));
        }
        let mut place = 0;
        processes.retain(|p| {
            place += 1;
            let is_over = place > old && (p.ends <= now + step || tick + 1 == ticks);
            if is_over && p.walks == 0 {
                found.without.push(p.ends.min(now + step).saturating_sub(p.born));
            }
            !is_over
        });
    }
    found.without.sort_unstable();
    found.started = found.without.len();
    let time = (step * (ticks - 1)).as_secs_f64();
    found.spent = spent.as_secs_f64() / time;
    found.spent_on_old = spent_on_old.as_secs_f64() / time;
    found.processes = processes;
    found
}
