//! Takes snapshots, one per tick.

mod cgroups;
mod close_looks;
mod exits;
mod heaps;
mod job;
mod killers;
mod machine;
mod mapped;
mod table;

use std::sync::Arc;
use std::time::Duration;

use cgroups::Cgroups;
use close_looks::CloseLooks;
use exits::Turnover;
use heaps::Heaps;
use job::{Job, JobKey, Pool, RunningReads, Update, job};
use killers::Killers;
use machine::{Accounting, Inspector, KernelReader, OomWatch, SystemFiles};
use mapped::MappedReads;
use table::Table;

use super::policy::births::{Births, Listing, Signs, may_be_reused};
use super::policy::plan::Planner;
use super::reading::Context;
use super::reading::counters::CounterReader;
use super::reading::glance::{Extras, signs};
use super::reading::pool::Scope;
use super::reading::shares::Shares;
use super::reading::target::OpenFiles;
use super::reading::walk::{WalkRequest, WalkResult};
use super::{Needs, Options};
use crate::model::{Identity, Missing, ProcessSample, Reading, Sampling, Snapshot};
use crate::proc::pids::{self, PidList};
use crate::proc::{clock, files};

/// Time between checks for blocked threads: so short that one blocked read does not delay a tick visibly.
const POLL: Duration = Duration::from_millis(10);
/// Silence after which a tick no longer waits for a read.
const STALL: Duration = Duration::from_millis(100);
/// Maximum time that a tick waits for walks, whatever the interval, so that figures are shown by then.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// Time without progress after which a comparison of address spaces is given up. Each takes a µs.
const COMPARISON_HOLDS: Duration = Duration::from_secs(10);
/// Maximum number of times that a single table compares them again.
const MAX_REPEATS: usize = 3;
/// Descriptors kept for other uses, in addition to those that stuck readers may hold.
const RESERVE: usize = 64;

/// Takes snapshots. Must be driven on a tokio runtime with its timer enabled.
pub struct Scanner {
    interval: Duration,
    deadline: Duration,
    open_files: Arc<OpenFiles>,
    /// The pids of the tree are zmtop's own, so the lists of cgroups apply to it.
    has_own_pids: bool,
    counters: Arc<CounterReader>,
    pool: Pool,
    table: Table,
    system: SystemFiles,
    accounting: Accounting,
    inspector: Inspector,
    kernel: KernelReader,
    oom: OomWatch,
    killers: Killers,
    turnover: Turnover,
    is_listing: bool,
    /// The lists that were not processed yet, each with the last allocated pid before it and at its time.
    lists: Vec<(PidList, Option<(u64, u64)>)>,
    list_fault: Option<Missing>,
    births: Births,
    has_list: bool,
    cgroups: Cgroups,
    close_looks: CloseLooks,
    heaps: Heaps,
    mapped: MappedReads,
    planner: Planner,
    tick: u64,
    updates: Vec<Update>,
    /// The time of the updates that are being applied, and the jobs that they require.
    now: Duration,
    jobs: Vec<Job>,
}

#[derive(Clone, Copy)]
struct WaitLimits {
    /// Time after which the scanner stops waiting for a silent read, if no other result arrives either.
    stall: Duration,
    /// The end of the wait, on the monotonic clock; `None` for a single table.
    until: Option<Duration>,
    /// The time from which on a single table waits only while some read runs or is runnable. The memory locks of many processes can be
    /// held for seconds each.
    until_idle: Duration,
}

/// The time of [`WaitLimits::until_idle`] after the start.
const MAX_IDLE_WAIT: Duration = Duration::from_secs(5);

impl Scanner {
    /// Creates a scanner. Raises the process's limit on open files as far as allowed, to hold files of each process
    /// open.
    pub fn new(options: &Options) -> Self {
        let threads = options.reader_threads();
        let open_files = OpenFiles::new(&options.proc_root, RESERVE + threads + options.max_stuck);
        let open_files = Arc::new(open_files);
        let page = rustix::param::page_size() as u64;
        let counters = Arc::new(CounterReader::new(&options.roots(), page));
        let context = Context {
            roots: options.roots(),
            cgroup: options.cgroup.clone(),
            open_files: Arc::clone(&open_files),
            has_own_pids: open_files.is_procfs && files::has_own_pids(&options.proc_root),
            page,
            counters: Arc::clone(&counters),
            shares: Shares::new(options.max_stuck),
        };
        let (has_own_pids, is_procfs) = (context.has_own_pids, open_files.is_procfs);
        Self {
            interval: options.interval.clamp(Options::SHORTEST, Options::LONGEST),
            deadline: options.deadline,
            open_files,
            has_own_pids,
            counters,
            pool: Pool::new(options, threads, move |read: job::Read, reader| {
                read.run(&context, reader)
            }),
            table: Table::new(has_own_pids, is_procfs, options.exe_check_interval),
            system: SystemFiles::of(options.cgroup.clone()),
            accounting: Accounting::default(),
            inspector: Inspector::default(),
            kernel: KernelReader::default(),
            oom: OomWatch::default(),
            killers: Killers::default(),
            turnover: Turnover::new(options),
            is_listing: false,
            lists: Vec::new(),
            list_fault: Some(Missing::Pending),
            births: Births::default(),
            has_list: false,
            cgroups: Cgroups::default(),
            close_looks: CloseLooks::default(),
            heaps: Heaps::new(options.heaps && has_own_pids),
            mapped: MappedReads::default(),
            planner: Planner::new(options.policy),
            tick: 0,
            updates: Vec::new(),
            now: Duration::ZERO,
            jobs: Vec::new(),
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
        self.table.extras = Extras {
            oom_score: needs.contains(Needs::OOM_SCORE),
            peak: needs.contains(Needs::PEAK),
            page_tables: needs.contains(Needs::PAGE_TABLES),
        };
        self.table.wants_tables = needs.contains(Needs::MANY_PAGE_TABLES);
        self.cgroups.set(
            needs.contains(Needs::CGROUP_FIGURES),
            needs.contains(Needs::CGROUP_DETAILS),
        );
        self.accounting.turns.show(needs.contains(Needs::ACCOUNT));
        self.kernel.slab.show(needs.contains(Needs::SLAB));
        self.kernel.sites.show(needs.contains(Needs::SITES));
        self.table.set_held(needs.contains(Needs::HELD));
        self.mapped.show(needs.contains(Needs::MAPPED));
        self.turnover.show(needs.contains(Needs::EXITS));
    }

    pub fn set_focus(&mut self, ids: Vec<Identity>) {
        self.table.focus = ids.into_iter().collect();
    }

    /// Chooses a cgroup to read in addition to the machine, by its path.
    pub fn set_inspected(&mut self, path: Option<Arc<[u8]>>) {
        self.inspector.set(path);
    }

    /// Takes a snapshot. Waits as long as more results keep coming, but at most 1 s, or the interval if that is less.
    /// Later results are in a later snapshot.
    pub async fn tick(&mut self) -> Arc<Snapshot> {
        let until = clock::monotonic() + self.interval.min(MAX_WAIT);
        self.scan(STALL.min(self.deadline), Some(until)).await
    }

    /// Takes a snapshot for a single table. Waits until everything was read or has exceeded its deadline,
    /// after five seconds only while some read runs.
    pub async fn full(&mut self) -> Arc<Snapshot> {
        self.scan(self.deadline, None).await
    }

    async fn scan(&mut self, stall: Duration, until: Option<Duration>) -> Arc<Snapshot> {
        let began = clock::monotonic();
        let limits = WaitLimits {
            stall,
            until,
            until_idle: began + MAX_IDLE_WAIT,
        };
        // A list that came after the last tick is processed in this one, which still waits for its own.
        self.has_list = false;
        let jobs = self.initial_jobs(began);
        self.pool.submit(jobs);
        self.wait(Scope::Urgent, limits, |s| s.has_list).await;
        self.take_in_list();
        self.table.swap_use = self.system.swap_use();
        self.table.choose_table_reads(&self.system.machine.sample);
        let events = self.system.machine.page_events;
        let tasks = self.births.last.filter(|_| self.has_list).map(|signs| signs.tasks);
        // A single table and a scanner without a budget read every process.
        let all = limits.until.is_none() || self.planner.policy.budget.is_none();
        self.pool.submit(self.table.glance_jobs(began, events, tasks, all));
        self.wait(Scope::Urgent, limits, |_| false).await;
        self.open_files.recover(began);
        if self.open_files.is_exceeded() {
            self.table.close_files(|| self.open_files.is_exceeded());
        }

        let now = clock::monotonic();
        self.table.relate(self.system.machine.sample.swap_used().ok());
        let (pids, candidates) = self
            .table
            .candidates(now, &self.planner.policy, self.counters.is_merging());
        let chosen = self.planner.choose(now, &candidates);
        let walks = chosen
            .into_iter()
            .filter_map(|c| self.table.walk_job(pids[c.index], c.purpose));
        self.pool.submit(walks);
        let mounts = self.cgroups.mounts().filter(|_| self.has_own_pids);
        self.pool.submit(self.table.facts_jobs(now, mounts.as_ref()));
        self.give_up_comparison(now, COMPARISON_HOLDS.max(self.deadline));
        self.pool.submit(self.table.shared_mm_job(now, limits.until.is_none()));
        self.pool.submit(self.accounting.jobs(now, self.tick == 0));
        self.pool.submit(self.inspector.job(now));
        self.pool
            .submit(self.kernel.jobs(now, self.tick == 0, self.cgroups.mounts()));
        let budget = self.planner.policy.budget.filter(|_| limits.until.is_some());
        self.pool.submit(self.table.held_jobs(now, budget));
        let mapped = self.mapped.jobs(now, self.table.stats(), limits.until.is_some());
        self.pool.submit(mapped);
        // A single table needs neither lists of cgroups nor their limits.
        let is_first = self.tick == 0;
        self.pool.submit(self.cgroups.mounts_job(now, !is_first));
        self.wait(Scope::All, limits, |_| false).await;
        if limits.until.is_none() {
            self.repeat_comparison(limits).await;
        }
        if !is_first || self.cgroups.is_on {
            // The cgroups of new processes are only known now.
            let touched = self.table.touched_cgroups();
            let jobs = self.cgroups.jobs(self.table.cgroups(), &touched, clock::monotonic());
            self.pool.submit(jobs);
            self.wait(Scope::All, limits, |_| false).await;
        }
        self.pool.stop_waiting(limits.stall);
        self.publish(began)
    }

    /// Compares the address spaces again, without those processes with which the comparison does not return.
    async fn repeat_comparison(&mut self, limits: WaitLimits) {
        for _ in 0..MAX_REPEATS {
            let now = clock::monotonic();
            if !self.give_up_comparison(now, self.deadline) {
                return;
            }
            self.pool.submit(self.table.shared_mm_job(now, true));
            self.wait(Scope::All, limits, |_| false).await;
        }
    }

    fn give_up_comparison(&mut self, now: Duration, allowed: Duration) -> bool {
        self.table
            .leave_out_stuck(now, allowed, |key| self.pool.running().get(&key).copied())
    }

    fn set_listed(&mut self, list: Option<Reading<PidList>>, signs: Option<Signs>) {
        (self.is_listing, self.has_list) = (false, true);
        if let Some(Err(why)) = list {
            // The next tick tries again.
            self.list_fault = Some(why);
            self.births.failed();
            return;
        }
        let list = list.and_then(Result::ok);
        let whole = list.as_ref().filter(|list| list.is_whole()).map(|list| list.base);
        let passed = self.births.listed(self.now, signs, whole);
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
            let (births, known) = (self.births, self.table.len());
            let list = job(
                JobKey::List,
                500,
                move |context, reader| list(births, known, context, reader.buf),
                |scanner, (list, signs)| scanner.set_listed(list, signs),
            );
            jobs.push(Job {
                // Glances are submitted because of the list while files of the system are still being read.
                is_announced: true,
                ..list.urgent()
            });
        }
        jobs.extend(self.system.jobs(now, !self.open_files.is_procfs));
        jobs
    }

    /// Waits until `is_enough` is true, or nothing is left to wait for within the limits.
    async fn wait(&mut self, scope: Scope, limits: WaitLimits, is_enough: impl Fn(&Self) -> bool) {
        loop {
            // In this order, an output that comes between the two calls makes the loop run once more.
            let is_settled = self.pool.is_settled(scope, limits.stall);
            let has_more = self.apply_updates();
            if is_enough(self) || (is_settled && !has_more) {
                return;
            }
            let now = clock::monotonic();
            let is_over = match limits.until {
                Some(until) => now >= until,
                // No thread could be started, so there is nothing to wait for. A table needs the list.
                None if self.pool.threads() == 0 => true,
                None => self.has_list && now >= limits.until_idle && !self.pool.runs(),
            };
            if is_over {
                return;
            }
            tokio::select! {
                () = self.pool.arrival() => {}
                () = tokio::time::sleep(POLL) => self.pool.supervise(),
            }
        }
    }

    /// Applies the updates that have arrived; returns true if they require more reads.
    fn apply_updates(&mut self) -> bool {
        self.now = clock::monotonic();
        let mut updates = std::mem::take(&mut self.updates);
        self.pool.drain(&mut updates);
        updates.drain(..).for_each(|update| update(self));
        self.updates = updates;
        let jobs = std::mem::take(&mut self.jobs);
        let has_more = !jobs.is_empty();
        self.pool.submit(jobs);
        has_more
    }

    /// Applies the result of a walk; `None` if it was not started.
    fn walked(&mut self, request: &WalkRequest, result: Option<&WalkResult>) {
        let cost = result.map_or(Duration::ZERO, |result| result.cost + result.extra);
        self.planner.charge(request.purpose, request.expected, cost);
        match result {
            Some(result) => self.table.walked(request, result),
            None => self.table.put_off(&request.process),
        }
    }

    /// Stores the kills by daemons since the last tick.
    fn find_sent(&mut self) {
        let last = self.table.published();
        let killed = self.killers.take(last, self.now, |id| !self.table.is_running(id));
        let chosen = self.system.place();
        for sent in killed {
            if chosen.is_none_or(|place| sent.victim.is_within(&place.path)) {
                self.oom.add_sent(sent.name, sent.at, sent.victim);
            }
        }
    }

    fn publish(&mut self, began: Duration) -> Arc<Snapshot> {
        self.tick += 1;
        let clock::Moment {
            monotonic: now,
            since_boot,
            time,
        } = clock::moment();
        let running = RunningReads {
            since: self.pool.running(),
            now,
            deadline: self.deadline,
        };
        let doubtful = self.table.judge_twins();
        self.table.divide_held();
        self.find_sent();
        let (rows, changes) = self.table.rows(&running);
        let exits = self
            .turnover
            .take(self.table.published(), &rows, self.births.last, (time, now));
        let (processes, changes) = match self.list_fault {
            None => (Ok(rows), changes),
            Some(Missing::Pending) if running.is_late(JobKey::List) => (Err(Missing::TimedOut), None),
            Some(why) => (Err(why), None),
        };
        let system = self.system.sample(&self.accounting, &running, since_boot);
        let repeats = match &processes {
            Ok(rows) if self.has_own_pids => repeats(rows, std::process::id()).into(),
            _ => Arc::default(),
        };
        let snapshot = Arc::new(Snapshot {
            time,
            monotonic: now,
            tick: self.tick,
            host: Arc::clone(&self.system.machine.host),
            boot_id: self.system.machine.boot_id.clone(),
            interval: self.interval,
            sampling: Sampling {
                walks: std::mem::take(&mut self.table.walks),
                walked: std::mem::take(&mut self.table.walk_time),
                budget: self.planner.policy.budget,
                waiting: self.planner.waiting,
                stuck: running.count_late(),
                doubtful,
                threads: self.pool.threads(),
                took: now.saturating_sub(began),
            },
            own: clock::self_cost(),
            accounting: match self.system.scope.as_ref().filter(|_| system.scope.is_some()) {
                Some(scope) => Arc::new(scope.accounting()),
                None => self.accounting.publish(&running),
            },
            system,
            kernel: self.kernel.publish(&running),
            oom_kills: Arc::clone(&self.oom.kills),
            oom_counts: self.oom.counts,
            killers: Arc::clone(&self.killers.states),
            exits: Arc::new(exits),
            processes,
            changes,
            cgroups: self.cgroups.publish(&running),
            inspected: self
                .inspector
                .publish(&self.system.machine.sample, &self.accounting, &running),
            jvms: Arc::clone(&self.close_looks.heaps),
            heaps: Arc::clone(&self.heaps.found),
            address_limits: Arc::clone(&self.close_looks.limits),
            takers: Arc::default(),
            mapped: Arc::clone(&self.mapped.found),
            repeats,
            fleet: None,
        });
        // These reads appear in the next snapshot.
        let close_looks = self.close_looks.follow(&snapshot);
        self.pool.submit(close_looks);
        let heaps = self.heaps.follow(&snapshot);
        self.pool.submit(heaps);
        let killers = self.killers.follow(&snapshot);
        self.pool.submit(killers);
        if snapshot.system.scope.is_some() {
            let (kills, is_made) = (snapshot.system.oom_kill, !self.open_files.is_procfs);
            let place = self.system.scope.as_ref().map(|scope| &scope.place);
            self.pool.submit(self.oom.follow(kills, place, is_made));
        }
        self.table
            .set_published(snapshot.processes.is_ok().then_some(&snapshot));
        snapshot
    }
}

/// Lists the processes, as far as they are to be read; `None` if no process was born.
fn list(births: Births, known: usize, context: &Context, buf: &mut [u8]) -> (Option<Reading<PidList>>, Option<Signs>) {
    // Read the signs first, so that a process born in between is seen the next time.
    let signs = signs(context, buf);
    if let Some(place) = &context.cgroup {
        // A process that was born long ago may be moved there at any time.
        let list = place.processes(&context.roots, context.has_own_pids, buf);
        return (Some(list), signs);
    }
    let proc = context.roots.proc.as_os_str().as_encoded_bytes();
    let list = match births.listing(clock::monotonic(), known, signs) {
        Listing::Nothing => None,
        Listing::Born(range, base) => Some(pids::within(proc, range, base)),
        Listing::All => Some(pids::all(proc)),
    };
    (list, signs)
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

/// Returns a command line without quotes and backslashes, which a shell removes, and with single spaces.
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
