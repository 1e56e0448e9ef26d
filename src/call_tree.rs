//! Call paths with the memory that each allocated and kept, and the trees built from them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::text;
use crate::units::{self, Units, counted};

/// The kind of code that a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The program's own file.
    Program,
    Library,
    /// A function that hands out or fills memory for others, by [`is_allocator`].
    Allocator,
    /// Machine code that a runtime made, or code without a file.
    Generated,
    Kernel,
    /// Code of a file, or of none, for which no name was found.
    Unknown,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    pub file: Box<str>,
    pub line: u32,
}

/// A function on the stack. Names are raw: others choose them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    pub function: Box<str>,
    /// The file name of the program or library.
    pub module: Box<str>,
    /// The source file and the line of the call, or of the first access.
    pub source: Option<Source>,
    pub inlined: bool,
    pub kind: Kind,
}

impl Frame {
    /// Returns the memory that it needs.
    fn bytes(&self) -> usize {
        let source = self.source.as_ref().map_or(0, |source| source.file.len());
        size_of::<Self>() + self.function.len() + self.module.len() + source
    }
}

/// Bytes by their state at the end of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weight {
    /// Pages touched for the first time.
    pub taken: u64,
    /// The part of `taken` that is still resident or in swap.
    pub kept: u64,
    /// The part of `kept` that was certainly not touched during the proof; `None` without a proof.
    #[serde(default)]
    pub cold: Option<u64>,
    /// The samples behind `taken`, a measure of its error.
    pub samples: u64,
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.taken += other.taken;
        self.kept += other.kept;
        self.cold = self
            .cold
            .map_or(other.cold, |cold| Some(cold + other.cold.unwrap_or(0)));
        self.samples += other.samples;
    }
}

/// One call path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Indices into [`Stacks::frames`], innermost first.
    pub frames: Vec<u32>,
    #[serde(flatten)]
    pub weight: Weight,
    /// True if the outer callers are missing: the stack was deeper than its copy, or could not be unwound.
    #[serde(rename = "cut")]
    pub is_cut: bool,
}

/// Call paths, and the functions on them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    pub frames: Vec<Frame>,
    pub stacks: Vec<Stack>,
}

/// The functions that hand out, fill or copy memory for a caller, by the names that the C and C++ libraries, Rust, Go, jemalloc,
/// tcmalloc and mimalloc give them.
const ALLOCATORS: [&str; 54] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "free",
    "cfree",
    "mmap",
    "mmap64",
    "mremap",
    "brk",
    "sbrk",
    "_int_malloc",
    "_int_realloc",
    "_int_memalign",
    "_int_free",
    "sysmalloc",
    "sysmalloc_mmap",
    "grow_heap",
    "new_heap",
    "arena_get2",
    "malloc_consolidate",
    "tcache_init",
    "alloc_perturb",
    "unlink_chunk",
    "systrim",
    "malloc_hook_ini",
    "ptmalloc_init",
    "operator new",
    "operator new[]",
    "memset",
    "memcpy",
    "memmove",
    "read",
    "__read",
    "pread",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "fread",
    "getline",
    "getdelim",
    "mempcpy",
    "bzero",
    "strdup",
    "strndup",
    "strcpy",
    "asprintf",
    "vasprintf",
];
/// Beginnings of the names of such functions, and of the containers of C++ and Rust, which allocate for their users.
const ALLOCATOR_PREFIXES: [&str; 36] = [
    "__libc_",
    "_IO_",
    "__GI_",
    "__memset",
    "__memcpy",
    "__memmove",
    "__mempcpy",
    "__strdup",
    "__mmap",
    "__brk",
    "__sbrk",
    "__rust_",
    "__rdl_",
    "__rg_",
    "je_",
    "_rjem_",
    "mi_",
    "_mi_",
    "tc_",
    "tcmalloc::",
    "operator new(",
    "operator new[](",
    "std::",
    "__gnu_cxx::",
    "_ZSt",
    "_ZNSt",
    "_ZNKSt",
    "_ZN9__gnu_cxx",
    "__syscall_cp",
    "alloc::",
    "core::",
    "hashbrown::",
    "runtime.",
    "<alloc::",
    "<core::",
    "<hashbrown::",
];
/// Implementations of traits of Rust's containers.
const ALLOCATOR_PARTS: [&str; 2] = [" as alloc::", " as core::"];
/// Beginnings of the names of whole libraries: allocators, and the libraries of C and C++, whose inner functions have no names
/// in most systems.
const ALLOCATOR_MODULES: [&str; 10] = [
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libsnmalloc",
    "libc.so",
    "libc-2.",
    "libc.musl",
    "ld-musl",
    "libstdc++.so",
    "libc++.so",
];

/// Returns a name of C++ without the type that the function returns, which templates have: `std::fill` of
/// `char* std::fill<char*>(char*, int)`.
fn without_type(function: &str) -> &str {
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in function.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => break,
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &function[start..]
}

/// Returns true for a function that hands out or fills memory for its caller: of an allocator, or of the C or C++ library. The
/// innermost frames of this kind are left out where the code that keeps memory is named.
pub fn is_allocator(function: &str, module: &str) -> bool {
    let function = function.split('@').next().unwrap_or(function);
    let bare = without_type(function);
    ALLOCATORS.contains(&function)
        || ALLOCATOR_PREFIXES
            .iter()
            .any(|prefix| function.starts_with(prefix) || bare.starts_with(prefix))
        || ALLOCATOR_PARTS.iter().any(|part| function.contains(part))
        || ALLOCATOR_MODULES.iter().any(|name| module.starts_with(name))
}

impl Stacks {
    /// Returns the name of a frame, as [`frame_text`] does; empty if there is no such frame.
    pub fn name(&self, id: u32) -> String {
        self.frames.get(id as usize).map_or_else(String::new, frame_text)
    }

    pub fn total(&self) -> Weight {
        let mut total = Weight::default();
        for stack in &self.stacks {
            total += stack.weight;
        }
        total
    }

    /// Returns the frames of a path without the innermost ones that belong to the kernel or an allocator. If nothing else is
    /// left, returns all.
    pub fn without_allocator<'a>(&'a self, stack: &'a Stack) -> &'a [u32] {
        let is_skipped = |id: &u32| matches!(self.frames[*id as usize].kind, Kind::Allocator | Kind::Kernel);
        let first = stack.frames.iter().position(|id| !is_skipped(id));
        first.map_or(&stack.frames, |first| &stack.frames[first..])
    }

    /// Merges the paths into a tree. In a tree of callers, the roots are the functions that allocated the memory, and the
    /// children of each function are those that called it. In a tree of callees, the roots are the outermost functions.
    ///
    /// Children are sorted by kept bytes, then by taken bytes.
    pub fn tree(&self, order: Order) -> Tree {
        let mut nodes = vec![Node::default()];
        let mut index: HashMap<(u32, u32), u32> = HashMap::new();
        let functions = self.functions();
        for stack in &self.stacks {
            let frames = self.without_start(self.without_allocator(stack));
            let (mut at, mut last) = (0, None);
            nodes[0].weight += stack.weight;
            let mut descend = |frame: u32| {
                // Lines of one function are one node; the heaviest line is named. A function that calls itself is one, too.
                let function = functions[frame as usize];
                if last.replace(function) == Some(function) {
                    return;
                }
                let key = (at, function);
                let next = *index.entry(key).or_insert_with(|| {
                    let new = nodes.len() as u32;
                    nodes.push(Node {
                        frame,
                        ..Node::default()
                    });
                    nodes[at as usize].children.push(new);
                    new
                });
                let node = &mut nodes[next as usize];
                node.weight += stack.weight;
                if stack.weight.kept.max(1) > node.heaviest {
                    (node.frame, node.heaviest) = (frame, stack.weight.kept.max(1));
                }
                at = next;
            };
            match order {
                Order::Callers => frames.iter().for_each(|frame| descend(*frame)),
                Order::Callees => frames.iter().rev().for_each(|frame| descend(*frame)),
            }
        }
        for at in 0..nodes.len() {
            let mut children = std::mem::take(&mut nodes[at].children);
            crate::order::sort_by_key(&mut children, |child| {
                let weight = nodes[*child as usize].weight;
                std::cmp::Reverse((weight.kept, weight.taken))
            });
            nodes[at].children = children;
        }
        Tree { nodes }
    }

    /// Returns the frames without the outermost ones, which start the program or the thread.
    fn without_start<'a>(&self, frames: &'a [u32]) -> &'a [u32] {
        let is_start = |id: &u32| {
            let frame = &self.frames[*id as usize];
            STARTS.iter().any(|name| frame.function.starts_with(name))
        };
        let last = frames.iter().rposition(|id| !is_start(id));
        last.map_or(frames, |last| &frames[..=last])
    }

    /// Returns for each frame the first one of the same function.
    fn functions(&self) -> Vec<u32> {
        let mut first = HashMap::new();
        let frames = self.frames.iter().enumerate();
        frames
            .map(|(at, frame)| *first.entry((&frame.function, &frame.module)).or_insert(at as u32))
            .collect()
    }

    /// Returns the runtime that allocated most of the kept memory on paths without a function of the program itself: the names of
    /// these are not known, or its collector took the memory.
    pub fn runtime(&self) -> Option<Runtime> {
        let total = self.total();
        let runs = |stack: &&Stack, runtime: Runtime| {
            let frames = || stack.frames.iter().map(|id| &self.frames[*id as usize]);
            let has_mark = |frame: &Frame| {
                let function = without_type(&frame.function);
                let mut marks = runtime.marks().iter();
                marks.any(|mark| function.starts_with(mark) || frame.module.starts_with(mark))
            };
            frames().any(has_mark) && frames().all(|frame| frame.kind != Kind::Generated)
        };
        let most = |runtime: &Runtime| {
            let kept: u64 = self
                .stacks
                .iter()
                .filter(|stack| runs(stack, *runtime))
                .map(|stack| stack.weight.kept)
                .sum();
            kept * 2 > total.kept
        };
        [Runtime::Java, Runtime::Node, Runtime::Python].into_iter().find(most)
    }
}

/// The call path that keeps most of the memory that a process allocated since a measurement began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBy {
    /// The function and its callers, innermost first.
    pub frames: Vec<Frame>,
    /// The runtime that allocated most of it, if its functions have no names.
    pub runtime: Option<Runtime>,
    /// The bytes that this path keeps, and all paths together.
    pub bytes: u64,
    pub total: u64,
    pub time: Duration,
}

/// The most functions of a [`KeptBy`], and the columns of each.
const NAMED: usize = 3;
const NAME_WIDTH: usize = 60;
/// The fewest samples that a [`KeptBy`] is based on.
const MIN_SAMPLES: u64 = 10;
/// The most bytes that a process keeps beyond twice its growth for a [`KeptBy`].
const MAX_BEYOND_GROWTH: u64 = 16 << 20;

impl KeptBy {
    /// Returns the path of a measurement; `None` if too little was sampled, if nothing is kept, or if it is
    /// [mostly no growth](Measured::keeps_mostly_old).
    pub fn of(measured: &Measured) -> Option<Self> {
        let stacks = &measured.stacks;
        let Tree { nodes } = stacks.tree(Order::Callers);
        let total = nodes[0].weight;
        if total.kept == 0 || total.samples < MIN_SAMPLES {
            return None;
        }
        if measured.keeps_mostly_old() {
            return None;
        }
        let (mut frames, mut at) = (Vec::new(), &nodes[0]);
        let first = &nodes[*at.children.first()? as usize];
        // A caller is named if most of it goes through it.
        while let Some(next) = at.children.first().map(|child| &nodes[*child as usize])
            && next.weight.kept * 2 > first.weight.kept
            && frames.len() < NAMED
        {
            frames.push(stacks.frames[next.frame as usize].clone());
            at = next;
        }
        Some(Self {
            frames,
            runtime: stacks.runtime(),
            bytes: first.weight.kept,
            total: total.kept,
            time: Duration::try_from_secs_f64(measured.time_s).unwrap_or_default(),
        })
    }

    pub fn share(&self) -> f64 {
        self.bytes as f64 / self.total.max(1) as f64
    }

    /// Returns a line: `kept by remember server.c:41 ← handle server.c:88, 94 % of 12.1M in 2h10`. Safe to print.
    pub fn text(&self, units: Units, ascii: bool) -> String {
        self.line(units, ascii, self.frames.len(), true)
    }

    /// Returns the longest line that fits into `width` columns. It omits the amount first, then callers, the outermost first.
    pub fn text_within(&self, units: Units, ascii: bool, width: usize) -> String {
        let shorter = (1..=self.frames.len())
            .rev()
            .map(|named| self.line(units, ascii, named, false));
        let mut lines = std::iter::once(self.text(units, ascii)).chain(shorter);
        let fits = lines.find(|line| text::width(line) <= width);
        fits.unwrap_or_else(|| text::fit(&self.line(units, ascii, 1, false), width, text::Align::Left))
    }

    fn line(&self, units: Units, ascii: bool, named: usize, with_amount: bool) -> String {
        let runtime = self
            .runtime
            .map_or_else(String::new, |runtime| format!(" of the {}", runtime.name()));
        let names = self.frames.iter().take(named);
        let path = names
            .map(|frame| text::truncate(&frame_text(frame), NAME_WIDTH))
            .collect::<Vec<_>>()
            .join(&format!(" {}", Order::Callers.arrow(ascii)));
        let amount = if with_amount {
            format!(" of {} in {}", units::bytes(self.total, units), units::span(self.time))
        } else {
            String::new()
        };
        format!("kept by {path}{runtime}, {:.0} %{amount}", self.share() * 100.0)
    }
}

/// A runtime that runs code without symbols of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Runtime {
    Java,
    Node,
    Python,
}

impl Runtime {
    /// Beginnings of the names of its functions and libraries.
    const fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Java => &["libjvm.so"],
            Self::Node => &["Builtins_JSEntry", "v8::internal::"],
            Self::Python => &["_PyEval_EvalFrameDefault", "PyEval_EvalCode"],
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Java => "Java runtime",
            Self::Node => "JavaScript engine",
            Self::Python => "Python interpreter",
        }
    }

    /// Returns how its functions get names.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Java => {
                "most of it was allocated by the Java runtime. jcmd PID Compiler.perfmap writes the names of its \
                 methods. The garbage collector moves objects. Many faults therefore name the collector: zmtop heap PID \
                 counts the objects by class"
            }
            Self::Node => {
                "most of it was allocated by JavaScript. Start node with --perf-basic-prof for the names of its \
                 functions. The garbage collector moves objects. Many faults therefore name the collector: node \
                 --heapsnapshot-signal writes the objects"
            }
            Self::Python => {
                "most of it was allocated by the Python interpreter. Start Python 3.12 or later with -X perf for the \
                 names of its functions; zmtop heap PID counts its objects by class"
            }
        }
    }
}

/// Functions that start a program or a thread.
const STARTS: [&str; 8] = [
    "_start",
    "__libc_start",
    "__libc_start_call_main",
    "start_thread",
    "__clone",
    "clone3",
    "std::rt::lang_start",
    "std::sys::backtrace::__rust_begin_short_backtrace",
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Callers,
    Callees,
}

impl Order {
    /// Returns the heading of the lines of a tree. `is_proved`: they show what was not touched during the proof.
    pub fn heading(self, is_proved: bool) -> String {
        let title = match self {
            Self::Callers => "FUNCTION, AND ITS CALLERS",
            Self::Callees => "FUNCTION, AND WHAT IT CALLED",
        };
        let cold = if is_proved {
            format!("{:>7} ", "COLD")
        } else {
            String::new()
        };
        format!("{:>7} {:>6} {cold}{:>7}  {title}", "KEPT", "", "TAKEN")
    }

    const fn arrow(self, ascii: bool) -> &'static str {
        match (self, ascii) {
            (Self::Callers, false) => "← ",
            (Self::Callers, true) => "<- ",
            (Self::Callees, false) => "→ ",
            (Self::Callees, true) => "-> ",
        }
    }
}

/// A function in a [`Tree`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// An index into [`Stacks::frames`]; meaningless for the root.
    pub frame: u32,
    pub weight: Weight,
    pub children: Vec<u32>,
    /// The kept bytes of the heaviest path, whose line `frame` names.
    heaviest: u64,
}

/// Merged call paths. The first node is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

/// The completeness of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The faults, by their samples.
    pub faults: u64,
    pub samples: u64,
    /// Records for which the kernel had no room.
    pub lost: u64,
    /// Samples whose outermost callers are missing.
    pub cut: u64,
    /// Samples without registers, as of a 32-bit program.
    pub without_stack: u64,
    /// Samples of pages of files, which are not counted.
    pub of_files: u64,
    /// The kernel does not report the size of a page: before Linux 5.11.
    pub lacks_page_size: bool,
    /// Samples of paths beyond the most that are remembered.
    pub forgotten: u64,
    /// One of this number of sampled pages is kept, and stands for the others.
    pub pages_of_each: u64,
    pub threads: usize,
    pub threads_left_out: usize,
    pub sees_kernel: bool,
    /// Files whose symbols or debug information need too much memory, so that they were left out.
    #[serde(default)]
    pub too_large: usize,
    /// The part of the kept memory that processes have which the named ones forked, in bytes.
    #[serde(default)]
    pub kept_by_forked: u64,
}

/// The schema's name of [`Measured`]. Fields are only ever added.
pub const SCHEMA: &str = "zmtop-call-paths/1";

/// The result of a measurement, as `zmtop callers --format json` writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub schema: String,
    /// The process; the largest one of several.
    pub pid: u32,
    /// The number of processes that were named, without those that they forked.
    pub processes: usize,
    pub command: String,
    pub time_s: f64,
    /// The time of the proof at its end.
    #[serde(default)]
    pub proved_s: Option<f64>,
    /// The growth of its PSS and swap in that time, if both ends could be read.
    pub growth: Option<i64>,
    #[serde(flatten)]
    pub counts: Counts,
    #[serde(flatten)]
    pub stacks: Stacks,
}

impl Measured {
    /// Keeps the largest paths, of at most about `most` bytes with the names of their functions. The samples of the others count as
    /// forgotten. A program chooses its names and paths.
    pub fn limit(&mut self, most: usize) {
        let Stacks { frames, stacks } = std::mem::take(&mut self.stacks);
        let mut kept = Stacks::default();
        let mut ids: HashMap<u32, u32> = HashMap::new();
        let mut bytes = 0;
        for mut stack in stacks {
            let mut new: Vec<u32> = stack
                .frames
                .iter()
                .filter(|id| !ids.contains_key(id))
                .copied()
                .collect();
            new.sort_unstable();
            new.dedup();
            let texts = new.iter().filter_map(|id| frames.get(*id as usize)).map(Frame::bytes);
            let size = size_of::<Stack>() + size_of_val(&*stack.frames) + texts.sum::<usize>();
            if bytes + size > most {
                self.counts.forgotten += stack.weight.samples;
                continue;
            }
            bytes += size;
            for id in new {
                let Some(frame) = frames.get(id as usize) else { continue };
                ids.insert(id, kept.frames.len() as u32);
                kept.frames.push(frame.clone());
            }
            stack.frames.retain_mut(|id| {
                let found = ids.get(id).copied();
                *id = found.unwrap_or_default();
                found.is_some()
            });
            kept.stacks.push(stack);
        }
        self.stacks = kept;
    }

    /// Returns the name with the pid, or with the number of processes; safe to print.
    pub fn name(&self) -> String {
        let name = text::safe_prefix(self.command.as_bytes(), 40);
        match self.processes {
            0 | 1 => format!("{name} (pid {})", self.pid),
            several => format!("{name} ({several} processes)"),
        }
    }

    /// Returns the sums in a line.
    pub fn summary(&self, units: Units) -> String {
        let total = self.stacks.total();
        let span = |seconds| units::span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let cold = total
            .cold
            .zip(self.proved_s)
            .map_or_else(String::new, |(cold, seconds)| {
                let (cold, time) = (units::bytes(cold, units), span(seconds));
                format!(", at least {cold} of that not touched in the last {time}")
            });
        format!(
            "{}, {}: {}, {} taken, {} of it kept{cold}",
            self.name(),
            span(self.time_s),
            counted(self.counts.faults, "page fault"),
            units::bytes(total.taken, units),
            units::bytes(total.kept, units),
        )
    }

    /// Returns the growth of the named processes, 0 if they shrank, and the bytes that they keep beyond it.
    fn kept_beyond_growth(&self) -> Option<(u64, u64)> {
        let growth = self.growth?.max(0).cast_unsigned();
        let kept = self.stacks.total().kept.saturating_sub(self.counts.kept_by_forked);
        Some((growth, kept.saturating_sub(growth)))
    }

    /// Returns true if what is kept is mostly no growth, such as the pages that a process copies after a fork.
    pub fn keeps_mostly_old(&self) -> bool {
        let known = self.kept_beyond_growth();
        known.is_some_and(|(growth, beyond)| beyond > growth + MAX_BEYOND_GROWTH)
    }

    /// Returns the limits of the result, as sentences without a full stop.
    pub fn notes(&self, units: Units) -> Vec<String> {
        let counts = self.counts;
        let mut notes = Vec::new();
        if let Some(growth) = self.growth {
            let kept = self.stacks.total().kept;
            let bytes = units::delta(growth, units);
            notes.push(format!("PSS and swap changed by {bytes}"));
            let unseen = growth.saturating_sub_unsigned(kept);
            if unseen > 1 << 20 && unseen.unsigned_abs() * 5 > growth.unsigned_abs() {
                notes.push(format!(
                    "{} of the growth is not explained: pages that were mapped without a sampled fault, such as by \
                     khugepaged, or that fewer processes share than before",
                    units::bytes(unseen.unsigned_abs(), units),
                ));
            }
        }
        if let Some((growth, beyond)) = self.kept_beyond_growth()
            && beyond > 1 << 20
            && beyond * 4 > growth
        {
            notes.push(format!(
                "{} more are kept than it grew: copies of old pages after a fork, or other memory was freed, or more \
                 processes share it than before",
                units::bytes(beyond, units),
            ));
        }
        if let Some(runtime) = self.stacks.runtime() {
            notes.push(runtime.advice().replace("PID", &self.pid.to_string()));
        }
        if counts.faults > counts.samples * 11 / 10 {
            notes.push(format!("sampled: {} of the faults", units::count(counts.samples)));
        }
        if !counts.sees_kernel {
            notes.push(
                "without faults in the kernel, such as those of read(2) into a new buffer: these need CAP_PERFMON, or \
                 kernel.perf_event_paranoid of at most 1"
                    .to_owned(),
            );
        }
        if counts.lost > 0 {
            notes.push(format!(
                "{} lost: the machine was too busy",
                counted(counts.lost, "sample")
            ));
        }
        if counts.without_stack > 0 {
            notes.push(format!(
                "{} without a stack, such as those of a 32-bit program",
                counted(counts.without_stack, "sample")
            ));
        }
        if counts.cut * 20 > counts.samples {
            let share = counts.cut * 100 / counts.samples.max(1);
            notes.push(format!(
                "{share} % of the stacks are cut: they were deeper than their copy, or could not be unwound"
            ));
        }
        if counts.threads_left_out > 0 {
            notes.push(format!(
                "{} could not be followed",
                counted(counts.threads_left_out as u64, "thread")
            ));
        }
        if counts.too_large > 0 {
            notes.push(format!(
                "without all names, lines and inlined functions of {}: its symbols or its debug information need too \
                 much memory",
                counted(counts.too_large as u64, "file")
            ));
        }
        if counts.lacks_page_size {
            notes.push("each page counts as a small one: only Linux 5.11 and later report huge pages".to_owned());
        }
        if counts.pages_of_each > 1 {
            notes.push(format!(
                "only one of {} sampled pages was checked, because there are too many",
                counts.pages_of_each
            ));
        }
        if counts.forgotten > 0 {
            notes.push(format!(
                "{} beyond the maximum number of call paths",
                counted(counts.forgotten, "sample")
            ));
        }
        if counts.samples == 0 {
            notes.push("no page was touched for the first time during the measurement".to_owned());
        }
        notes
    }
}

/// A function in a flame graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// An index into [`Stacks::frames`]; `None` for all of it.
    pub frame: Option<u32>,
    pub weight: Weight,
    pub depth: usize,
    /// The index of its caller; its own for the first cell.
    pub parent: usize,
    /// Its place from left to right, as shares of the whole.
    pub start: f64,
    pub share: f64,
}

/// Returns the cells of a flame graph: each function before what it called, the largest first. Those with a smaller share than
/// `least` are left out.
pub fn flame(tree: &Tree, least: f64) -> Vec<Cell> {
    let total = tree.nodes[0].weight;
    let size = |weight: Weight| if total.kept > 0 { weight.kept } else { weight.taken };
    let all = size(total).max(1) as f64;
    let mut cells = Vec::new();
    // The nodes to visit, the next one last, each with its depth, its caller's cell and its start.
    let mut todo = vec![(0_u32, 0_usize, 0_usize, 0.0)];
    while let Some((at, depth, parent, start)) = todo.pop() {
        let node = &tree.nodes[at as usize];
        let cell = cells.len();
        cells.push(Cell {
            frame: (at != 0).then_some(node.frame),
            weight: node.weight,
            depth,
            parent,
            start,
            share: size(node.weight) as f64 / all,
        });
        let mut next = start;
        let first = todo.len();
        for child in &node.children {
            let share = size(tree.nodes[*child as usize].weight) as f64 / all;
            if share >= least && share > 0.0 {
                todo.push((*child, depth + 1, cell, next));
            }
            next += share;
        }
        todo[first..].reverse();
    }
    cells
}

/// The deepest branch that is indented further.
const MAX_INDENT: usize = 12;
/// The most lines of a chain without branches.
pub const CHAIN: usize = 12;

/// A line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub depth: usize,
    /// `None` for a line with the same weight as the one above.
    pub weight: Option<Weight>,
    pub what: What,
}

impl Line {
    /// Returns its function, if it is one's.
    pub const fn frame(&self) -> Option<u32> {
        match self.what {
            What::Frame(id) => Some(id),
            What::More(_) | What::Others => None,
        }
    }

    /// Returns the line in the layout of [`Order::heading`]. `total` is the weight of all paths.
    pub fn text(&self, stacks: &Stacks, total: Weight, order: Order, units: Units, ascii: bool) -> String {
        let figures = self.weight.map_or_else(String::new, |weight| {
            let share = match total.kept {
                0 => String::new(),
                kept => format!("{:.0} %", weight.kept as f64 * 100.0 / kept as f64),
            };
            let bytes = |bytes| units::bytes(bytes, units);
            let cold = weight
                .cold
                .map_or_else(String::new, |cold| format!("{:>7} ", bytes(cold)));
            format!("{:>7} {share:>6} {cold}{:>7}", bytes(weight.kept), bytes(weight.taken))
        });
        let width = if total.cold.is_some() { 30 } else { 22 };
        let is_root = self.depth == 0 && self.weight.is_some();
        let arrow = if is_root { "" } else { order.arrow(ascii) };
        let what = match self.what {
            What::Frame(id) => stacks.name(id),
            What::More(count) => format!("{count} more"),
            What::Others => "others".to_owned(),
        };
        format!(
            "{figures:<width$}  {}{arrow}{what}",
            "  ".repeat(self.depth.min(MAX_INDENT))
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A function, by an index into [`Stacks::frames`].
    Frame(u32),
    /// The number of callers of a chain that are not shown.
    More(usize),
    /// The sum of the branches that are not shown.
    Others,
}

/// Returns the lines of a tree. A chain without branches is not indented, and has at most `chain` lines.
pub fn lines(tree: &Tree, least: f64, chain: usize) -> Vec<Line> {
    let total = tree.nodes[0].weight;
    let by_kept = total.kept > 0;
    let size = |weight: Weight| if by_kept { weight.kept } else { weight.taken };
    let floor = (size(total) as f64 * least).ceil() as u64;
    let mut lines = Vec::new();
    // The nodes to visit, the next one last.
    let mut todo = vec![(0_u32, 0_usize, true)];
    let mut in_chain = 0;
    while let Some((at, depth, is_branch)) = todo.pop() {
        let node = &tree.nodes[at as usize];
        in_chain = if is_branch { 0 } else { in_chain + 1 };
        if at != 0 && in_chain < chain {
            lines.push(Line {
                depth,
                weight: is_branch.then_some(node.weight),
                what: What::Frame(node.frame),
            });
        } else if at != 0 {
            match lines.last_mut() {
                Some(Line {
                    what: What::More(count),
                    ..
                }) => *count += 1,
                _ => lines.push(Line {
                    depth,
                    weight: None,
                    what: What::More(1),
                }),
            }
        }
        let is_large = |child: &&u32| size(tree.nodes[**child as usize].weight) >= floor.max(1);
        let shown: Vec<u32> = node.children.iter().filter(is_large).copied().collect();
        let only = shown.len() == 1 && at != 0 && size(tree.nodes[shown[0] as usize].weight) == size(node.weight);
        let below = if at == 0 || only { depth } else { depth + 1 };
        todo.extend(shown.iter().rev().map(|child| (*child, below, !only)));
    }
    let mut shown = Weight::default();
    for line in lines.iter().filter(|line| line.depth == 0) {
        if let Some(weight) = line.weight {
            shown += weight;
        }
    }
    let rest = Weight {
        taken: total.taken.saturating_sub(shown.taken),
        kept: total.kept.saturating_sub(shown.kept),
        cold: total.cold.map(|cold| cold.saturating_sub(shown.cold.unwrap_or(0))),
        samples: total.samples.saturating_sub(shown.samples),
    };
    if size(rest) > 0 {
        lines.push(Line {
            depth: 0,
            weight: Some(rest),
            what: What::Others,
        });
    }
    lines
}

/// Returns the name of a frame with its module or its line, safe to print.
pub fn frame_text(frame: &Frame) -> String {
    let mut text = text::safe(frame.function.as_bytes()).into_owned();
    match (&frame.source, frame.kind) {
        (Some(Source { file, line }), _) => {
            let file = file.rsplit('/').next().unwrap_or(file);
            let _ = write!(text, " {}:{line}", text::safe(file.as_bytes()));
        }
        (None, Kind::Program | Kind::Kernel) => {}
        (None, _) if frame.module.is_empty() => {}
        (None, _) => {
            let _ = write!(text, " ({})", text::safe(frame.module.as_bytes()));
        }
    }
    text
}
