//! The files and ranges of addresses that a process maps, from its `maps`: they are in its PSS already.

use std::collections::HashMap;

use super::areas::head;
use super::parse::LineBuffer;

/// The number of bytes kept of a line: all before the name.
const MAX_LINE: usize = 128;

/// A file by the major and minor number of its device, and its inode there.
pub type FileId = ((u32, u32), u64);

/// The areas of one process.
#[derive(Debug, Default)]
pub struct Mapped {
    /// The sizes of all areas of each file without a device of its own, such as tmpfs.
    files: HashMap<FileId, u64>,
    /// All areas, neighbours put together, in order.
    ranges: Vec<(u64, u64)>,
    buffer: LineBuffer<MAX_LINE>,
}

impl Mapped {
    /// Reads the next piece of a `maps`.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.feed(piece, |line| self.add_line(line));
        self.buffer = buffer;
    }

    fn add_line(&mut self, line: &[u8]) {
        let Some(head) = head(line) else { return };
        let (start, end) = head.range;
        if head.inode != 0 && head.device.0 == 0 {
            let sum = self.files.entry((head.device, head.inode)).or_default();
            *sum = sum.saturating_add(end - start);
        }
        match self.ranges.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.ranges.push((start, end)),
        }
    }

    /// Returns how much of a file it maps, at most.
    pub fn of_file(&self, file: FileId) -> u64 {
        self.files.get(&file).copied().unwrap_or(0)
    }

    /// Returns how much of a range of addresses is mapped.
    pub fn within(&self, (start, end): (u64, u64)) -> u64 {
        let first = self.ranges.partition_point(|range| range.1 <= start);
        let inside = self.ranges[first..].iter().take_while(|range| range.0 < end);
        let inside = inside.map(|range| range.1.min(end).saturating_sub(range.0.max(start)));
        inside.fold(0, u64::saturating_add)
    }
}
