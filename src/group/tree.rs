//! The forest of processes by parent, and the sums of subtrees.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use crate::group::totals::{Change, SharedSpaces, Totals};
use crate::model::process::ProcessSample;

/// A row of a drawn forest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The index of the process in the snapshot.
    pub index: usize,
    /// The guide lines before its command: `│  ├─ `.
    pub guide: String,
    /// True if it has shown children.
    pub parent: bool,
    /// True if they are folded.
    pub folded: bool,
}

#[derive(Debug)]
pub struct Forest {
    /// The index of each process's parent; `None` for a root.
    pub parent: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
    /// Every process after its parent.
    preorder: Vec<usize>,
}

/// Deeper levels are not indented further: a fork bomb must not push the commands off the screen.
const MAX_GUIDE_LEVELS: usize = 24;

impl Forest {
    /// Builds the forest by parent pid. A process whose parent is not listed, or that is its own ancestor (as in a forged
    /// tree), is a root. Every process is in the forest exactly once.
    pub fn new(processes: &[ProcessSample]) -> Self {
        let by_pid: HashMap<u32, usize> = processes.iter().enumerate().map(|(i, p)| (p.id.pid, i)).collect();
        let mut parent: Vec<Option<usize>> = processes
            .iter()
            .enumerate()
            .map(|(i, p)| by_pid.get(&p.stat.ppid).copied().filter(|up| *up != i))
            .collect();
        break_cycles(&mut parent);
        let mut children = vec![Vec::new(); processes.len()];
        let mut roots = Vec::new();
        for (i, up) in parent.iter().enumerate() {
            match up {
                Some(up) => children[*up].push(i),
                None => roots.push(i),
            }
        }
        let mut preorder = Vec::with_capacity(processes.len());
        let mut stack: Vec<usize> = roots.iter().rev().copied().collect();
        while let Some(i) = stack.pop() {
            preorder.push(i);
            stack.extend(children[i].iter().rev());
        }
        Self {
            parent,
            children,
            roots,
            preorder,
        }
    }

    pub fn is_leaf(&self, index: usize) -> bool {
        self.children[index].is_empty()
    }

    /// Returns the processes below one, in the order of the snapshot.
    pub fn below(&self, root: usize) -> Vec<usize> {
        let mut below = self.children[root].clone();
        let mut at = 0;
        while let Some(up) = below.get(at) {
            below.extend(&self.children[*up]);
            at += 1;
        }
        below.sort_unstable();
        below
    }

    /// Returns the totals of each process with its descendants, in the order of the snapshot. An address space that several
    /// processes of a subtree share counts once.
    pub fn subtrees(
        &self,
        processes: &[ProcessSample],
        change: impl Fn(&ProcessSample) -> Option<Change>,
    ) -> Vec<Totals> {
        let spaces = SharedSpaces::new(&processes.iter());
        let mut all: Vec<Totals> = processes.iter().map(|p| Totals::one(p, change(p).as_ref())).collect();
        for &i in spaces.all().flatten() {
            all[i] = Totals::without_memory(&processes[i], change(&processes[i]).as_ref());
        }
        for &i in self.preorder.iter().rev() {
            let Some(up) = self.parent[i] else { continue };
            let below = all[i].clone();
            all[up].add(&below);
        }
        // Add the memory of a shared space once to each subtree that contains any of its processes.
        for space in spaces.all() {
            let memory = Totals::memory_alone(&processes[space[0]], change(&processes[space[0]]).as_ref());
            for i in self.with_ancestors(space) {
                all[i].add(&memory);
            }
        }
        all
    }

    /// Returns these processes and all their ancestors, each once.
    fn with_ancestors(&self, processes: &[usize]) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        for &i in processes {
            let mut at = Some(i);
            while let Some(i) = at.filter(|i| all.insert(*i)) {
                at = self.parent[i];
            }
        }
        all
    }

    /// Returns the rows to draw: every `matching` process and its ancestors, but nothing below a `folded` one; siblings in the
    /// order of `compare`.
    pub fn rows(
        &self,
        matching: impl Fn(usize) -> bool,
        folded: impl Fn(usize) -> bool,
        compare: impl Fn(usize, usize) -> Ordering,
    ) -> Vec<Node> {
        let mut shown = vec![false; self.parent.len()];
        for &i in self.preorder.iter().rev() {
            shown[i] |= matching(i);
            if let (true, Some(up)) = (shown[i], self.parent[i]) {
                shown[up] = true;
            }
        }
        let sorted = |siblings: &[usize]| -> Vec<usize> {
            let mut list: Vec<usize> = siblings.iter().copied().filter(|i| shown[*i]).collect();
            list.sort_by(|a, b| compare(*a, *b));
            list
        };
        let mut rows = Vec::new();
        // The process, which of the levels above it continue below, and whether it is its parent's last child. A stack, not
        // recursion: a chain of forks may be tens of thousands deep.
        let mut stack: Vec<(usize, Vec<bool>, bool)> = sorted(&self.roots)
            .into_iter()
            .rev()
            .map(|i| (i, Vec::new(), true))
            .collect();
        while let Some((i, levels, last)) = stack.pop() {
            let below = sorted(&self.children[i]);
            let node = Node {
                index: i,
                guide: guide(&levels, last, self.parent[i].is_some()),
                parent: !below.is_empty(),
                folded: !below.is_empty() && folded(i),
            };
            if !node.folded {
                let mut next = levels;
                if self.parent[i].is_some() && next.len() < MAX_GUIDE_LEVELS {
                    next.push(!last);
                }
                let end = below.len();
                for (at, child) in below.into_iter().enumerate().rev() {
                    stack.push((child, next.clone(), at + 1 == end));
                }
            }
            rows.push(node);
        }
        rows
    }
}

fn guide(levels: &[bool], last: bool, child: bool) -> String {
    let mut text: String = levels.iter().map(|open| if *open { "│  " } else { "   " }).collect();
    if child {
        text.push_str(if last { "└─ " } else { "├─ " });
    }
    text
}

/// Removes one link of every cycle of parents.
fn break_cycles(parent: &mut [Option<usize>]) {
    // 0: not visited; 1: on the current path; 2: known to reach a root
    let mut state = vec![0_u8; parent.len()];
    let mut path = Vec::new();
    for start in 0..parent.len() {
        let mut at = start;
        while state[at] == 0 {
            state[at] = 1;
            path.push(at);
            match parent[at] {
                Some(up) if state[up] == 1 => parent[at] = None,
                Some(up) => at = up,
                None => {}
            }
        }
        for i in path.drain(..) {
            state[i] = 2;
        }
    }
}
