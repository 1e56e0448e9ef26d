//! What may be spent: token buckets of processor time.

use std::time::Duration;

/// What a walk is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The first look at the machine, or one without a budget: charged to nobody.
    First,
    /// A process that was never walked.
    New,
    /// Something says that it changed.
    Due,
    /// Nothing does; its figures are getting old.
    Silent,
}

/// A walk that costs more takes what many others need: it is paid from a purse of its own.
const DEAR: Duration = Duration::from_millis(20);
/// A walk that costs more is not cheap: silent ones of that kind have a smaller purse.
const CHEAP: Duration = Duration::from_millis(1);
/// What silent processes may take, as parts of the budget: the cheap, those between, the dear. Memory that does
/// not change costs no more the more of it there is.
const SILENT_PARTS: [f64; 3] = [0.05, 0.02, 0.02];
/// How many seconds' worth may be saved up for a burst of changes.
const BURST: f64 = 4.0;
/// How many seconds' worth new processes may run into debt.
const DEBT: f64 = 2.0;

/// Whether a walk of that cost is dear.
pub(super) fn is_dear(cost: Duration) -> bool {
    cost > DEAR
}

/// One purse.
#[derive(Clone, Copy, Debug)]
struct Purse {
    /// Seconds of processor time; below zero it is in debt.
    holds: f64,
    /// How much it can hold.
    room: f64,
}

impl Purse {
    fn fill(&mut self, amount: f64) {
        self.holds = (self.holds + amount).min(self.room);
    }
}

/// The purses: for what is due, cheap and dear; for what is silent, cheap, between and dear.
#[derive(Clone, Debug)]
pub(super) struct Purses {
    budget: f64,
    due: [Purse; 2],
    silent: [Purse; 3],
}

impl Purses {
    pub(super) fn new(budget: f64) -> Self {
        let purse = |share: f64, seconds: f64| Purse {
            holds: 0.0,
            room: share * seconds,
        };
        Self {
            budget,
            due: [purse(budget, BURST), purse(budget, 1.0)],
            silent: SILENT_PARTS.map(|part| purse(budget * part, BURST)),
        }
    }

    /// Time went on. While dear processes are due the budget is shared between them and the rest.
    pub(super) fn fill(&mut self, step: Duration, dear_due: bool) {
        let amount = self.budget * step.as_secs_f64();
        let [cheap, dear] = &mut self.due;
        if dear_due {
            cheap.fill(amount / 2.0);
            dear.fill(amount / 2.0);
        } else {
            // What the dear owe is paid back out of the same budget.
            let back = (-dear.holds).clamp(0.0, amount / 2.0);
            dear.holds += back;
            cheap.fill(amount - back);
        }
        for (purse, part) in self.silent.iter_mut().zip(SILENT_PARTS) {
            purse.fill(amount * part);
        }
    }

    fn purse(&mut self, purpose: Purpose, cost: Duration) -> Option<&mut Purse> {
        let at = usize::from(is_dear(cost));
        match purpose {
            Purpose::First => None,
            Purpose::New => Some(&mut self.due[0]),
            Purpose::Due => Some(&mut self.due[at]),
            Purpose::Silent => Some(&mut self.silent[usize::from(cost > CHEAP) + at]),
        }
    }

    /// Sets a walk's expected cost aside; false where there is nothing left. A walk may cost more than is
    /// there: the purse is then in debt until time has paid.
    pub(super) fn reserve(&mut self, purpose: Purpose, expected: Duration) -> bool {
        let floor = if purpose == Purpose::New {
            -self.budget * DEBT
        } else {
            0.0
        };
        let Some(purse) = self.purse(purpose, expected) else {
            return true;
        };
        let may = purse.holds > floor;
        if may {
            purse.holds -= expected.as_secs_f64();
        }
        may
    }

    /// Corrects what was set aside to what it cost.
    pub(super) fn settle(&mut self, purpose: Purpose, expected: Duration, cost: Duration) {
        if let Some(purse) = self.purse(purpose, expected) {
            purse.holds -= cost.as_secs_f64() - expected.as_secs_f64();
        }
    }
}
