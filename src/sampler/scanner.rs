//! Takes snapshots, one per tick.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::activity::Pace;
use super::births::{Births, Signs, may_be_reused};
use super::cgroups::Cgroups;
use super::close_looks::CloseLooks;
use super::counters::CounterReader;
use super::job::{Job, JobKey, Outcome, ReaderContext, RunningReads};
use super::kernel_tables::KernelReader;
use super::machine::{Accounting, OomWatch, SystemFiles};
use super::plan::Planner;
use super::pool::{Pool, Scope};
use super::table::{GlanceOptions, LookOptions, Table};
use super::target::OpenFiles;
use super::{Needs, Options};
use crate::model::{Identity, Missing, ProcessSample, Reading, Sampling, Snapshot};
use crate::proc::pids::PidList;
use crate::proc::{clock, files};

/// Time between checks for blocked threads: so short that one blocked read does not delay a tick visibly.
const POLL: Duration = Duration::from_millis(10);
/// Silence after which a tick no longer waits for a read.
const STALL: Duration = Duration::from_millis(100);
/// Maximum time that a tick waits for walks, whatever the interval, so that figures are shown by then.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// Glances in one job, at some 4 µs each, if none of them can block.
const GLANCES_BATCH: usize = 16;
/// Descriptors kept for other uses, in addition to those that stuck readers may take.
const RESERVE: usize = 64;

/// Takes snapshots. Must be driven on a tokio runtime with its timer enabled.
pub struct Scanner {
    interval: Duration,
    deadline: Duration,
    exe_check_interval: Duration,
    open_files: Arc<OpenFiles>,
    /// The pids of the tree are zmtop's own, so the lists of cgroups apply to it.
    has_own_pids: bool,
    pool: Pool<Job>,
    table: Table,
    system: SystemFiles,
    accounting: Accounting,
    kernel: KernelReader,
    oom: OomWatch,
    is_listing: bool,
    /// The lists that were not processed yet, each with the last allocated pid before it and at its time.
    lists: Vec<(PidList, Option<(u64, u64)>)>,
    /// The reason why no list could be read.
    list_fault: Option<Missing>,
    births: Births,
    /// A list has come in this tick.
    has_list: bool,
    oom_score: bool,
    focus: HashSet<Identity>,
    cgroups: Cgroups,
    close_looks: CloseLooks,
    planner: Planner,
    tick: u64,
    outcomes: Vec<Outcome>,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scanner")
            .field("tick", &self.tick)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy)]
struct WaitLimits {
    /// Time after which a silent read is not waited for, if nothing else comes either.
    stall: Duration,
    /// The end of the wait, on the monotonic clock.
    until: Option<Duration>,
}

impl Scanner {
    /// Creates a scanner. Raises the process's limit on open files as far as allowed, to hold files of each process
    /// open.
    pub fn new(options: &Options) -> Self {
        let threads = options.reader_threads();
        let open_files = OpenFiles::new(&options.proc_root, RESERVE + threads + options.max_stuck);
        let open_files = Arc::new(open_files);
        let page = rustix::param::page_size() as u64;
        let context = ReaderContext {
            roots: options.roots(),
            cgroup: options.cgroup.clone(),
            open_files: Arc::clone(&open_files),
            has_own_pids: open_files.is_procfs() && files::has_own_pids(&options.proc_root),
            page,
            counters: CounterReader::new(&options.roots(), page),
        };
        let has_own_pids = context.has_own_pids;
        Self {
            interval: options.interval.clamp(Options::SHORTEST, Options::LONGEST),
            deadline: options.deadline,
            exe_check_interval: options.exe_check_interval,
            open_files,
            has_own_pids,
            pool: Pool::new(options, threads, context),
            table: Table::default(),
            system: SystemFiles::of(options.cgroup.clone()),
            accounting: Accounting::default(),
            kernel: KernelReader::default(),
            oom: OomWatch::default(),
            is_listing: false,
            lists: Vec::new(),
            list_fault: Some(Missing::Pending),
            births: Births::default(),
            has_list: false,
            oom_score: false,
            focus: HashSet::new(),
            cgroups: Cgroups::default(),
            close_looks: CloseLooks::default(),
            planner: Planner::new(options.policy),
            tick: 0,
            outcomes: Vec::new(),
        }
    }

    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Sets the time between snapshots, clamped like [`Options::interval`].
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval.clamp(Options::SHORTEST, Options::LONGEST);
    }

    /// Sets the data to read besides the memory of every process. Each cgroup is read at most once a second.
    pub fn set_needs(&mut self, needs: Needs) {
        self.oom_score = needs.contains(Needs::OOM_SCORE);
        self.cgroups.set(needs.contains(Needs::CGROUP_FIGURES));
        self.accounting.set(needs.contains(Needs::ACCOUNT));
        self.kernel.set(needs);
        self.table.set_held(needs.contains(Needs::HELD));
    }

    pub fn set_focus(&mut self, ids: Vec<Identity>) {
        self.focus = ids.into_iter().collect();
    }

    /// Takes a snapshot. Waits as long as more results keep coming, but at most 1 s, or the interval if that is less.
    /// Later results are in a later snapshot.
    pub async fn tick(&mut self) -> Arc<Snapshot> {
        let limits = WaitLimits {
            stall: STALL.min(self.deadline),
            until: Some(clock::monotonic() + self.interval.min(MAX_WAIT)),
        };
        self.scan(limits).await
    }

    /// Takes a snapshot for a single table. Waits until everything was read or has exceeded its deadline.
    pub async fn full(&mut self) -> Arc<Snapshot> {
        let limits = WaitLimits {
            stall: self.deadline,
            until: None,
        };
        self.scan(limits).await
    }

    async fn scan(&mut self, limits: WaitLimits) -> Arc<Snapshot> {
        let began = clock::monotonic();
        // A list that came after the last tick is processed in this one, which still waits for its own.
        self.has_list = false;
        let jobs = self.initial_jobs(began);
        self.pool.submit(jobs);
        self.wait(Scope::Urgent, limits, |s| s.has_list).await;
        self.take_in_list();
        self.table.swap_use = self.system.swap_use();
        let glances = self.table.glance_jobs(&GlanceOptions {
            now: began,
            focus: &self.focus,
            oom_score: self.oom_score,
            // Only a forged tree can block a glance.
            batch: if self.open_files.is_procfs() { GLANCES_BATCH } else { 1 },
            has_clocks: self.has_own_pids,
            page_events: self.system.machine.page_events,
            tasks: self.births.last.filter(|_| self.has_list).map(|signs| signs.tasks),
            pace: Pace {
                // A single table and a scanner without a budget read every process.
                all: limits.until.is_none() || self.planner.policy().budget.is_none(),
                link_interval: self.exe_check_interval,
                ..Pace::default()
            },
        });
        self.pool.submit(glances);
        self.wait(Scope::Urgent, limits, |_| false).await;
        self.open_files.recover(began);
        if self.open_files.is_exceeded() {
            self.table.close_files(|| self.open_files.is_exceeded());
        }

        let now = clock::monotonic();
        self.table.relate(self.system.machine.sample.swap_used().ok());
        let (pids, candidates) = self.table.candidates(now, &self.focus, &self.planner.policy());
        let chosen = self.planner.choose(now, &candidates);
        let walks = chosen
            .into_iter()
            .filter_map(|c| self.table.walk_job(pids[c.index], c.purpose));
        self.pool.submit(walks);
        self.pool.submit(self.table.facts_jobs(&LookOptions {
            now,
            focus: &self.focus,
            has_clocks: self.has_own_pids,
            exe_check_interval: self.exe_check_interval,
            is_procfs: self.open_files.is_procfs(),
            mounts: self.cgroups.mounts().filter(|_| self.has_own_pids),
        }));
        if self.open_files.is_procfs() {
            self.pool.submit(self.table.shared_mm_jobs());
        }
        self.pool.submit(self.accounting.jobs(now, self.tick == 0));
        self.pool.submit(self.kernel.jobs(now, self.tick == 0));
        let budget = self.planner.policy().budget.filter(|_| limits.until.is_some());
        let held = self.table.held_jobs(now, budget, self.open_files.is_procfs());
        self.pool.submit(held);
        // A single table needs no lists of cgroups.
        let needs_lists = self.has_own_pids && self.tick > 0;
        self.pool.submit(self.cgroups.mounts_job(now, needs_lists));
        self.wait(Scope::All, limits, |_| false).await;
        if self.cgroups.is_on {
            // The cgroups of new processes are only known now.
            let jobs = self.cgroups.jobs(self.table.cgroups(), clock::monotonic());
            self.pool.submit(jobs);
            self.wait(Scope::All, limits, |_| false).await;
        }
        self.pool.stop_waiting(limits.stall);
        self.publish(began)
    }

    fn set_listed(&mut self, list: Option<Reading<PidList>>, signs: Option<Signs>, now: Duration) {
        if let Some(Err(why)) = list {
            // The next tick tries again.
            self.list_fault = Some(why);
            self.births.failed();
            return;
        }
        let list = list.and_then(Result::ok);
        let whole = list.as_ref().filter(|list| list.is_whole()).map(|list| list.base);
        let passed = self.births.listed(now, signs, whole);
        if let Some(list) = list {
            self.list_fault = None;
            self.lists.push((list, passed));
        }
    }

    /// Processes the stored lists, if any. Without one, the known processes are still glanced at.
    fn take_in_list(&mut self) {
        for (list, passed) in self.lists.drain(..) {
            self.table.set_list(&list, |pid| {
                passed.is_some_and(|(before, after)| may_be_reused(pid.into(), before, after))
            });
        }
    }

    /// Returns the jobs that every tick starts with, except those that have not returned since the last one.
    fn initial_jobs(&mut self, now: Duration) -> Vec<Job> {
        let mut jobs = Vec::new();
        if !std::mem::replace(&mut self.is_listing, true) {
            jobs.push(Job::List {
                births: self.births,
                known: self.table.len(),
            });
        }
        jobs.extend(self.system.jobs(now, !self.open_files.is_procfs()));
        jobs
    }

    /// Waits until `is_enough` is true, or nothing is left to wait for within the limits.
    async fn wait(&mut self, scope: Scope, limits: WaitLimits, is_enough: impl Fn(&Self) -> bool) {
        loop {
            // In this order, an output that comes between the two calls makes the loop run once more.
            let is_settled = self.pool.is_settled(scope, limits.stall);
            let has_more = self.take_in_outcomes();
            if is_enough(self) || (is_settled && !has_more) {
                return;
            }
            match limits.until {
                Some(until) if clock::monotonic() >= until => return,
                // No thread could be started, so there is nothing to wait for.
                None if self.pool.threads() == 0 => return,
                _ => {}
            }
            tokio::select! {
                () = self.pool.arrival() => {}
                () = tokio::time::sleep(POLL) => self.pool.supervise(),
            }
        }
    }

    /// Handles the outputs that have come; returns true if they require more reads.
    fn take_in_outcomes(&mut self) -> bool {
        let now = clock::monotonic();
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.pool.drain(&mut outcomes);
        let mut jobs = Vec::new();
        for outcome in outcomes.drain(..) {
            match outcome {
                Outcome::List { list, signs } => {
                    self.is_listing = false;
                    self.has_list = true;
                    self.set_listed(list, signs, now);
                }
                Outcome::System(file, update) => {
                    self.system.take_in(file, update, !self.open_files.is_procfs());
                }
                Outcome::Scope(reading) => self.system.take_in_scope(reading),
                Outcome::Accounting(file, update) => self.accounting.take_in(file, update),
                Outcome::MemoryMounts(found) => self.accounting.take_in_mounts(found, &mut jobs),
                Outcome::MemoryMount(device, held) => self.accounting.take_in_held(device, held),
                Outcome::Kernel(table) => self.kernel.take_in(table),
                Outcome::OomKills(found) => self.oom.take_in(found),
                Outcome::Mounts(mounts) => self.cgroups.set_mounts(mounts, now),
                Outcome::Cgroups(job, figures) => self.cgroups.set_figures(job, figures, now),
                Outcome::CloseLook(id, result) => self.close_looks.take_in(id, result),
                other => {
                    if let Outcome::Walk {
                        purpose,
                        expected,
                        result,
                        ..
                    } = &other
                    {
                        self.planner.charge(*purpose, *expected, result.cost + result.extra);
                    }
                    self.table.take_in(other, now, &mut jobs);
                }
            }
        }
        self.outcomes = outcomes;
        let has_more = !jobs.is_empty();
        self.pool.submit(jobs);
        has_more
    }

    fn publish(&mut self, began: Duration) -> Arc<Snapshot> {
        self.tick += 1;
        let now = clock::monotonic();
        let running = RunningReads::new(&self.pool, now);
        let is_late = |key| running.is_late(key, self.deadline);
        let doubtful = self.table.judge_twins();
        self.table.divide_held();
        let (rows, changes) = self.table.rows(&running, self.deadline);
        let (processes, changes) = match self.list_fault {
            None => (Ok(rows), changes),
            Some(Missing::Pending) if is_late(JobKey::List) => (Err(Missing::TimedOut), None),
            Some(why) => (Err(why), None),
        };
        let (walks, walked) = self.table.count_walks();
        let system = self.system.sample(&self.accounting, is_late);
        let repeats = match &processes {
            Ok(rows) if self.has_own_pids => repeats(rows, std::process::id()).into(),
            _ => Arc::default(),
        };
        let snapshot = Arc::new(Snapshot {
            time: SystemTime::now(),
            monotonic: now,
            tick: self.tick,
            host: Arc::clone(&self.system.machine.host),
            boot_id: self.system.machine.boot_id.clone(),
            interval: self.interval,
            sampling: Sampling {
                walks,
                walked,
                budget: self.planner.policy().budget,
                waiting: self.planner.waiting(),
                stuck: running.count_late(self.deadline),
                doubtful,
                threads: self.pool.threads(),
                took: now.saturating_sub(began),
            },
            own: clock::self_cost(),
            accounting: match self.system.scope.as_ref().filter(|_| system.scope.is_some()) {
                Some(scope) => Arc::new(scope.accounting()),
                None => self.accounting.publish(is_late),
            },
            system,
            kernel: self.kernel.publish(is_late),
            oom_kills: Arc::clone(&self.oom.kills),
            processes,
            changes,
            cgroups: self.cgroups.publish(&running, self.deadline),
            jvms: Arc::clone(&self.close_looks.heaps),
            address_limits: Arc::clone(&self.close_looks.limits),
            repeats,
            fleet: None,
        });
        // These reads appear in the next snapshot.
        let close_looks = self.close_looks.follow(&snapshot);
        self.pool.submit(close_looks);
        self.pool.submit(self.oom.follow(snapshot.system.oom_kill));
        self.table
            .set_published(snapshot.processes.is_ok().then_some(&snapshot));
        snapshot
    }
}

/// Maximum number of ancestors that are checked. Rows of a forged tree may be each other's parents.
const MAX_DEPTH: usize = 64;

/// Returns the pids of the processes whose command lines repeat zmtop's own arguments, in which the words of a filter
/// stand: zmtop itself, and its ancestors that started it with these words (`sh -c 'zmtop ps train'`, `watch`, `sudo`).
/// Both the result and `rows` are in order of pid.
fn repeats(rows: &[ProcessSample], own_pid: u32) -> Vec<u32> {
    let row = |pid: u32| {
        let at = rows.binary_search_by_key(&pid, |row| row.id.pid).ok()?;
        Some(&rows[at])
    };
    let Some(own) = row(own_pid) else { return Vec::new() };
    let line = own.facts.cmdline.as_deref().unwrap_or_default();
    let arguments = line.iter().position(|b| *b == 0).map_or(&[][..], |at| &line[at..]);
    let arguments = unquoted(arguments);
    let ancestors = std::iter::successors(row(own.stat.ppid), |row_of| row(row_of.stat.ppid));
    let repeating = ancestors.take(MAX_DEPTH).filter(|ancestor| {
        let line = ancestor.facts.cmdline.as_deref().unwrap_or_default();
        !arguments.is_empty() && contains(&unquoted(line), &arguments)
    });
    let mut pids: Vec<u32> = repeating.map(|ancestor| ancestor.id.pid).chain([own_pid]).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Returns a command line without quotes and backslashes, which a shell takes away, and with single spaces.
fn unquoted(line: &[u8]) -> Vec<u8> {
    let kept: Vec<u8> = line
        .iter()
        .copied()
        .filter(|b| !matches!(b, b'\'' | b'"' | b'\\'))
        .collect();
    let words = kept
        .split(|b| *b == 0 || b.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
