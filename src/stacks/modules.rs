//! The address space of a process: which file each piece of code comes from, and how to unwind it.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use framehop::{ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Unwinder};

use super::budget::Budget;
use super::ranges::Ranges;
use super::unwind_info;
use crate::proc::clock::thread_time;
use crate::proc::elf::{Elf, Limited, Segment};
use crate::proc::maps::Area;
use crate::proc::namespace::Namespace;
use crate::proc::page_faults::Registers;

/// The largest section that is read for unwinding. The largest known programs have 20 MiB.
const MAX_SECTION: u64 = 64 << 20;
/// The bytes of the sections for unwinding of all files together. Those of a large browser with its libraries have 40 MiB.
const MAX_SECTIONS: u64 = 128 << 20;
/// The most bytes of headers and notes that are read of a file for its build id.
const MAX_HEADERS: u64 = 4 << 20;
/// The CPU time of a path, after which its outermost frames are left out.
const MAX_UNWINDING: Duration = Duration::from_millis(20);
/// The CPU time of all paths, and the divisor of the time since the start that is added to it. Beyond it, only frame pointers are used.
const MAX_UNWINDING_OF_ALL: Duration = Duration::from_secs(2);
const SHARE_OF_UNWINDING: u32 = 50;
/// The most frames of a path. Deeper ones are recursions.
const MAX_FRAMES: usize = 256;
/// The most functions of a path whose return address is searched for, the words of the stack that each search reads, and those
/// that all searches of a path read.
const MAX_FOUND: usize = 64;
const MAX_SEARCHED: u64 = 256;
const MAX_SEARCHED_OF_PATH: u64 = 2048;
/// The words on the stack of a trampoline.
const MAX_TRAMPOLINE: u64 = 8;
/// The most executable files of all processes together.
const MAX_FILES: usize = 4096;

/// The CPU time to read the mappings of a process and to prepare their files, after which no more of them are used, and the divisor of
/// the time since the start that is added to it. A process may have thousands of mounts, and map a file as often as it likes.
const MAX_OPENING: Duration = Duration::from_secs(2);
const SHARE_OF_OPENING: u32 = 400;
/// The same of all processes. A process may fork as often as it likes.
const MAX_OPENING_OF_ALL: Duration = Duration::from_secs(5);
const SHARE_OF_OPENING_OF_ALL: u32 = 100;
/// The largest `.eh_frame` that is used without a sound index, and the bytes of those of all mappings together: it is indexed anew for each
/// mapping, and the index stays in memory. Linkers write an index.
const MAX_WITHOUT_INDEX: usize = 1 << 20;
const MAX_WITHOUT_INDEX_OF_ALL: usize = 64 << 20;

pub(super) type FileId = u32;

/// An executable file. It stays open, so that it can be read after the process has ended or the file was replaced.
pub(super) struct CodeFile {
    pub file: File,
    /// As the process names it, in its own mount namespace.
    pub path: PathBuf,
    /// The mounts that the process sees.
    pub namespace: Namespace,
    pub build_id: Option<Vec<u8>>,
    /// The name of the separate file with its symbols, and that file's CRC-32.
    pub debug_link: Option<(Vec<u8>, u32)>,
    segments: Vec<Segment>,
    sections: Sections,
}

#[derive(Clone, Default)]
struct Sections {
    text: Option<Range<u64>>,
    got: Option<Range<u64>>,
    eh_frame: Option<(Range<u64>, Bytes)>,
    eh_frame_hdr: Option<(Range<u64>, Bytes)>,
    debug_frame: Option<Bytes>,
}

/// The data of a section, shared by all processes that map the file.
#[derive(Clone)]
pub(super) struct Bytes(Rc<[u8]>);

impl Default for Bytes {
    fn default() -> Self {
        Self(Rc::new([]))
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl CodeFile {
    /// Reads the parts of a file that unwinding needs. Deducts the memory for them from `room`, and leaves out what does not fit.
    fn read(file: File, path: PathBuf, namespace: Namespace, room: &mut u64) -> Option<Self> {
        let limited = Limited::new(file.try_clone().ok()?, MAX_SECTIONS);
        let elf = Elf::parse(&limited)?;
        // Two segments may share a page of the file: only those with code are of interest.
        let segments = elf.segments().filter(|segment| segment.is_code).collect();
        let mut data = |name: &str| {
            let data = elf.data(name, MAX_SECTION.min(*room))?;
            *room -= data.len() as u64;
            Some(Bytes(data.into()))
        };
        let mut both = |name: &str| Some((elf.range(name)?, data(name)?));
        let (eh_frame, entries) = both(".eh_frame")
            .and_then(|(range, data)| {
                let entries = unwind_info::of_eh_frame(&data)?;
                Some(((range, data), entries))
            })
            .unzip();
        let is_sound = |hdr: &(Range<u64>, Bytes)| {
            let frames = eh_frame.as_ref().zip(entries.as_ref());
            frames.is_some_and(|((range, _), entries)| is_sound_index(&hdr.1, hdr.0.start, range.start, entries))
        };
        let eh_frame_hdr = both(".eh_frame_hdr").filter(is_sound);
        let eh_frame = eh_frame
            .filter(|(_, data): &(Range<u64>, Bytes)| eh_frame_hdr.is_some() || data.len() <= MAX_WITHOUT_INDEX);
        let sections = Sections {
            text: elf.range(".text"),
            got: elf.range(".got"),
            eh_frame_hdr,
            eh_frame,
            // It has no index.
            debug_frame: data(".debug_frame")
                .filter(|data| data.len() <= MAX_WITHOUT_INDEX && unwind_info::of_debug_frame(data).is_some()),
        };
        let build_id = elf.build_id().map(<[u8]>::to_vec);
        let debug_link = elf.debug_link().map(|(name, crc)| (name.to_vec(), crc));
        Some(Self {
            file,
            path,
            namespace,
            build_id,
            debug_link,
            segments,
            sections,
        })
    }

    /// Returns the difference between the addresses in a mapping of this file and those that the file states.
    fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| segment.bias(start, offset))
    }

    /// Returns true if the instruction before this address is a call.
    fn is_after_call(&self, address: u64) -> bool {
        let holds = |segment: &&Segment| {
            let inside = address.checked_sub(segment.address);
            inside.is_some_and(|inside| inside <= segment.offset.end - segment.offset.start)
        };
        let mut code = [0; 7];
        let before = self.segments.iter().find(holds).and_then(|segment| {
            let offset = address - segment.address + segment.offset.start;
            self.file.read_exact_at(&mut code, offset.checked_sub(7)?).ok()
        });
        // CALL rel32; CALL r/m64, of two to seven bytes, by the middle three bits of its second one.
        let is_indirect = |at: usize| code[at] == 0xff && code[at + 1] & 0o070 == 0o020;
        let is_call = code[2] == 0xe8 || [0, 1, 4, 5].into_iter().any(is_indirect);
        cfg!(target_arch = "x86_64") && before.is_some() && is_call
    }

    /// Returns the bytes that unwinding indexes.
    fn without_index(&self) -> usize {
        let Sections {
            eh_frame,
            eh_frame_hdr,
            debug_frame,
            ..
        } = &self.sections;
        let eh_frame = eh_frame.as_ref().filter(|_| eh_frame_hdr.is_none());
        eh_frame.map_or(0, |(_, data)| data.len()) + debug_frame.as_ref().map_or(0, |data| data.len())
    }

    fn section_info(&self) -> ExplicitModuleSectionInfo<Bytes> {
        let Sections {
            text,
            got,
            eh_frame,
            eh_frame_hdr,
            debug_frame,
        } = self.sections.clone();
        let (eh_frame_svma, eh_frame) = eh_frame.unzip();
        let (eh_frame_hdr_svma, eh_frame_hdr) = eh_frame_hdr.unzip();
        ExplicitModuleSectionInfo {
            text_svma: text,
            got_svma: got,
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            debug_frame,
            ..Default::default()
        }
    }
}

/// Returns true if an index of `.eh_frame` (`.eh_frame_hdr` of the Linux Standard Base, in the encoding that linkers write)
/// points to these entries alone, which are offsets from `frames`, in order. `at` is its own address. Without it, the frames are indexed
/// when they are read.
fn is_sound_index(index: &[u8], at: u64, frames: u64, known: &[usize]) -> bool {
    // Relative to their place, unsigned, and relative to the index, of four bytes each.
    const ENCODINGS: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
    let (numbers, _) = index.get(4..).unwrap_or_default().as_chunks::<4>();
    let signed = |number: &[u8; 4]| i64::from(i32::from_le_bytes(*number));
    let [start, count, entries @ ..] = numbers else {
        return false;
    };
    let count = u32::from_le_bytes(*count) as usize;
    index.starts_with(&ENCODINGS)
        && at.wrapping_add(4).checked_add_signed(signed(start)) == Some(frames)
        && entries.len() / 2 >= count
        && entries.chunks_exact(2).take(count).all(|entry| {
            let frame = at.checked_add_signed(signed(&entry[1]));
            let offset = frame.and_then(|frame| usize::try_from(frame.checked_sub(frames)?).ok());
            offset.is_some_and(|offset| known.binary_search(&offset).is_ok())
        })
}

/// Reads the build id of a file.
pub(super) fn build_id_of(file: &File) -> Option<Vec<u8>> {
    let limited = Limited::new(file.try_clone().ok()?, MAX_HEADERS);
    Elf::parse(&limited)?.build_id().map(<[u8]>::to_vec)
}

/// The executable files of the processes that are followed.
pub(super) struct Files {
    all: Vec<CodeFile>,
    known: HashMap<(u64, u64), Option<FileId>>,
    /// Bytes of sections that may still be read.
    room: u64,
    /// Bytes of sections without an index that may still be indexed.
    without_index: usize,
    /// The CPU time for the files of each process, and of all together.
    opening: HashMap<u32, Budget>,
    opening_of_all: Budget,
    unwinding: Budget,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            known: HashMap::new(),
            room: MAX_SECTIONS,
            without_index: MAX_WITHOUT_INDEX_OF_ALL,
            opening: HashMap::new(),
            opening_of_all: Budget::new(MAX_OPENING_OF_ALL, SHARE_OF_OPENING_OF_ALL),
            unwinding: Budget::new(MAX_UNWINDING_OF_ALL, SHARE_OF_UNWINDING),
        }
    }
}

impl Files {
    pub(super) fn get(&self, id: FileId) -> &CodeFile {
        &self.all[id as usize]
    }

    /// Finds the file of a mapping: by `map_files`, which needs privileges and finds deleted files, else by its path in the
    /// root of the process, if that is still the same file, else as the program of the process, which may be deleted.
    fn open(&mut self, proc: &Path, pid: u32, area: &CodeArea<'_>) -> Option<FileId> {
        self.has_time(pid).then(|| self.find(proc, pid, area)).flatten()
    }

    /// Returns true if more CPU time may be used for the files of a process.
    fn has_time(&self, pid: u32) -> bool {
        let budgets = self.opening.get(&pid).into_iter().chain([&self.opening_of_all]);
        budgets.map(Budget::left).all(|left| !left.is_zero())
    }

    /// Reads something of a process, if more CPU time may be used for it.
    pub(super) fn timed<T>(&mut self, pid: u32, read: impl FnOnce() -> T) -> Option<T> {
        let begun = self.has_time(pid).then(thread_time)?;
        let found = read();
        self.charge(pid, begun);
        Some(found)
    }

    /// Forgets the CPU time of processes that have ended.
    pub(super) fn forget(&mut self, has_ended: impl Fn(u32) -> bool) {
        self.opening.retain(|pid, _| !has_ended(*pid));
    }

    /// Charges the CPU time since `begun` to a process.
    fn charge(&mut self, pid: u32, begun: Duration) {
        let own = self.opening.entry(pid);
        own.or_insert_with(|| Budget::new(MAX_OPENING, SHARE_OF_OPENING))
            .charge(begun);
        self.opening_of_all.charge(begun);
    }

    fn find(&mut self, proc: &Path, pid: u32, area: &CodeArea<'_>) -> Option<FileId> {
        let namespace = Namespace::new(proc.join(pid.to_string()));
        let exact = format!("map_files/{:x}-{:x}", area.range.start, area.range.end);
        let named = area.path.strip_suffix(b" (deleted)").unwrap_or(area.path);
        let named = Path::new(std::ffi::OsStr::from_bytes(named));
        named.is_absolute().then_some(())?;
        let with = |file: File| file.metadata().ok().map(|metadata| (file, metadata));
        let by_path = || {
            let found = namespace.file(named).ok().and_then(with);
            found.filter(|(_, metadata)| area.inode.is_none_or(|inode| inode == metadata.ino()))
        };
        let as_program = || {
            let found = namespace.link("exe").ok().and_then(with);
            found.filter(|(_, metadata)| area.inode.is_some_and(|inode| inode == metadata.ino()))
        };
        let exact = namespace.link(&exact).ok().and_then(with);
        let (file, metadata) = exact.or_else(by_path).or_else(as_program)?;
        let key = (metadata.dev(), metadata.ino());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let room = &mut self.room;
        let code = (self.all.len() < MAX_FILES).then(|| CodeFile::read(file, named.to_owned(), namespace, room));
        let id = code.flatten().map(|code| {
            self.all.push(code);
            self.all.len() as FileId - 1
        });
        self.known.insert(key, id);
        id
    }
}

/// An executable mapping.
#[derive(Clone, Debug)]
pub(super) struct CodeArea<'a> {
    pub range: Range<u64>,
    pub offset: u64,
    /// `None` if the kernel did not report it.
    pub inode: Option<u64>,
    pub path: &'a [u8],
}

impl<'a> CodeArea<'a> {
    /// Returns the area if it holds code of a file.
    pub(super) fn of(area: &Area<'a>) -> Option<Self> {
        let is_code = area.permissions[2] == b'x' && area.name.first() == Some(&b'/');
        is_code.then_some(Self {
            range: area.range.0..area.range.1,
            offset: area.offset,
            inode: Some(area.inode),
            path: area.name,
        })
    }
}

/// The place of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// In a file, at the address that the file states.
    File(FileId, u64),
    /// In no file that could be read.
    Address(u32, u64),
    Kernel(u64),
}

struct Mapped {
    bias: u64,
    file: FileId,
}

type NativeUnwinder = framehop::UnwinderNative<Bytes, MayAllocateDuringUnwind>;

/// The code of one process.
pub(super) struct Space {
    pid: u32,
    mapped: Ranges<Mapped>,
    unwinder: NativeUnwinder,
    cache: framehop::CacheNative<MayAllocateDuringUnwind>,
}

impl Space {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            mapped: Ranges::default(),
            unwinder: NativeUnwinder::new(),
            cache: framehop::CacheNative::new(),
        }
    }

    /// Adds a mapping, in place of those that it overlaps. Returns false if its file could not be read. Leaves out mappings beyond
    /// [`Ranges::MAX`]: their code is unknown.
    pub(super) fn add(&mut self, files: &mut Files, proc: &Path, area: &CodeArea<'_>) -> bool {
        let begun = thread_time();
        let is_known = self.add_now(files, proc, area);
        files.charge(self.pid, begun);
        is_known
    }

    fn add_now(&mut self, files: &mut Files, proc: &Path, area: &CodeArea<'_>) -> bool {
        if self.mapped.contains(&area.range) || !self.mapped.has_room_for(&area.range) {
            return true;
        }
        let Some(file) = files.open(proc, self.pid, area) else {
            return false;
        };
        let code = files.get(file);
        let Some(bias) = code.bias(area.range.start, area.offset) else {
            return false;
        };
        let unwinder = &mut self.unwinder;
        self.mapped.insert(&area.range, Mapped { bias, file }, |start| {
            unwinder.remove_module(start);
        });
        let name = format!("{file}");
        let mut sections = code.section_info();
        if let Some(left) = files.without_index.checked_sub(code.without_index()) {
            files.without_index = left;
        } else {
            sections.debug_frame = None;
            sections.eh_frame = sections.eh_frame.filter(|_| sections.eh_frame_hdr.is_some());
        }
        unwinder.add_module(framehop::Module::new(name, area.range.clone(), bias, sections));
        true
    }

    /// Returns the place of an address. `is_return` marks the address after a call.
    fn place(&self, address: u64, is_return: bool) -> Place {
        let address = address.wrapping_sub(u64::from(is_return));
        match self.mapped.at(address) {
            Some(mapped) => Place::File(mapped.file, address.wrapping_sub(mapped.bias)),
            None => Place::Address(self.pid, address),
        }
    }

    /// Finds the return address of a function without unwind information, such as the functions of musl and the trampolines of
    /// Python: the first word on the stack that is the address after a call in a file. Returns it with the stack pointer of the
    /// caller. Takes the words that it reads from `left`.
    fn find_return(
        &self,
        files: &Files,
        at: FrameAddress,
        sp: u64,
        left: &mut u64,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
    ) -> Option<(u64, u64)> {
        // Generated functions may be called by others, which the search would pass.
        let is_of_file = self.mapped.at(at.address_for_lookup()).is_some();
        let words = if is_of_file { MAX_SEARCHED } else { MAX_TRAMPOLINE };
        let mut places = (0..words).map_while(|word| {
            *left = left.checked_sub(1)?;
            let place = sp.checked_add(word * 8)?;
            Some((read(place).ok()?, place + 8))
        });
        places.find(|(word, _)| {
            let mapped = self.mapped.at(*word);
            mapped.is_some_and(|mapped| files.get(mapped.file).is_after_call(word.wrapping_sub(mapped.bias)))
        })
    }

    /// Finds the callers of a thread by its registers and a copy of its stack, innermost first. `chain` has the callers that
    /// the kernel found by frame pointers: they continue where the copy ends. Returns true if the outermost ones are missing.
    pub(super) fn unwind(
        &mut self,
        files: &Files,
        registers: Registers,
        stack: &[u8],
        chain: &[u64],
        places: &mut Vec<Place>,
    ) -> bool {
        let mut read = |address: u64| {
            let at = usize::try_from(address.wrapping_sub(registers.sp)).map_err(drop)?;
            let word = stack.get(at..).and_then(|rest| rest.first_chunk::<8>()).ok_or(())?;
            Ok(u64::from_le_bytes(*word))
        };
        #[cfg(target_arch = "aarch64")]
        let start = framehop::UnwindRegsNative::new(registers.lr, registers.sp, registers.fp);
        #[cfg(not(target_arch = "aarch64"))]
        let start = framehop::UnwindRegsNative::new(registers.ip, registers.sp, registers.fp);
        let mut regs = start;
        let (mut frames, mut found, mut left) = (Vec::new(), 0, MAX_SEARCHED_OF_PATH);
        let mut next = FrameAddress::from_instruction_pointer(registers.ip);
        let begun = thread_time();
        let most = files.unwinding.left().min(MAX_UNWINDING);
        let mut is_cut = loop {
            frames.push(next);
            // Each instruction of an entry takes time, and a program chooses them.
            if frames.len() == MAX_FRAMES || thread_time().saturating_sub(begun) >= most {
                break true;
            }
            let caller = match self.unwinder.unwind_frame(next, &mut regs, &mut self.cache, &mut read) {
                Ok(caller) => caller,
                Err(_) if found == MAX_FOUND => break true,
                Err(_) => {
                    found += 1;
                    match self.find_return(files, next, regs.sp(), &mut left, &mut read) {
                        Some((caller, sp)) => {
                            regs.set_sp(sp);
                            Some(caller)
                        }
                        None => break true,
                    }
                }
            };
            match caller.and_then(FrameAddress::from_return_address) {
                Some(caller) => next = caller,
                None => break false,
            }
        };
        files.unwinding.charge(begun);
        let last = frames.last().map(|frame| frame.address());
        places.extend(
            frames
                .iter()
                .map(|frame: &FrameAddress| self.place(frame.address(), frame.is_return_address())),
        );
        if is_cut && let Some(at) = chain.iter().rposition(|address| Some(*address) == last) {
            let rest = &chain[at + 1..];
            is_cut = rest.is_empty();
            let room = MAX_FRAMES.saturating_sub(frames.len());
            places.extend(rest.iter().take(room).map(|address| self.place(*address, true)));
        }
        is_cut
    }
}
