//! Equal siblings folded into one row each.
//!
//! [`Siblings`] knows which processes of a snapshot are equal, and looks only at what changed from one snapshot to the next.
//! [`Folds`] are the rows: the members that are shown, and their sums. A process that grows or leaks while most of its equals
//! do not is no member: it has a row of its own.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use crate::columns::{ColumnId, OrderKey, Value};
use crate::group::{Group, GroupBy, GroupKey, GroupNames, RowKey, Totals, common_line, write_siblings_name};
use crate::history::{History, RowHistory};
use crate::model::{Identity, ProcessSample, Snapshot};
use crate::query::{RowRef, RowSource};
use crate::trend::{Judgement, Verdict};

/// The least number of equal siblings that are folded: two rows are no crowd.
const MIN_EQUAL: usize = 3;
/// The most members whose pasts are looked at one by one, for the chart and the verdict of their sum. Of more, those that
/// grow have rows of their own.
const MAX_WITH_PAST: usize = 256;
/// Members that are summed together, so that of many few are added where one changed.
const CHUNK: usize = 64;
/// Stands for no class, and for no fold.
const NONE: u32 = u32::MAX;

/// The classes of equal siblings among the processes of a snapshot.
#[derive(Debug, Default)]
pub struct Siblings {
    hasher: RandomState,
    /// The tick of the snapshot, and the number of those that the engine had taken in with it.
    tick: u64,
    pushed: u64,
    pids: Vec<u32>,
    /// The class of each process, by its place in the snapshot.
    of: Vec<u32>,
    classes: Vec<Class>,
    by_digest: HashMap<u64, u32>,
    free: Vec<u32>,
    /// The number of classes that are large enough to be folded.
    large: usize,
    /// Differs where the members of a large class may.
    version: u64,
    name: Vec<u8>,
}

/// Equal siblings.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// Digest of the name, keyed anew each time that zmtop runs, so that nobody can make two names of one digest.
    digest: u64,
    count: usize,
}

impl Siblings {
    /// Takes in a snapshot, the `pushed`th of the engine; of the one that follows the last, only what changed.
    pub(crate) fn take_in(&mut self, snapshot: &Snapshot, pushed: u64) {
        if self.pushed == pushed && self.of.len() == snapshot.rows().len() {
            return;
        }
        let changes = snapshot.changes_since(self.tick).filter(|_| self.pushed + 1 == pushed);
        let rows = snapshot.rows();
        if let Some(changes) = changes {
            let is_new = |at: &u32| {
                let row = rows.get(*at as usize);
                row.is_some_and(|row| self.pids.binary_search(&row.id.pid).is_err())
            };
            if !changes.removed.is_empty() || changes.rows.iter().any(is_new) {
                self.shift(rows);
            }
            for at in &changes.rows {
                self.classify(*at as usize, rows);
            }
        } else {
            self.shift(&[]);
            self.shift(rows);
            (0..rows.len()).for_each(|at| self.classify(at, rows));
        }
        (self.tick, self.pushed) = (snapshot.tick, pushed);
    }

    /// Takes in the places of the rows: those that are new have no class, those that are gone leave theirs.
    fn shift(&mut self, rows: &[ProcessSample]) {
        let before = std::mem::take(&mut self.pids)
            .into_iter()
            .zip(std::mem::take(&mut self.of));
        let mut before = before.peekable();
        let mut of = Vec::with_capacity(rows.len());
        for row in rows {
            while let Some((_, class)) = before.next_if(|(pid, _)| *pid < row.id.pid) {
                self.leave(class);
            }
            of.push(
                before
                    .next_if(|(pid, _)| *pid == row.id.pid)
                    .map_or(NONE, |(_, class)| class),
            );
        }
        before.for_each(|(_, class)| self.leave(class));
        self.of = of;
        self.pids = rows.iter().map(|row| row.id.pid).collect();
        self.version += 1;
    }

    /// Puts a process into its class.
    fn classify(&mut self, at: usize, rows: &[ProcessSample]) {
        let (Some(row), Some(before)) = (rows.get(at), self.of.get(at).copied()) else {
            return;
        };
        self.name.clear();
        let digest = write_siblings_name(row, &mut self.name).then(|| self.hasher.hash_one(&self.name));
        if self.classes.get(before as usize).map(|class| class.digest) == digest {
            return;
        }
        let class = digest.map_or(NONE, |digest| self.join(digest));
        self.leave(before);
        self.of[at] = class;
    }

    fn join(&mut self, digest: u64) -> u32 {
        let (classes, free) = (&mut self.classes, &mut self.free);
        let number = *self.by_digest.entry(digest).or_insert_with(|| {
            let number = free.pop().unwrap_or(classes.len() as u32);
            let class = Class { digest, count: 0 };
            match classes.get_mut(number as usize) {
                Some(slot) => *slot = class,
                None => classes.push(class),
            }
            number
        });
        let class = &mut self.classes[number as usize];
        class.count += 1;
        self.large += usize::from(class.count == MIN_EQUAL);
        self.version += u64::from(class.count >= MIN_EQUAL);
        number
    }

    fn leave(&mut self, number: u32) {
        let Some(class) = self.classes.get_mut(number as usize) else {
            return;
        };
        self.large -= usize::from(class.count == MIN_EQUAL);
        self.version += u64::from(class.count >= MIN_EQUAL);
        class.count -= 1;
        if class.count == 0 {
            self.by_digest.remove(&class.digest);
            self.free.push(number);
        }
    }

    /// Returns the class of a process, if it is large enough to be folded.
    fn large_class(&self, at: usize) -> Option<usize> {
        let number = *self.of.get(at)? as usize;
        let class = self.classes.get(number)?;
        (class.count >= MIN_EQUAL).then_some(number)
    }
}

/// What the rows that are folded depend on, beside the figures.
#[derive(Debug, Default)]
struct Basis {
    version: u64,
    growing: Vec<(Identity, Verdict)>,
    unfolded: HashSet<GroupKey>,
}

impl Basis {
    /// Compares it with the present without a copy of either: this runs for each snapshot.
    fn holds(&self, siblings: &Siblings, source: &RowSource<'_>, unfolded: &HashSet<GroupKey>) -> bool {
        self.version == siblings.version
            && self.unfolded == *unfolded
            && growing(siblings, source).eq(self.growing.iter().copied())
    }
}

/// Returns the members of large classes that grow or leak, in order of identity.
fn growing(siblings: &Siblings, source: &RowSource<'_>) -> impl Iterator<Item = (Identity, Verdict)> {
    let snapshot = source.snapshot;
    let is_in_large = move |id| snapshot.place(id).is_some_and(|at| siblings.large_class(at).is_some());
    let growing = source.history.into_iter().flat_map(History::growing);
    growing
        .map(|(id, row)| (id, row.trend().verdict))
        .filter(move |(id, verdict)| *verdict >= Verdict::Growing && is_in_large(*id))
}

/// The rows that stand for several processes each.
#[derive(Debug, Default)]
pub struct Folds {
    list: Vec<Fold>,
    /// The number of the fold that each process is in, by its place; empty where there is none.
    of: Vec<u32>,
    basis: Basis,
}

/// Equal siblings as one row.
#[derive(Debug)]
pub struct Fold {
    /// The members that are shown by it, and their sums.
    pub group: Group,
    /// What the sum does, by the members that do it most; `None` of too many.
    pub trend: Option<Judgement>,
    chunks: Vec<Totals>,
    /// Some member has the address space of another process.
    shares: bool,
}

impl Folds {
    /// Folds the processes that `may_fold`, but for those of the `unfolded` groups.
    pub(crate) fn new(
        siblings: &Siblings,
        source: &RowSource<'_>,
        unfolded: &HashSet<GroupKey>,
        may_fold: impl Fn(usize) -> bool,
    ) -> Self {
        if siblings.large == 0 {
            return Self::default();
        }
        let basis = Basis {
            version: siblings.version,
            growing: growing(siblings, source).collect(),
            unfolded: unfolded.clone(),
        };
        let rows = source.snapshot.rows();
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); siblings.classes.len()];
        for at in 0..siblings.of.len().min(rows.len()) {
            if let Some(class) = siblings.large_class(at).filter(|_| may_fold(at)) {
                members[class].push(at);
            }
        }
        let mut growing: HashMap<usize, Vec<(usize, Verdict)>> = HashMap::new();
        for (id, verdict) in &basis.growing {
            if let Some(at) = source.snapshot.place(*id)
                && let Some(class) = siblings.large_class(at)
            {
                growing.entry(class).or_default().push((at, *verdict));
            }
        }
        for (class, growing) in growing {
            stand_out(&mut members[class], &growing);
        }
        members.retain(|members| members.len() >= MIN_EQUAL);
        // In the order of their first members, as groups are.
        members.sort_unstable_by_key(|members| members[0]);
        let names = GroupNames::new(rows);
        let key = |first: usize| GroupKey {
            by: GroupBy::Siblings,
            name: names.name_of(&rows[first], GroupBy::Siblings).map(Into::into),
        };
        let mut folds = Self {
            of: Vec::new(),
            list: Vec::new(),
            basis,
        };
        for members in members {
            let key = key(members[0]);
            if !unfolded.contains(&key) {
                folds.list.push(Fold::new(key, &members, source));
            }
        }
        if !folds.list.is_empty() {
            folds.of = vec![NONE; rows.len()];
        }
        for (number, fold) in (0..).zip(&folds.list) {
            fold.group.members.iter().for_each(|at| folds.of[*at] = number);
        }
        folds
    }

    /// Updates the folds for the next snapshot. `pushed` are the indices of the processes whose figures may have changed. If
    /// the same processes are still folded, recomputes only the sums of the chunks that contain these.
    pub(crate) fn update(
        self,
        siblings: &Siblings,
        source: &RowSource<'_>,
        unfolded: &HashSet<GroupKey>,
        pushed: &[u32],
    ) -> Self {
        if siblings.large == 0 {
            return Self::default();
        }
        if !self.basis.holds(siblings, source, unfolded) {
            return Self::new(siblings, source, unfolded, |_| true);
        }
        let mut folds = self;
        if folds.list.is_empty() {
            return folds;
        }
        let mut touched: Vec<(u32, usize)> = Vec::new();
        for at in pushed {
            let number = folds.of.get(*at as usize).copied().unwrap_or(NONE);
            if let Some(fold) = folds.list.get(number as usize) {
                let member = fold.group.members.binary_search(&(*at as usize)).unwrap_or(0);
                touched.push((number, member / CHUNK));
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for same in touched.chunk_by(|a, b| a.0 == b.0) {
            folds.list[same[0].0 as usize].sum_anew(source, same.iter().map(|(_, chunk)| *chunk));
        }
        folds
    }

    /// Returns the row that stands for a process, by its place.
    pub fn of(&self, at: usize) -> Option<&Fold> {
        self.list.get(*self.of.get(at)? as usize)
    }

    /// Returns the row of that key, which stands at the place of its first member.
    pub fn get_at(&self, first: usize, key: &RowKey) -> Option<&Fold> {
        let key = key.group()?;
        self.of(first).filter(|fold| fold.group.key == *key)
    }

    /// Returns the row of that key.
    pub fn get(&self, key: &RowKey) -> Option<&Fold> {
        let key = key.group().filter(|key| key.by == GroupBy::Siblings)?;
        self.list.iter().find(|fold| fold.group.key == *key)
    }

    /// Returns the row that stands for a process, or is of that key.
    pub fn holding(&self, key: &RowKey, snapshot: &Snapshot) -> Option<&Fold> {
        match key {
            RowKey::Process(id) => self.of(snapshot.place(*id)?),
            other => self.get(other),
        }
    }

    /// Returns true if nothing is folded.
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the rows, in the order of their first members.
    pub fn iter(&self) -> impl Iterator<Item = &Fold> {
        self.list.iter()
    }

    /// Returns true if a process is folded, and another one of its fold has the row.
    pub(super) fn hides(&self, at: usize) -> bool {
        self.of(at).is_some_and(|fold| fold.first() != at)
    }

    /// Folds rows that are in the order of their `keys`.
    pub(crate) fn fold(
        &self,
        source: &RowSource<'_>,
        rows: &[RowRef],
        keys: &[OrderKey],
        (sort, descending): (ColumnId, bool),
    ) -> Vec<RowRef> {
        let keyed = source.for_order(sort);
        let mut own: Vec<(OrderKey, &Fold)> = self
            .list
            .iter()
            .map(|fold| (fold.order_key(&keyed, sort, descending, |at| keys[at].clone()), fold))
            .collect();
        let first = |fold: &Fold| fold.first();
        own.sort_by(|a, b| a.0.compare(&b.0, descending).then(first(a.1).cmp(&first(b.1))));
        let mut own = own.into_iter().peekable();
        let mut all = Vec::with_capacity(rows.len());
        for row in rows.iter().filter(|row| self.of(row.index).is_none()) {
            let is_before = |(key, fold): &(OrderKey, &Fold)| {
                let order = key.compare(&keys[row.index], descending);
                order.then(fold.first().cmp(&row.index)).is_lt()
            };
            while let Some((_, fold)) = own.next_if(is_before) {
                all.push(fold.row_ref());
            }
            all.push(row.clone());
        }
        all.extend(own.map(|(_, fold)| fold.row_ref()));
        all
    }
}

/// Takes out the members that grow, where they are half of all at most, or the members are too many to tell what their sum
/// does; else those that leak, likewise. The growing ones are in order of their places.
fn stand_out(members: &mut Vec<usize>, growing: &[(usize, Verdict)]) {
    let all = members.len();
    for least in [Verdict::Growing, Verdict::Leaking] {
        let is_one = |at: usize| {
            let found = growing.binary_search_by_key(&at, |(one, _)| *one);
            found.is_ok_and(|found| growing[found].1 >= least)
        };
        let ones = members.iter().filter(|at| is_one(**at)).count();
        if ones * 2 <= all || all > MAX_WITH_PAST {
            return members.retain(|at| !is_one(*at));
        }
    }
}

impl Fold {
    fn new(key: GroupKey, members: &[usize], source: &RowSource<'_>) -> Self {
        let rows = source.snapshot.rows();
        let mut group = Group::new(key);
        // What a history or a mark knows of groups is not of these processes.
        group.whole = false;
        for at in members {
            group.add_member(*at, &rows[*at]);
        }
        let mut fold = Self {
            chunks: vec![Totals::default(); members.len().div_ceil(CHUNK)],
            shares: members.iter().any(|at| rows[*at].shares_mm.is_some()),
            trend: None,
            group,
        };
        if members.len() > MAX_WITH_PAST {
            fold.name_anew(rows);
        }
        fold.sum_anew(source, 0..fold.chunks.len());
        fold
    }

    /// Finds anew what the command lines of the members have in common.
    fn name_anew(&mut self, rows: &[ProcessSample]) {
        let members = &self.group.members;
        let (line, first) = (|at: &usize| rows[*at].facts.cmdline.as_deref().ok(), members[0]);
        let mut command = rows[first].facts.short_command();
        if members.iter().any(|at| line(at) != line(&first)) {
            let others = members.iter().map(|at| rows[*at].facts.short_command());
            command = common_line(&command, others).into();
        }
        if self.group.command.as_deref() != Some(&*command) {
            self.group.command = Some(command.into_owned().into());
        }
    }

    /// Sums up anew the members of some chunks.
    fn sum_anew(&mut self, source: &RowSource<'_>, chunks: impl Iterator<Item = usize>) {
        let rows = source.snapshot.rows();
        let members = &self.group.members;
        let change = |sample: &ProcessSample| source.change(sample);
        for chunk in chunks {
            let part = &members[chunk * CHUNK..members.len().min((chunk + 1) * CHUNK)];
            self.chunks[chunk] = Totals::of(part.iter().map(|at| &rows[*at]), change);
        }
        let mut totals = Totals::default();
        if self.shares {
            totals = Totals::of(members.iter().map(|at| &rows[*at]), change);
        } else {
            self.chunks.iter().for_each(|chunk| totals.add(chunk));
        }
        if totals.memory.is_err() {
            // Then all figures are of RSS.
            totals.change.pss = totals.counted_change;
        }
        self.group.totals = totals;
        if members.len() <= MAX_WITH_PAST {
            let walks = || members.iter().filter_map(|at| rows[*at].walk.as_ref().ok());
            self.group.readable = walks().count();
            self.group.walked = walks().map(|walk| walk.at).min();
            self.trend = judgement(self.pasts(source));
            self.name_anew(rows);
        }
    }

    /// Returns the pasts of the members that have one; none of too many.
    pub fn pasts<'a>(&'a self, source: &RowSource<'a>) -> impl Iterator<Item = &'a RowHistory> + Clone {
        let (history, rows) = (source.history, source.snapshot.rows());
        let members = Some(&self.group.members).filter(|members| members.len() <= MAX_WITH_PAST);
        let members = members.into_iter().flatten();
        members.filter_map(move |at| history?.get(rows.get(*at)?.id))
    }

    /// Returns the identities of the members.
    pub fn ids<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = Identity> + 'a {
        let rows = snapshot.rows();
        self.group.members.iter().filter_map(|at| Some(rows.get(*at)?.id))
    }

    /// Returns the place of the first member.
    pub(super) fn first(&self) -> usize {
        self.group.members[0]
    }

    /// Returns its identity.
    pub(super) fn key(&self) -> RowKey {
        RowKey::Group(self.group.key.clone())
    }

    fn row_ref(&self) -> RowRef {
        RowRef {
            folded: true,
            ..RowRef::flat(self.first(), self.key())
        }
    }

    /// Returns the key that it is sorted by: that of its sum, or where there is none, of the member that comes first.
    pub(super) fn order_key(
        &self,
        source: &RowSource<'_>,
        sort: ColumnId,
        descending: bool,
        of_member: impl Fn(usize) -> OrderKey,
    ) -> OrderKey {
        let (column, row) = (sort.get(), source.fold(self));
        if !matches!((column.value)(&row), Value::Blank) {
            return column.order_key(&row);
        }
        let keys = self.group.members.iter().map(|at| of_member(*at));
        keys.min_by(|a, b| a.compare(b, descending))
            .unwrap_or(OrderKey::MISSING)
    }
}

/// Returns what a sum does: what the member does that alarms most, at the pace of all that do the same.
fn judgement<'a>(members: impl Iterator<Item = &'a RowHistory> + Clone) -> Option<Judgement> {
    let judged = members.map(RowHistory::trend);
    let worst = judged.clone().max_by(|a, b| {
        let order = a.verdict.cmp(&b.verdict);
        order.then(a.slope.total_cmp(&b.slope))
    })?;
    let same = || judged.clone().filter(|one| one.verdict == worst.verdict);
    Some(Judgement {
        slope: same().map(|one| one.slope).sum(),
        flat_since: worst.flat_since.filter(|_| same().all(|one| one.flat_since.is_some())),
        since: same().filter_map(|one| one.since).min(),
        ..*worst
    })
}
