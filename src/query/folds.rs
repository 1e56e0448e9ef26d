//! Equal siblings folded into one row each.
//!
//! [`Siblings`] finds the processes of a snapshot that are equal, and updates only what changed since the previous snapshot.
//! [`Folds`] are the rows with their members and sums. A process that grows or leaks while most of its siblings do not has a
//! row of its own.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use crate::columns::{ColumnId, OrderKey, Value};
use crate::group::{Group, GroupBy, GroupKey, GroupNames, RowKey, Totals, common_line, write_siblings_name};
use crate::history::{History, RowHistory};
use crate::model::{Identity, ProcessSample, Snapshot};
use crate::query::{RowRef, RowSource};
use crate::trend::{Judgement, Verdict};

/// The minimum number of equal siblings that are folded.
const MIN_EQUAL: usize = 3;
/// The maximum number of members whose histories are combined for the chart and the verdict of their sum. If there are more,
/// growing members have rows of their own.
pub const MAX_WITH_PAST: usize = 256;
/// Number of members that are summed together, so that few are added again if one changes.
const CHUNK: usize = 64;
/// Represents no class, and no fold.
const NONE: u32 = u32::MAX;

/// The classes of equal siblings among the processes of a snapshot.
#[derive(Debug, Default)]
pub struct Siblings {
    hasher: RandomState,
    /// The tick of the snapshot, and the number of snapshots that the engine had added by then.
    tick: u64,
    pushed: u64,
    pids: Vec<u32>,
    /// The class of each process, by its index in the snapshot.
    of: Vec<u32>,
    classes: Vec<Class>,
    by_digest: HashMap<u64, u32>,
    free: Vec<u32>,
    /// The number of classes that are large enough to be folded.
    large: usize,
    /// Changes when the members of a large class may have changed.
    version: u64,
    name: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    /// Digest of the name. Its key is random for each run, so that two names with the same digest cannot be constructed.
    digest: u64,
    count: usize,
}

impl Siblings {
    /// Classifies a snapshot, the `pushed`th of the engine. If it follows the last one, only changed rows are classified.
    pub(crate) fn update(&mut self, snapshot: &Snapshot, pushed: u64) {
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

    /// Adjusts to the indices of the rows: new rows have no class yet, and rows that are gone leave theirs.
    fn shift(&mut self, rows: &[ProcessSample]) {
        let (pids, classes) = (std::mem::take(&mut self.pids), std::mem::take(&mut self.of));
        let mut before = pids.into_iter().zip(classes).peekable();
        let mut of = Vec::with_capacity(rows.len());
        for row in rows {
            while let Some((_, class)) = before.next_if(|(pid, _)| *pid < row.id.pid) {
                self.leave(class);
            }
            let same = before.next_if(|(pid, _)| *pid == row.id.pid);
            of.push(same.map_or(NONE, |(_, class)| class));
        }
        before.for_each(|(_, class)| self.leave(class));
        self.of = of;
        self.pids = rows.iter().map(|row| row.id.pid).collect();
        self.version += 1;
    }

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

    /// Returns the class of a process if it is large enough to be folded.
    fn large_class(&self, at: usize) -> Option<usize> {
        let number = *self.of.get(at)? as usize;
        let class = self.classes.get(number)?;
        (class.count >= MIN_EQUAL).then_some(number)
    }
}

/// The inputs on which the members of folds depend.
#[derive(Debug, Default)]
struct Basis {
    version: u64,
    growing: Vec<(Identity, Verdict)>,
    unfolded: HashSet<GroupKey>,
}

impl Basis {
    /// Compares it with the current inputs without copying them: this runs for each snapshot.
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

/// The rows of equal siblings.
#[derive(Debug, Default)]
pub struct Folds {
    /// In the order of their first members.
    pub list: Vec<Fold>,
    /// The number of each process's fold, by its index; empty if there are no folds.
    of: Vec<u32>,
    basis: Basis,
}

/// Equal siblings as one row.
#[derive(Debug)]
pub struct Fold {
    /// The members and their sums.
    pub group: Group,
    /// The judgement on the sum; `None` if there are too many members.
    pub trend: Option<Judgement>,
    chunks: Vec<Totals>,
    /// True if some member shares its address space with another process.
    shares: bool,
}

impl Folds {
    /// Folds the processes that `may_fold`, except members of `unfolded` groups.
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
        let keyed = members.iter().map(|members| (key(members[0]), members));
        let folded = keyed.filter(|(key, _)| !unfolded.contains(key));
        let list: Vec<Fold> = folded.map(|(key, members)| Fold::new(key, members, source)).collect();
        let mut of = Vec::new();
        if !list.is_empty() {
            of.resize(rows.len(), NONE);
        }
        for (number, fold) in (0..).zip(&list) {
            fold.group.members.iter().for_each(|at| of[*at] = number);
        }
        Self { list, of, basis }
    }

    /// Updates the folds for the next snapshot. `pushed` are the indices of the processes whose figures may have changed. If
    /// the same processes are still folded, recomputes only the sums of the chunks that contain these.
    pub(crate) fn update(
        mut self,
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
        if self.list.is_empty() {
            return self;
        }
        let mut touched: Vec<(u32, usize)> = Vec::new();
        for at in pushed {
            let number = self.of.get(*at as usize).copied().unwrap_or(NONE);
            if let Some(fold) = self.list.get(number as usize) {
                let member = fold.group.members.binary_search(&(*at as usize)).unwrap_or(0);
                touched.push((number, member / CHUNK));
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for same in touched.chunk_by(|a, b| a.0 == b.0) {
            self.list[same[0].0 as usize].update_sums(source, same.iter().map(|(_, chunk)| *chunk));
        }
        self
    }

    /// Returns the row that represents a process, by its index.
    pub fn of(&self, at: usize) -> Option<&Fold> {
        self.list.get(*self.of.get(at)? as usize)
    }

    /// Returns the row with this key, whose first member has this index.
    pub fn get_at(&self, first: usize, key: &RowKey) -> Option<&Fold> {
        let key = key.group()?;
        self.of(first).filter(|fold| fold.group.key == *key)
    }

    pub fn get(&self, key: &RowKey) -> Option<&Fold> {
        let key = key.group().filter(|key| key.by == GroupBy::Siblings)?;
        self.list.iter().find(|fold| fold.group.key == *key)
    }

    /// Returns the row that represents a process, or that has this key.
    pub fn holding(&self, key: &RowKey, snapshot: &Snapshot) -> Option<&Fold> {
        match key {
            RowKey::Process(id) => self.of(snapshot.place(*id)?),
            other => self.get(other),
        }
    }

    /// Returns true if a process is represented by the row of another one.
    pub(super) fn hides(&self, at: usize) -> bool {
        self.of(at).is_some_and(|fold| fold.first() != at)
    }

    /// Folds rows that are sorted by their `keys`.
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

/// Removes the growing members if they are at most half of all, or if there are too many members for a verdict on their sum.
/// Otherwise removes the leaking members on the same condition. `growing` is sorted by index.
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
        // Histories and marks of groups do not apply to these processes.
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
            fold.update_name(rows);
        }
        fold.update_sums(source, 0..fold.chunks.len());
        fold
    }

    /// Updates the common command line of the members.
    fn update_name(&mut self, rows: &[ProcessSample]) {
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

    /// Recomputes the sums of some chunks.
    fn update_sums(&mut self, source: &RowSource<'_>, chunks: impl Iterator<Item = usize>) {
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
            // Then all figures are based on RSS.
            totals.change.pss = totals.counted_change;
        }
        self.group.totals = totals;
        if members.len() <= MAX_WITH_PAST {
            let walks = || members.iter().filter_map(|at| rows[*at].walk.as_ref().ok());
            self.group.readable = walks().count();
            self.group.walked = walks().map(|walk| walk.at).min();
            self.trend = judgement(self.pasts(source));
            self.update_name(rows);
        }
    }

    /// Returns the histories of the members; none if there are too many members.
    pub fn pasts<'a>(&'a self, source: &RowSource<'a>) -> impl Iterator<Item = &'a RowHistory> + Clone {
        let (history, rows) = (source.history, source.snapshot.rows());
        let members = Some(&self.group.members).filter(|members| members.len() <= MAX_WITH_PAST);
        let members = members.into_iter().flatten();
        members.filter_map(move |at| history?.get(rows.get(*at)?.id))
    }

    pub fn ids<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = Identity> + 'a {
        let rows = snapshot.rows();
        self.group.members.iter().filter_map(|at| Some(rows.get(*at)?.id))
    }

    /// Returns the index of the first member.
    pub(super) fn first(&self) -> usize {
        self.group.members[0]
    }

    pub(super) fn key(&self) -> RowKey {
        RowKey::Group(self.group.key.clone())
    }

    fn row_ref(&self) -> RowRef {
        RowRef {
            folded: true,
            ..RowRef::flat(self.first(), self.key())
        }
    }

    /// Returns the sort key: the key of the sum, or if that is blank, the first key of a member.
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

/// Returns the judgement on a sum: the worst verdict of a member, with the summed pace of the members that have it.
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
        since: same().filter_map(Judgement::seen_since).min(),
        gap_until: None,
        unwatched: None,
        ..*worst
    })
}
