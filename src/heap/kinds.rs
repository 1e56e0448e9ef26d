//! Detects the allocators and runtimes of a process from the files that it maps and from text in its program.

use crate::text::named;

named! {
    /// An allocator other than glibc's, or a runtime.
    pub enum Kind {
        Jemalloc = "jemalloc",
        Tcmalloc = "tcmalloc",
        Mimalloc = "mimalloc",
        Musl = "musl's malloc",
        Java = "the Java machine",
        Go = "Go",
        Python = "Python",
        Node = "V8",
        Dotnet = ".NET",
        Ruby = "Ruby",
        Erlang = "Erlang",
    }
}

impl Kind {
    /// Returns true if it replaces `malloc` of the C library.
    pub const fn is_malloc(self) -> bool {
        matches!(self, Self::Jemalloc | Self::Tcmalloc | Self::Mimalloc | Self::Musl)
    }

    /// Returns its name in a sentence.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Java => "the JVM",
            other => other.id(),
        }
    }

    /// Returns the ways to show the state of its memory.
    pub const fn shown_by(self) -> &'static str {
        match self {
            Self::Jemalloc => {
                "MALLOC_CONF=stats_print:true prints its state at exit, and malloc_stats_print() at any time"
            }
            Self::Tcmalloc => {
                "MallocExtension::GetStats() returns its state, and in gperftools MALLOCSTATS=1 prints it at exit"
            }
            Self::Mimalloc => "MIMALLOC_SHOW_STATS=1 prints its state at exit, and mi_stats_print() at any time",
            Self::Musl => "it keeps no statistics",
            Self::Java => "jcmd PID GC.heap_info shows its heap, and jcmd PID VM.native_memory shows its other memory",
            Self::Go => "GODEBUG=gctrace=1 prints each collection, and runtime.ReadMemStats() returns its state",
            Self::Python => {
                "objects of up to 512 bytes are in its own arenas; sys._debugmallocstats() prints them, and \
                 PYTHONMALLOC=malloc puts them into malloc"
            }
            Self::Node => {
                "process.memoryUsage() and v8.getHeapStatistics() return its state, and zmtop heap PID --code 30s --inspector \
                 shows which code allocates objects that stay in use"
            }
            Self::Dotnet => "zmtop heap PID reads its counters, as dotnet-counters monitor -p PID does",
            Self::Ruby => "GC.stat returns the state of its heap",
            Self::Erlang => "erlang:memory() and recon_alloc return its state",
        }
    }

    /// Returns the reason why a runtime keeps free memory, and the way to return it.
    pub const fn keeps(self) -> Option<&'static str> {
        match self {
            Self::Java => Some(
                "The JVM keeps it for new objects: -XX:MaxHeapFreeRatio, -XX:G1PeriodicGCInterval or a smaller -Xmx return it",
            ),
            Self::Dotnet => Some(
                "The .NET runtime keeps it for new objects: DOTNET_GCConserveMemory or a smaller DOTNET_GCHeapHardLimit makes it keep \
                 less",
            ),
            Self::Python => Some("Python returns an arena only when the last object in it is gone"),
            Self::Jemalloc => Some("jemalloc keeps them for new objects"),
            Self::Tcmalloc => Some("tcmalloc keeps them for new objects"),
            Self::Mimalloc => Some("mimalloc keeps them for new objects"),
            Self::Musl => Some("musl keeps them for new objects"),
            _ => None,
        }
    }

    /// Returns the kind of the library or program that is mapped, by the name in `maps`.
    pub fn of_mapping(name: &[u8]) -> Option<Self> {
        if name.starts_with(b"[anon: Go:") {
            return Some(Self::Go);
        }
        if name.starts_with(b"/memfd:doublemapper") {
            return Some(Self::Dotnet);
        }
        let file = name
            .strip_prefix(b"/")
            .and_then(|_| name.rsplit(|byte| *byte == b'/').next())?;
        let found = LIBRARIES.iter().find(|(prefix, _)| file.starts_with(prefix.as_bytes()));
        found.map(|(_, kind)| *kind)
    }

    /// Returns the kind of a program, by the name of its file.
    pub fn of_program(file: &[u8]) -> Option<Self> {
        let is_version = |rest: &[u8]| {
            rest.iter()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b't' | b'd'))
        };
        let found = PROGRAMS
            .iter()
            .find(|(name, _)| file.strip_prefix(name.as_bytes()).is_some_and(is_version));
        found.map(|(_, kind)| *kind)
    }

    /// Returns the kind that puts this text into a program.
    pub fn of_text(text: &[u8]) -> Option<Self> {
        let found = TEXTS.iter().find(|(known, _)| known.as_bytes() == text);
        found.map(|(_, kind)| *kind)
    }
}

/// The beginnings of the names of libraries.
const LIBRARIES: [(&str, Kind); 10] = [
    ("libjemalloc", Kind::Jemalloc),
    ("libtcmalloc", Kind::Tcmalloc),
    ("libmimalloc", Kind::Mimalloc),
    ("ld-musl-", Kind::Musl),
    ("libjvm.so", Kind::Java),
    ("libpython", Kind::Python),
    ("libnode", Kind::Node),
    ("libcoreclr.so", Kind::Dotnet),
    ("libruby", Kind::Ruby),
    ("libj9vm", Kind::Java),
];

/// The names of programs. A version may follow.
const PROGRAMS: [(&str, Kind); 7] = [
    ("python", Kind::Python),
    ("node", Kind::Node),
    ("nodejs", Kind::Node),
    ("deno", Kind::Node),
    ("ruby", Kind::Ruby),
    ("beam.smp", Kind::Erlang),
    ("java", Kind::Java),
];

/// Text in a program's file that reveals a statically linked allocator or runtime.
const TEXTS: [(&str, Kind); 4] = [
    ("<jemalloc>: ", Kind::Jemalloc),
    // A line of the statistics of gperftools and of google/tcmalloc.
    (" Actual memory used (physical + swap)", Kind::Tcmalloc),
    ("mimalloc: ", Kind::Mimalloc),
    (" Go buildinf:", Kind::Go),
];

/// Returns the text that [`Kind::of_text`] knows.
pub fn texts() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(text, _)| *text)
}

/// The data of the C library: of the library itself, of its loader, and of its threads.
pub fn is_c_library(name: &[u8]) -> bool {
    let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let file = file.strip_suffix(b" (deleted)").unwrap_or(file);
    [
        "libc.so",
        "libc-2.",
        "libpthread",
        "ld-linux",
        "ld-2.",
        "ld.so",
        "ld64.so",
    ]
    .iter()
    .any(|prefix| file.starts_with(prefix.as_bytes()))
}
