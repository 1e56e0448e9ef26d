//! One tick after another.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::cgroups::Cgroups;
use super::job::{Ground, Job, Outcome, Token};
use super::plan::Planner;
use super::pool::{Pool, Wait};
use super::table::{Sparing, Table};
use super::target::Budget;
use super::{Needs, Options};
use crate::model::{Identity, Missing, Reading, Sampling, Snapshot};
use crate::proc::files::Roots;
use crate::proc::own;
use crate::proc::system::{Machine, SystemFile, zram};

/// How often a wait looks whether threads are stuck.
const POLL: Duration = Duration::from_millis(10);
/// How long nothing must come before a tick no longer waits for what is being read.
const STALL: Duration = Duration::from_millis(100);
/// The longest a tick waits for walks, whatever the interval.
const LONGEST: Duration = Duration::from_secs(1);
/// How many glances a reader makes at once, where none can keep it waiting.
const BATCH: usize = 16;
/// Up to which interval quiet processes are glanced at in every other tick only.
const SPARING: Duration = Duration::from_secs(2);
/// How many ticks in a row may go without a list, where no pid was given out.
const UNLISTED: u32 = 4;
/// How long zmtop's own limit is taken to hold.
const LIMIT_HOLDS: Duration = Duration::from_secs(10);
/// Descriptors kept for all else beside those that stuck readers may take.
const RESERVE: usize = 64;

/// Takes snapshots. Must be driven on a tokio runtime with its timer enabled.
pub struct Scanner {
    interval: Duration,
    deadline: Duration,
    look_again: Duration,
    budget: Arc<Budget>,
    pool: Pool,
    table: Table,
    machine: Machine,
    reading: Vec<SystemFile>,
    listing: bool,
    pids: Reading<Vec<u32>>,
    /// The pid given out last when they were listed, and how often they were not since.
    last_pid: Option<u64>,
    unlisted: u32,
    news: bool,
    oom_score: bool,
    focus: HashSet<Identity>,
    cgroups: Cgroups,
    /// When zmtop's own limit was last asked for.
    limit_at: Option<Duration>,
    planner: Planner,
    tick: u64,
    outcomes: Vec<Outcome>,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scanner")
            .field("tick", &self.tick)
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

/// How long a tick waits.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For a read that gives nothing, when nothing else does either.
    stall: Duration,
    /// For everything, on the monotonic clock.
    until: Option<Duration>,
}

impl Scanner {
    /// A scanner that has seen nothing. Raises the process's limit on open files as far as it may, so as
    /// to hold some of each process open.
    pub fn new(options: Options) -> Self {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let budget = Arc::new(Budget::new(&options.proc_root, RESERVE + threads + options.max_stuck));
        let ground = Ground {
            roots: Roots {
                proc: options.proc_root,
                sys: options.sys_root,
            },
            budget: Arc::clone(&budget),
            page: rustix::param::page_size() as u64,
        };
        Self {
            interval: options.interval.clamp(Options::SHORTEST, Options::LONGEST),
            deadline: options.deadline,
            look_again: options.look_again,
            budget,
            pool: Pool::new(ground, threads, options.max_stuck, options.nice),
            table: Table::default(),
            machine: Machine::default(),
            reading: Vec::new(),
            listing: false,
            pids: Err(Missing::Pending),
            last_pid: None,
            unlisted: 0,
            news: false,
            oom_score: false,
            focus: HashSet::new(),
            cgroups: Cgroups::default(),
            limit_at: None,
            planner: Planner::new(options.policy),
            tick: 0,
            outcomes: Vec::new(),
        }
    }

    /// The time between snapshots.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Sets the time between snapshots, held to the bounds of [`Options::interval`].
    pub fn set_interval(&mut self, every: Duration) {
        self.interval = every.clamp(Options::SHORTEST, Options::LONGEST);
    }

    /// Sets what is read beside every process's memory. Each cgroup is read at most once a second.
    pub fn set_needs(&mut self, needs: Needs) {
        self.oom_score = needs.contains(Needs::OOM_SCORE);
        self.cgroups.set(needs.contains(Needs::CGROUP_FIGURES));
    }

    /// Sets the processes that somebody looks at.
    pub fn set_focus(&mut self, ids: Vec<Identity>) {
        self.focus = ids.into_iter().collect();
    }

    /// Takes a snapshot. Waits for what is read as long as more keeps coming, but for no more than a
    /// second, or the interval if that is less; what comes later is in a later snapshot.
    pub async fn tick(&mut self) -> Arc<Snapshot> {
        let patience = Patience {
            stall: STALL.min(self.deadline),
            until: Some(own::monotonic() + self.interval.min(LONGEST)),
        };
        self.scan(patience).await
    }

    /// Takes a snapshot, waiting until everything was read or has overrun its deadline: for a single
    /// table.
    pub async fn full(&mut self) -> Arc<Snapshot> {
        let patience = Patience {
            stall: self.deadline,
            until: None,
        };
        self.scan(patience).await
    }

    async fn scan(&mut self, patience: Patience) -> Arc<Snapshot> {
        let began = own::monotonic();
        let jobs = self.first_jobs(began);
        self.pool.submit(jobs);
        self.wait(Wait::Urgent, patience, |s| s.news).await;
        if std::mem::take(&mut self.news)
            && let Ok(pids) = &self.pids
        {
            // Nothing but a made tree can keep a glance waiting.
            let batch = if self.budget.is_procfs() { BATCH } else { 1 };
            // Without a budget, or where ticks are far apart, every one sees everything.
            let spares = self.planner.policy().budget.is_some() && self.interval <= SPARING;
            let sparing = Sparing {
                now: began,
                focus: &self.focus,
            };
            let glances = self.table.list(pids, self.oom_score, batch, spares.then_some(&sparing));
            self.pool.submit(glances);
        }
        self.wait(Wait::Urgent, patience, |_| false).await;
        if self.budget.exceeded() {
            self.table.shed(|| self.budget.exceeded());
        }

        let now = own::monotonic();
        self.table.spread();
        let (pids, candidates) = self.table.candidates(now, &self.focus);
        let chosen = self.planner.choose(now, &candidates);
        let walks = chosen
            .into_iter()
            .filter_map(|c| self.table.walk(pids[c.index], c.purpose));
        self.pool.submit(walks);
        self.pool.submit(self.table.facts(now, self.look_again));
        if self.budget.is_procfs() {
            self.pool.submit(self.table.kin());
        }
        self.pool.submit(self.cgroups.ask_mounts(now));
        self.wait(Wait::All, patience, |_| false).await;
        if self.cgroups.is_on() {
            // Only now is it known where newcomers are.
            let jobs = self.cgroups.ask(self.table.cgroups(), own::monotonic());
            self.pool.submit(jobs);
            self.wait(Wait::All, patience, |_| false).await;
        }
        self.pool.give_up(patience.stall);
        self.publish(began)
    }

    /// What every tick begins with, except where the last has not returned.
    fn first_jobs(&mut self, now: Duration) -> Vec<Job> {
        let mut jobs = Vec::with_capacity(SystemFile::ALL.len() + 1);
        if !std::mem::replace(&mut self.listing, true) {
            // A list now and then whatever the kernel says: a pid can be given out of turn.
            let last = self.last_pid.filter(|_| self.unlisted < UNLISTED);
            jobs.push(Job::List { last });
        }
        for part in SystemFile::ALL {
            let known = match part {
                SystemFile::BootId => self.machine.boot_id.is_ok(),
                SystemFile::Limit => self.limit_at.is_some_and(|at| now.saturating_sub(at) < LIMIT_HOLDS),
                _ => false,
            };
            if !known && !self.reading.contains(&part) {
                if part == SystemFile::Limit {
                    self.limit_at = Some(now);
                }
                self.reading.push(part);
                jobs.push(Job::Part(part));
            }
        }
        jobs
    }

    async fn wait(&mut self, wait: Wait, patience: Patience, enough: impl Fn(&Self) -> bool) {
        loop {
            // In this order, as what comes between the two is then waited for once more.
            let settled = self.pool.settled(wait, patience.stall);
            let more = self.take_in();
            if enough(self) || (settled && !more) {
                return;
            }
            match patience.until {
                Some(until) if own::monotonic() >= until => return,
                // Not one thread can be had: there is nothing to wait for.
                None if self.pool.threads() == 0 => return,
                _ => {}
            }
            tokio::select! {
                () = self.pool.came() => {}
                () = tokio::time::sleep(POLL) => self.pool.supervise(),
            }
        }
    }

    /// Takes in what has come; says whether it made for more to be read.
    fn take_in(&mut self) -> bool {
        let now = own::monotonic();
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.pool.drain(&mut outcomes);
        let mut more = Vec::new();
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::List(pids, last) => {
                    self.listing = false;
                    self.news = true;
                    self.last_pid = last;
                    self.unlisted = if pids.is_some() { 0 } else { self.unlisted + 1 };
                    if let Some(pids) = pids {
                        self.pids = pids;
                    } else {
                        self.pids = Ok(self.table.pids());
                    }
                }
                Outcome::Part(part, portion) => {
                    self.reading.retain(|p| *p != part);
                    portion(&mut self.machine);
                }
                Outcome::Mounts(mounts) => self.cgroups.mounted(mounts, now),
                Outcome::Cgroups(number, figures) => self.cgroups.read(number, figures, now),
                other => {
                    if let Outcome::Walk {
                        purpose,
                        expected,
                        done,
                        ..
                    } = &other
                    {
                        self.planner.charge(*purpose, *expected, done.cost);
                    }
                    self.table.take_in(other, now, &mut more);
                }
            }
        }
        self.outcomes = outcomes;
        let any = !more.is_empty();
        self.pool.submit(more);
        any
    }

    fn publish(&mut self, began: Duration) -> Arc<Snapshot> {
        self.tick += 1;
        let now = own::monotonic();
        let running = self.pool.running();
        let deadline = self.deadline;
        let late = |since: &Duration| now.saturating_sub(*since) > deadline;
        for part in &self.reading {
            if running.get(&Token::Part(*part)).is_some_and(late) {
                part.parse(Err(Missing::TimedOut))(&mut self.machine);
            }
        }
        zram::mark_swap(&mut self.machine.sample);
        let rows = self.table.rows(&running, now, self.deadline);
        let processes = match self.pids {
            Ok(_) => Ok(rows),
            Err(Missing::Pending) if running.get(&Token::List).is_some_and(late) => Err(Missing::TimedOut),
            Err(why) => Err(why),
        };
        let (walks, walked) = self.table.count_walks();
        Arc::new(Snapshot {
            time: SystemTime::now(),
            monotonic: now,
            tick: self.tick,
            host: Arc::clone(&self.machine.host),
            boot_id: self.machine.boot_id.clone(),
            interval: self.interval,
            sampling: Sampling {
                walks,
                walked,
                budget: self.planner.policy().budget,
                waiting: self.planner.waiting(),
                stuck: running.values().filter(|since| late(since)).count(),
                threads: self.pool.threads(),
                took: now.saturating_sub(began),
            },
            own: own::cost(),
            system: self.machine.sample.clone(),
            processes,
            cgroups: self.cgroups.publish(&running, now, self.deadline),
        })
    }
}
