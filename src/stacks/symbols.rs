//! Names of functions: of ELF files by their symbols and DWARF, of generated code by the map that a runtime writes, of the kernel
//! by kallsyms.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{CodeInfo, Input, Symbolized, Symbolizer};

use super::budget::Budget;
use super::modules::{CodeFile, FileId, Files, Place, build_id_of};
use super::sections::{Readable, Room, copy_of_unsafe, readable};
use crate::call_tree::{Frame, Kind, Source as SourceLine, is_allocator};
use crate::order;
use crate::proc::clock::thread_time;
use crate::proc::files;
use crate::proc::kallsyms::Lookup;
use crate::proc::namespace::Namespace;

/// The largest map of generated code that is read.
const MAX_MAP: u64 = 64 << 20;
/// Maximum number of functions of such a map: a hundred megabytes of memory.
const MAX_FUNCTIONS: usize = 1 << 20;
/// The CPU time for maps of generated code, and the divisor of the time since the start that is added to it. A process may fork as
/// often as it likes, and each fork may have a map.
const MAX_READING: Duration = Duration::from_secs(2);
const SHARE_OF_READING: u32 = 50;
/// The longest name of a function that is kept.
const MAX_NAME: usize = 512;

/// The functions at each place, innermost first: more than one if calls were inlined.
pub(super) struct Names {
    known: HashMap<Place, Vec<Frame>>,
    symbols: Symbols,
    /// The files whose debug information needs too much memory.
    too_large: HashSet<FileId>,
    /// The CPU time for maps of generated code.
    reading: Budget,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            symbols: Symbols::default(),
            too_large: HashSet::new(),
            reading: Budget::new(MAX_READING, SHARE_OF_READING),
        }
    }
}

impl Names {
    /// Finds the functions of the places that are not known. Those that are not found before `deadline` stay addresses.
    pub(super) fn resolve(
        &mut self,
        places: &[Place],
        code: &Files,
        programs: &HashSet<PathBuf>,
        proc: &Path,
        deadline: Instant,
    ) {
        let mut new: Vec<Place> = places
            .iter()
            .filter(|place| !self.known.contains_key(place))
            .copied()
            .collect();
        // Generated code comes last, by process: only one map is in memory at a time.
        order::sort_by_key(&mut new, |place| match place {
            Place::Address(pid, _) => Some(*pid),
            Place::File(..) | Place::Kernel(_) => None,
        });
        let kernel = kernel_functions(&new, proc);
        let mut generated: Option<(u32, GeneratedCode)> = None;
        for place in new {
            let names = match place {
                Place::File(id, address) => {
                    if Instant::now() >= deadline {
                        continue;
                    }
                    let (names, is_too_large) = self.symbols.in_file(id, code.get(id), programs, address, deadline);
                    if is_too_large {
                        self.too_large.insert(id);
                    }
                    names
                }
                Place::Address(pid, address) => {
                    if generated.as_ref().is_none_or(|(of, _)| *of != pid) {
                        generated = None;
                        if self.reading.left().is_zero() || Instant::now() >= deadline {
                            continue;
                        }
                        let begun = thread_time();
                        generated = Some((pid, GeneratedCode::read(proc, pid)));
                        self.reading.charge(begun);
                    }
                    // A runtime may write the name later.
                    let Some(function) = generated.as_ref().and_then(|(_, code)| code.find(address)) else {
                        continue;
                    };
                    vec![frame(function, Kind::Generated)]
                }
                Place::Kernel(address) => {
                    let name = kernel.get(&address).map_or("kernel", |name| name);
                    vec![Frame {
                        module: "kernel".into(),
                        ..frame(name, Kind::Kernel)
                    }]
                }
            };
            self.known.insert(place, names);
        }
    }

    /// Returns the number of files whose debug information needs too much memory, so that it was left out.
    pub(super) fn too_large(&self) -> usize {
        self.too_large.len()
    }

    /// Frees the data that was read from the files. The resolved functions stay.
    pub(super) fn free_files(&mut self) {
        self.symbols = Symbols::default();
    }

    /// Returns the functions at a place; its address if they are not known.
    pub(super) fn of(&self, place: &Place) -> Cow<'_, [Frame]> {
        let address = |address: u64| vec![frame(&format!("{address:#x}"), Kind::Unknown)].into();
        match (self.known.get(place), place) {
            (Some(names), _) => names.into(),
            (None, Place::File(_, at) | Place::Address(_, at) | Place::Kernel(at)) => address(*at),
        }
    }
}

fn frame(function: &str, kind: Kind) -> Frame {
    Frame {
        function: function.chars().take(MAX_NAME).collect::<String>().into(),
        module: "".into(),
        source: None,
        inlined: false,
        kind,
    }
}

fn line_of(code: &CodeInfo<'_>) -> Option<SourceLine> {
    Some(SourceLine {
        file: code.file.to_string_lossy().into(),
        line: code.line?,
    })
}

fn file_name(path: &Path) -> Box<str> {
    path.file_name().unwrap_or_default().to_string_lossy().into()
}

/// Symbols of ELF files.
struct Symbols {
    symbolizer: Symbolizer,
    /// The files with symbols for each file.
    sources: HashMap<FileId, Sources>,
    /// The room for what is still to be read.
    room: Room,
}

/// The files with the symbols of a file.
struct Sources {
    /// The best first.
    list: Vec<Source<'static>>,
    /// The separate file, and copies. They stay open, for their paths name the descriptors.
    _open: Vec<File>,
    /// Symbols or debug information were left out, which need too much memory.
    is_too_large: bool,
}

impl Default for Symbols {
    fn default() -> Self {
        let builder = Symbolizer::builder().enable_auto_reload(false);
        // Separate files are found here: those that others put in a folder may be FIFOs.
        let builder = builder.set_debug_dirs(Some([""; 0]));
        Self {
            symbolizer: builder.enable_code_info(true).enable_inlined_fns(true).build(),
            sources: HashMap::new(),
            room: Room::default(),
        }
    }
}

impl Symbols {
    /// Returns the functions at an address, and true if debug information was left out.
    fn in_file(
        &mut self,
        id: FileId,
        file: &CodeFile,
        programs: &HashSet<PathBuf>,
        address: u64,
        deadline: Instant,
    ) -> (Vec<Frame>, bool) {
        let module = file_name(&file.path);
        let usual = if programs.contains(&file.path) {
            Kind::Program
        } else {
            Kind::Library
        };
        let (mut names, is_too_large) = self.find(id, file, address, deadline);
        let is_named = !names.is_empty();
        if !is_named {
            names.push(frame(&format!("{address:#x}"), Kind::Unknown));
        }
        for frame in &mut names {
            frame.kind = match is_allocator(&frame.function, &module) {
                true => Kind::Allocator,
                false if is_named => usual,
                false => Kind::Unknown,
            };
            frame.module.clone_from(&module);
        }
        (names, is_too_large)
    }

    fn find(&mut self, id: FileId, file: &CodeFile, address: u64, deadline: Instant) -> (Vec<Frame>, bool) {
        let room = &mut self.room;
        let sources = self
            .sources
            .entry(id)
            .or_insert_with(|| Sources::of(file, room, deadline));
        let is_too_large = sources.is_too_large;
        let found = sources.list.iter().find_map(|source| {
            match self.symbolizer.symbolize_single(source, Input::VirtOffset(address)) {
                Ok(Symbolized::Sym(symbol)) => Some(symbol),
                _ => None,
            }
        });
        let Some(symbol) = found else {
            return (Vec::new(), is_too_large);
        };
        let named = |function: &str, code: Option<&CodeInfo<'_>>, inlined| Frame {
            source: code.and_then(line_of),
            inlined,
            ..frame(function, Kind::Library)
        };
        let outer = named(&symbol.name, symbol.code_info.as_deref(), false);
        let inlined = symbol.inlined.iter().rev();
        let mut names: Vec<_> = inlined.map(|f| named(&f.name, f.code_info.as_ref(), true)).collect();
        names.push(outer);
        (names, is_too_large)
    }
}

impl Sources {
    fn of(file: &CodeFile, room: &mut Room, deadline: Instant) -> Self {
        let debug = debug_file(file, deadline);
        let (mut list, mut open, mut is_too_large) = (Vec::new(), Vec::new(), false);
        for file in debug.iter().chain([&file.file]) {
            let Ok(copy) = copy_of_unsafe(file, room) else {
                is_too_large = true;
                continue;
            };
            let file = copy.as_ref().map_or(file, |copy| &copy.file);
            let readable = match (readable(file, room, deadline), &copy) {
                (Readable::All, Some(copy)) if !copy.is_whole => Readable::TooLarge,
                (readable, _) => readable,
            };
            is_too_large |= matches!(readable, Readable::TooLarge | Readable::NoRoom);
            // The symbol table alone helps if the rest cannot be read.
            let ways: &[bool] = match readable {
                Readable::Nothing | Readable::NoRoom => &[],
                Readable::Symbols | Readable::TooLarge => &[false],
                Readable::All => &[true, false],
            };
            let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
            list.extend(ways.iter().map(|debug_syms| {
                Source::Elf(Elf {
                    debug_syms: *debug_syms,
                    ..Elf::new(path.clone())
                })
            }));
            open.extend(copy.map(|copy| copy.file));
        }
        open.extend(debug);
        Self {
            list,
            _open: open,
            is_too_large,
        }
    }
}

/// Opens the separate file with the symbols of a stripped one, in the root of the process and in zmtop's: by its build id, or by
/// the name that the stripped file states. Several processes may map the file, each with mounts of its own: of other users, only the
/// owner of the file may name its functions.
fn debug_file(file: &CodeFile, deadline: Instant) -> Option<File> {
    let own = Namespace::own();
    let namespaces = [&own, &file.namespace];
    let owner = |file: &File| file.metadata().map(|metadata| metadata.uid());
    let trusted = [Ok(0), Ok(rustix::process::geteuid().as_raw()), owner(&file.file)];
    let trusted: Vec<u32> = trusted.into_iter().flatten().collect();
    let open = |space: &Namespace, name: &Path| {
        let found = space.file(name).ok()?;
        owner(&found)
            .is_ok_and(|owner| trusted.contains(&owner))
            .then_some(found)
    };
    let mut by_id = file.build_id.iter().filter_map(|id| debug_path(id));
    // The owner of the process may mount any file there.
    let is_its = |found: &File| build_id_of(found) == file.build_id;
    if let Some(name) = by_id.next()
        && let Some(found) = namespaces.iter().find_map(|space| open(space, &name).filter(is_its))
    {
        return Some(found);
    }
    let (name, crc) = file.debug_link.as_ref()?;
    let name = Path::new(OsStr::from_bytes(name));
    // A file name alone.
    name.file_name().filter(|only| *only == name.as_os_str())?;
    let folder = file.path.parent()?;
    let inside = folder.strip_prefix("/").unwrap_or(folder);
    let folders = [folder.to_owned(), folder.join(".debug"), Path::new(DEBUG).join(inside)];
    let mut found = namespaces
        .iter()
        .flat_map(|space| folders.iter().filter_map(|folder| open(space, &folder.join(name))));
    found.find(|found| match (&file.build_id, build_id_of(found)) {
        (Some(of_file), Some(of_debug)) => *of_file == of_debug,
        _ => crc_of(found, deadline) == Some(*crc),
    })
}

/// The folder of separate files with symbols.
const DEBUG: &str = "/usr/lib/debug";
/// The largest such file whose checksum is read.
const MAX_CHECKED: u64 = 1 << 30;

/// Returns the path of the file with the symbols of a build id: `/usr/lib/debug/.build-id/12/3456.debug`.
fn debug_path(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let mut name = format!("{DEBUG}/.build-id/{first:02x}/");
    for byte in rest {
        let _ = write!(name, "{byte:02x}");
    }
    name.push_str(".debug");
    Some(name.into())
}

/// Returns the CRC-32 of a file; `None` if it is too large or that takes too long.
fn crc_of(file: &File, deadline: Instant) -> Option<u32> {
    let (mut hasher, mut piece) = (crc32fast::Hasher::new(), vec![0; 64 << 10]);
    let mut at = 0;
    while at <= MAX_CHECKED && Instant::now() < deadline {
        match file.read_at(&mut piece, at).ok()? {
            0 => return Some(hasher.finalize()),
            len => {
                hasher.update(&piece[..len]);
                at += len as u64;
            }
        }
    }
    None
}

/// The functions of a process that a runtime compiled, by `/tmp/perf-PID.map`.
#[derive(Default)]
pub(super) struct GeneratedCode {
    /// Start, end and name, ascending.
    functions: Vec<(u64, u64, String)>,
}

impl GeneratedCode {
    /// Reads the map in the root of the process, under its pid there. It must belong to the user of the process or to root.
    fn read(proc: &Path, pid: u32) -> Self {
        let dir = proc.join(pid.to_string());
        let status = std::fs::read_to_string(dir.join("status")).unwrap_or_default();
        let inner = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let inner = inner
            .and_then(|line| line.split_whitespace().last()?.parse().ok())
            .unwrap_or(pid);
        let path = format!("/tmp/perf-{inner}.map");
        let Ok(file) = Namespace::new(&dir).plain_file(Path::new(&path)) else {
            return Self::default();
        };
        let owner = std::fs::metadata(&dir).map(|metadata| metadata.uid());
        let is_trusted = file.metadata().is_ok_and(|metadata| {
            metadata.is_file() && (metadata.uid() == 0 || owner.is_ok_and(|owner| owner == metadata.uid()))
        });
        if is_trusted { Self::parse(file) } else { Self::default() }
    }

    /// Parses lines of a start address, a size and a name. A later line replaces an earlier one with the same start.
    pub(super) fn parse(file: impl Read) -> Self {
        let mut functions = Vec::new();
        let mut reader = BufReader::new(file.take(MAX_MAP));
        let mut line = Vec::new();
        while functions.len() < MAX_FUNCTIONS && matches!(reader.read_until(b'\n', &mut line), Ok(len) if len > 0) {
            let text = String::from_utf8_lossy(&line);
            let mut words = text.trim_end().splitn(3, ' ');
            let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
            if let (Some(start), Some(size)) = (number(), number())
                && let Some(name) = words.next()
            {
                functions.push((start, start.saturating_add(size), name.chars().take(MAX_NAME).collect()));
            }
            line.clear();
        }
        functions.reverse();
        order::sort_by_key(&mut functions, |(start, ..)| *start);
        functions.dedup_by_key(|(start, ..)| *start);
        Self { functions }
    }

    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|(start, ..)| *start <= address);
        let (_, end, name) = self.functions.get(after.checked_sub(1)?)?;
        (address < *end).then_some(name)
    }
}

fn kernel_functions(places: &[Place], proc: &Path) -> HashMap<u64, Box<str>> {
    let addresses = places.iter().filter_map(|place| match place {
        Place::Kernel(address) => Some(*address),
        _ => None,
    });
    let addresses: Vec<u64> = addresses.collect();
    if addresses.is_empty() {
        return HashMap::new();
    }
    let mut lookup = Lookup::new(addresses);
    let read = files::pieces(&proc.join("kallsyms"), |piece| lookup.feed(piece));
    let found = if read.is_ok() {
        lookup.finish()
    } else {
        return HashMap::new();
    };
    let found = found.unwrap_or_default().into_iter();
    found
        .filter_map(|(address, symbol)| Some((address, String::from_utf8_lossy(&symbol?.name).into())))
        .collect()
}
