//! The files and shmem segments in a `/proc/<pid>/maps`: what a process may share with others.

use super::areas::head;
use super::parse::LineBuffer;
use crate::order;

/// The number of bytes kept of a line: all before the name, and the beginning of that.
const MAX_LINE: usize = 128;
/// Objects kept while a file is read; then those with the same inode are put together, and the smallest forgotten.
const MAX_KEPT: usize = 4096;

/// A file, memfd or shmem segment, and how much of it a process maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Major and minor number of its device.
    pub device: (u32, u32),
    /// Its inode there.
    pub inode: u64,
    /// It is a memfd, System V or POSIX shared memory, or anonymous and shared.
    pub is_shmem: bool,
    /// The size of all areas of it.
    pub bytes: u64,
}

/// The objects of one process.
#[derive(Debug, Default)]
pub struct Objects {
    /// The first area's object: of most programs, their own file.
    program: Option<Object>,
    all: Vec<Object>,
    buffer: LineBuffer<MAX_LINE>,
}

impl Objects {
    /// Reads the next piece of a `maps`.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.feed(piece, |line| self.add_line(line));
        self.buffer = buffer;
    }

    /// Puts together what was read.
    pub fn finish(&mut self) {
        self.merge();
    }

    fn add_line(&mut self, line: &[u8]) {
        let Some(head) = head(line).filter(|head| head.inode != 0) else {
            return;
        };
        let object = Object {
            device: head.device,
            inode: head.inode,
            is_shmem: is_shmem(head.name),
            bytes: head.range.1 - head.range.0,
        };
        self.program.get_or_insert(object);
        match self.all.last_mut() {
            Some(last) if is_same(last, &object) => last.bytes = last.bytes.saturating_add(object.bytes),
            _ => self.all.push(object),
        }
        if self.all.len() >= MAX_KEPT {
            self.merge();
            order::sort_by_key(&mut self.all, |o| std::cmp::Reverse(o.bytes));
            self.all.truncate(MAX_KEPT / 2);
        }
    }

    fn merge(&mut self) {
        order::sort_by_key(&mut self.all, |o| (o.device, o.inode));
        self.all.dedup_by(|next, first| {
            let is_same = is_same(first, next);
            if is_same {
                first.bytes = first.bytes.saturating_add(next.bytes);
            }
            is_same
        });
    }

    /// Returns the sizes mapped of files and of shmem.
    pub fn sizes(&self) -> [u64; 2] {
        let size = |is_shmem| {
            let of_kind = self.all.iter().filter(|o| o.is_shmem == is_shmem);
            of_kind.fold(0_u64, |sum, o| sum.saturating_add(o.bytes))
        };
        [size(false), size(true)]
    }

    /// Returns the size of all files of less than `least` bytes.
    pub fn small(&self, least: u64) -> u64 {
        let small = self.all.iter().filter(|o| !o.is_shmem && o.bytes < least);
        small.map(|o| o.bytes).sum()
    }

    /// Returns up to `count` objects of `least` bytes or more. All that are left out count as parts of the program's file,
    /// since those that run the same program map the same.
    pub fn large(&self, least: u64, count: usize) -> Vec<Object> {
        let Some(program) = self.program else {
            return Vec::new();
        };
        let mut all = self.all.clone();
        order::sort_by_key(&mut all, |o| (std::cmp::Reverse(o.bytes), o.device, o.inode));
        let is_kept = |o: &Object| o.bytes >= least && !is_same(o, &program);
        let (mut kept, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_kept);
        rest.extend(kept.drain(count.min(kept.len())..));
        let small = rest.iter().fold(0_u64, |sum, o| sum.saturating_add(o.bytes));
        if small >= least {
            kept.push(Object {
                bytes: small,
                ..program
            });
        }
        kept
    }
}

fn is_same(one: &Object, other: &Object) -> bool {
    (one.device, one.inode) == (other.device, other.inode)
}

/// Returns true if the kernel gives such names to shared memory. A file on another tmpfs counts as a file.
fn is_shmem(name: &[u8]) -> bool {
    [&b"/memfd:"[..], b"/dev/zero", b"/SYSV", b"/dev/shm/"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}
