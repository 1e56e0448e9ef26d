//! A made machine, of which every PSS is known exactly: memory comes in blocks of 256 KiB.

use std::collections::HashMap;

use zmtop::model::Memory;
use zmtop::proc::maps::Objects;
use zmtop::sampler::estimate::shift;
use zmtop::sampler::sharing::{ExternalBound, MIN_OBJECT, Sharer, Sharing, Walked};

const BLOCK: u64 = 256 << 10;
pub(crate) const MB: u64 = 1 << 20;

/// A mapping of an object.
#[derive(Clone)]
struct Mapping {
    inode: u64,
    is_shmem: bool,
    size: u64,
    /// The blocks that are resident.
    blocks: Vec<u64>,
}

struct Made {
    sharer: Sharer,
    image: u64,
    mappings: Vec<Mapping>,
    /// Anonymous blocks by number, and true where one is swapped out.
    heap: Vec<(u64, bool)>,
    /// Bytes that it has changed since its walk, and the figures of that.
    own_change: u64,
    shown: Option<Memory>,
}

#[derive(Default)]
pub(crate) struct World {
    sharing: Sharing,
    processes: HashMap<usize, Made>,
    last: usize,
    next_block: u64,
    in_ram: HashMap<(u64, u64), u64>,
    in_swap: HashMap<u64, u64>,
}

/// The inode under which anonymous blocks are counted.
const HEAP: u64 = 0;

impl World {
    /// A process of a program of its own.
    pub(crate) fn start(&mut self) -> usize {
        self.last += 1;
        let image = self.last as u64;
        let pid = self.add(image, Vec::new(), Vec::new());
        let process = self.processes.get_mut(&pid).unwrap();
        process.sharer.join(image, &mut self.sharing);
        pid
    }

    fn add(&mut self, image: u64, mappings: Vec<Mapping>, heap: Vec<(u64, bool)>) -> usize {
        self.last += 1;
        for (block, is_swapped) in &heap {
            self.count(HEAP, *block, *is_swapped, 1);
        }
        let made = Made {
            sharer: Sharer::default(),
            image,
            mappings,
            heap,
            own_change: 0,
            shown: None,
        };
        self.processes.insert(self.last, made);
        self.last
    }

    fn count(&mut self, inode: u64, block: u64, is_swapped: bool, change: i64) {
        let count = if is_swapped {
            self.in_swap.entry(block).or_default()
        } else {
            self.in_ram.entry((inode, block)).or_default()
        };
        *count = count.checked_add_signed(change).unwrap();
    }

    /// Maps an object of `size` bytes and touches the blocks of a part of it.
    pub(crate) fn map(&mut self, pid: usize, inode: u64, is_shmem: bool, size: u64, part: std::ops::Range<u64>) {
        let blocks: Vec<u64> = (part.start / BLOCK..part.end / BLOCK).collect();
        for block in &blocks {
            self.count(inode, *block, false, 1);
        }
        let process = self.processes.get_mut(&pid).unwrap();
        process.own_change += part.end - part.start;
        process.mappings.retain(|m| m.inode != inode || !m.blocks.is_empty());
        process.mappings.push(Mapping {
            inode,
            is_shmem,
            size,
            blocks,
        });
    }

    /// Touches a block of an object that it maps; the next glance shows the change.
    pub(crate) fn touch(&mut self, pid: usize, inode: u64, block: u64) {
        let process = self.processes.get_mut(&pid).unwrap();
        let mapping = process.mappings.iter_mut().find(|m| m.inode == inode).unwrap();
        if !mapping.blocks.contains(&block) {
            mapping.blocks.push(block);
            process.own_change += BLOCK;
            process.sharer.resized(BLOCK.cast_signed(), &mut self.sharing);
            self.count(inode, block, false, 1);
        }
    }

    pub(crate) fn unmap(&mut self, pid: usize, inode: u64) {
        let process = self.processes.get_mut(&pid).unwrap();
        let gone = process.mappings.extract_if(.., |m| m.inode == inode);
        let gone: Vec<Mapping> = gone.collect();
        for mapping in gone {
            for block in mapping.blocks {
                process.own_change += BLOCK;
                *self.in_ram.get_mut(&(inode, block)).unwrap() -= 1;
            }
        }
    }

    pub(crate) fn allocate(&mut self, pid: usize, bytes: u64) {
        for _ in 0..bytes / BLOCK {
            self.next_block += 1;
            let block = self.next_block;
            self.count(HEAP, block, false, 1);
            let process = self.processes.get_mut(&pid).unwrap();
            process.heap.push((block, false));
            process.own_change += BLOCK;
        }
    }

    pub(crate) fn fork(&mut self, parent: usize) -> usize {
        let child = self.fork_untold(parent);
        self.adopt(parent, child);
        child
    }

    /// Forks a process that is not put into its family.
    pub(crate) fn fork_untold(&mut self, parent: usize) -> usize {
        let of = &self.processes[&parent];
        let (image, heap) = (of.image, of.heap.clone());
        let mappings = of.mappings.iter().map(|m| Mapping {
            blocks: Vec::new(),
            ..m.clone()
        });
        let mappings = mappings.collect();
        self.add(image, mappings, heap)
    }

    /// Puts a child into the family of its parent.
    pub(crate) fn adopt(&mut self, parent: usize, child: usize) {
        let [Some(old), Some(new)] = self.processes.get_disjoint_mut([&parent, &child]) else {
            panic!("no parent");
        };
        let rss = new.heap.iter().filter(|(_, is_swapped)| !is_swapped).count() as u64 * BLOCK;
        new.sharer.join(new.image, &mut self.sharing);
        new.sharer.forked(Some(&mut old.sharer), rss, &mut self.sharing);
    }

    /// Writes to the first bytes of the heap, so that they are its own.
    pub(crate) fn write(&mut self, pid: usize, bytes: u64) {
        for at in 0..(bytes / BLOCK) as usize {
            let (block, is_swapped) = self.processes[&pid].heap[at];
            self.next_block += 1;
            let own = self.next_block;
            self.count(HEAP, block, is_swapped, -1);
            self.count(HEAP, own, false, 1);
            let process = self.processes.get_mut(&pid).unwrap();
            process.heap[at] = (own, false);
            process.own_change += BLOCK;
            if is_swapped {
                let swap = |process: &Made| process.heap.iter().filter(|(_, s)| *s).count() as u64 * BLOCK;
                let now = swap(process);
                process.sharer.swapped(now + BLOCK, now, &mut self.sharing);
            }
        }
    }

    /// Swaps a heap out that nobody shares.
    pub(crate) fn swap_out(&mut self, pid: usize) {
        let process = self.processes.get_mut(&pid).unwrap();
        for (block, is_swapped) in &mut process.heap {
            *self.in_ram.get_mut(&(HEAP, *block)).unwrap() -= 1;
            *self.in_swap.entry(*block).or_default() += 1;
            *is_swapped = true;
        }
    }

    pub(crate) fn exec(&mut self, pid: usize) {
        self.release(pid);
        self.last += 1;
        let image = self.last as u64;
        let process = self.processes.get_mut(&pid).unwrap();
        process.image = image;
        process.sharer.join(image, &mut self.sharing);
    }

    pub(crate) fn end(&mut self, pid: usize) {
        self.release(pid);
        self.processes.remove(&pid);
    }

    fn release(&mut self, pid: usize) {
        let process = self.processes.get_mut(&pid).unwrap();
        process.sharer.leave(&mut self.sharing);
        let heap = std::mem::take(&mut process.heap);
        let mappings = std::mem::take(&mut process.mappings);
        process.shown = None;
        for (block, is_swapped) in heap {
            self.count(HEAP, block, is_swapped, -1);
        }
        for mapping in mappings {
            for block in mapping.blocks {
                self.count(mapping.inode, block, false, -1);
            }
        }
        self.in_ram.retain(|_, count| *count > 0);
    }

    pub(crate) fn memory(&self, pid: usize) -> Memory {
        let process = &self.processes[&pid];
        let mut memory = Memory::default();
        let [mut anon, mut file, mut shmem, mut swap] = [0; 4];
        let mut add = |sharers: u64, pss: &mut u64| {
            *pss += BLOCK / sharers;
            memory.rss += BLOCK;
            memory.pss += BLOCK / sharers;
            let whole = if sharers > 1 {
                &mut memory.shared_dirty
            } else {
                &mut memory.private_dirty
            };
            *whole += BLOCK;
        };
        for mapping in &process.mappings {
            let pss = if mapping.is_shmem { &mut shmem } else { &mut file };
            for block in mapping.blocks.iter().copied() {
                add(self.in_ram[&(mapping.inode, block)], pss);
            }
        }
        for (block, is_swapped) in &process.heap {
            if *is_swapped {
                swap += BLOCK / self.in_swap[block];
            } else {
                add(self.in_ram[&(HEAP, *block)], &mut anon);
            }
        }
        memory.swap = process.heap.iter().filter(|(_, is_swapped)| *is_swapped).count() as u64 * BLOCK;
        memory.swap_pss = Ok(swap);
        (memory.pss_anon, memory.pss_file, memory.pss_shmem) = (Ok(anon), Ok(file), Ok(shmem));
        memory
    }

    /// Walks them at the first scan, and once more.
    pub(crate) fn initial(&mut self, pids: &[usize]) {
        for pid in pids {
            self.walk_as(*pid, true, false);
        }
        for pid in pids {
            self.walk_as(*pid, false, true);
        }
    }

    pub(crate) fn walk(&mut self, pid: usize) {
        self.walk_as(pid, false, true);
    }

    /// Walks it: at the first scan if `is_initial`, and reading its mappings, where that is asked for, if it `may_read`.
    pub(crate) fn walk_as(&mut self, pid: usize, is_initial: bool, may_read: bool) {
        let memory = self.memory(pid);
        let process = self.processes.get_mut(&pid).unwrap();
        process.sharer.asked(&self.sharing);
        let vsize = process.mappings.iter().map(|m| m.size).sum::<u64>();
        let anonymous = process.heap.iter().filter(|(_, is_swapped)| !is_swapped).count() as u64 * BLOCK;
        let files = memory.rss - anonymous;
        let reads = process.sharer.last_maps().asks(Some(vsize), files);
        let mut objects = Objects::default();
        for m in &process.mappings {
            let name = if m.is_shmem { "/memfd:x" } else { "/lib/x" };
            objects.feed(format!("1000-{:x} r--p 00000000 fd:01 {} {name}\n", m.size + 0x1000, m.inode).as_bytes());
        }
        objects.finish();
        let own_change = std::mem::take(&mut process.own_change);
        let walked = Walked {
            memory: &memory,
            anonymous: Some(anonymous),
            swap: Some(memory.swap),
            vsize,
            objects: (reads && may_read).then_some(&objects),
            own_change: process.shown.map_or(u64::MAX, |_| own_change),
            is_initial,
        };
        process.sharer.walked(&walked, &mut self.sharing);
        process.shown = Some(memory);
    }

    pub(crate) fn bound(&mut self, pid: usize) -> ExternalBound {
        self.processes.get_mut(&pid).unwrap().sharer.external(&self.sharing)
    }

    /// The figures shown, with what the others have changed little by little.
    pub(crate) fn shifted(&mut self, pid: usize) -> Memory {
        let mut memory = self.processes[&pid].shown.unwrap();
        shift(&mut memory, self.bound(pid).shifts);
        memory
    }

    /// Returns the difference between the footprint shown and the true one, in bytes.
    pub(crate) fn error(&self, pid: usize) -> u64 {
        let (truth, shown) = (self.memory(pid), self.processes[&pid].shown.unwrap());
        truth.footprint().unwrap().abs_diff(shown.footprint().unwrap())
    }
}

const _: () = assert!(MIN_OBJECT.is_multiple_of(BLOCK));
