//! Tells those that may share memory of each other.

use super::Table;

impl Table {
    /// Puts a process just seen among those that it was forked from.
    pub(super) fn adopt(&mut self, pid: u32, is_initial: bool) {
        let Some(child) = self.entries.get_mut(&pid).and_then(|e| e.process.as_mut()) else {
            return;
        };
        if child.stat.lacks_memory().is_some() {
            return;
        }
        let stat = child.stat;
        let mut sharer = std::mem::take(&mut child.sharing);
        sharer.join(stat.image, &mut self.sharing);
        if !is_initial && stat.image != 0 && sharer.has_fork_relatives(&self.sharing) {
            let parent = self.entries.get_mut(&stat.ppid).and_then(|e| e.process.as_mut());
            let parent = parent.filter(|p| p.stat.image == stat.image);
            let parent = parent.map(|p| {
                p.forked();
                &mut p.sharing
            });
            sharer.forked(parent, stat.rss, &mut self.sharing);
            self.touch(stat.ppid);
        }
        if let Some(child) = self.entries.get_mut(&pid).and_then(|e| e.process.as_mut()) {
            child.sharing = sharer;
        }
    }

    /// Takes in how much swap the machine uses, where that is known.
    pub(in crate::sampler) fn set_swap_used(&mut self, used: Option<u64>) {
        if let Some(used) = used {
            self.sharing.set_swap_used(used);
        }
    }
}
