//! Replaces every name in snapshots that people or programs chose, so that a recording can be given to others.
//!
//! Replaces hosts, users, commands, command lines, paths, cgroups, units, containers, pods, images, names of mappings and of
//! files, devices, and all of these in records of kills. Figures, times, pids and uids stay.
//!
//! A text is replaced word by word: runs of letters, of digits, and ids of hexadecimal digits. The characters between words stay, so
//! that `/srv/shop/a` and `/srv/shop/b` still have their directory in common, `worker 1` and `worker 2` still differ in
//! numbers only, and a container's id is still one. Equal words become equal words in all snapshots of one [`Anonymizer`];
//! digits become as many digits, and no two numbers of one length become the same.
//!
//! [`KEPT`] words stay: the fixed names of systemd, container runtimes, interpreters and file hierarchies, without which no
//! unit, container, program or mapping would be recognized. So do the names of kernel threads, and single letters. A reader
//! who knows a name cannot compute its replacement without the seed, but may still recognize a process by its figures.
//!
//! Pure. Each struct is taken apart field by field, so that a new field does not compile until it is dealt with here.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::model::kernel::KernelTables;
use crate::model::kill::{DaemonKill, KILLERS, OomKill, OomLimit, OomVictim};
use crate::model::mapping::MappedObject;
use crate::model::system::{
    AccountingInputs, MemoryMount, Scope, ScopeLevel, SwapArea, SystemSample, Zram, ZramDevice, scope_figures,
    system_figures,
};
use crate::model::taker::{KeptPath, MappingUse, Taker};
use crate::model::{Container, ContainerNames, Facts, Fleet, FleetHost, Held, HeldObject, ProcessSample, Snapshot};

/// Words that stay, sorted.
pub const KEPT: [&str; 125] = [
    "SYSV",
    "anon",
    "app",
    "auto",
    "automount",
    "background",
    "bash",
    "besteffort",
    "bin",
    "boot",
    "bpf",
    "buildkit",
    "burstable",
    "bus",
    "bytes",
    "client",
    "containerd",
    "containers",
    "cri",
    "crio",
    "dash",
    "dbus",
    "deleted",
    "dev",
    "disk",
    "dm",
    "dma",
    "dmabuf",
    "docker",
    "dri",
    "ecs",
    "etc",
    "exe",
    "ext",
    "file",
    "fish",
    "graphics",
    "guaranteed",
    "hash",
    "heap",
    "home",
    "hugepage",
    "hugepages",
    "init",
    "io",
    "jar",
    "java",
    "journald",
    "kmalloc",
    "ksh",
    "kthreadd",
    "kubelet",
    "kubepods",
    "ld",
    "lib",
    "libc",
    "libpod",
    "linux",
    "local",
    "loop",
    "lxc",
    "machine",
    "machined",
    "map",
    "mapper",
    "md",
    "media",
    "memfd",
    "memory",
    "mnt",
    "mount",
    "node",
    "nvme",
    "oomd",
    "opt",
    "partition",
    "payload",
    "perl",
    "php",
    "pid",
    "pod",
    "podman",
    "proc",
    "python",
    "render",
    "root",
    "ruby",
    "run",
    "sbin",
    "scope",
    "sd",
    "service",
    "session",
    "sh",
    "shm",
    "shmem",
    "slice",
    "so",
    "socket",
    "srv",
    "stack",
    "swap",
    "swapfile",
    "sys",
    "system",
    "systemd",
    "tcp",
    "tmp",
    "tmpfs",
    "tty",
    "ttys",
    "udev",
    "udevd",
    "uids",
    "uring",
    "user",
    "usr",
    "var",
    "vda",
    "vdso",
    "vvar",
    "xe",
    "zram",
    "zsh",
    "zswap",
];

/// The length of a name that the kernel cuts: `TASK_COMM_LEN` − 1.
const CUT: usize = 15;
/// Minimum length of a run of hexadecimal digits that counts as an id.
const SHORTEST_ID: usize = 4;
/// The first digits of an id, by which it is also known.
const SHORT_ID: usize = 12;

/// Replaces names, always in the same way.
#[derive(Clone, Debug)]
pub struct Anonymizer {
    seed: u64,
    /// The replacements of names that the kernel cut. They are cut from the replaced whole.
    cut: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

impl Anonymizer {
    /// Creates one that replaces by this seed. To withhold names, it must be random and must not be kept.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            cut: BTreeMap::new(),
        }
    }

    /// Replaces all names in a snapshot. Removes tables of the kernel, and data that is not recorded.
    pub fn apply(&mut self, snapshot: &mut Snapshot) {
        let Snapshot {
            time: _,
            monotonic: _,
            tick: _,
            host,
            boot_id,
            interval: _,
            sampling: _,
            own: _,
            system,
            accounting,
            kernel,
            oom_kills,
            oom_counts: _,
            killers: _,
            processes,
            changes: _,
            exits,
            cgroups,
            inspected,
            jvms: _,
            heaps: _,
            address_limits: _,
            takers,
            mapped,
            repeats: _,
            fleet,
        } = snapshot;
        self.shared(host);
        if let Ok(id) = boot_id {
            *id = self.string(id).into();
        }
        self.system(system);
        self.accounting(Arc::make_mut(accounting));
        *kernel = KernelTables::default();
        if let Ok(rows) = processes {
            // Processes share facts.
            for row in rows {
                self.process(row);
            }
        }
        // After the processes, whose whole names are known.
        *oom_kills = oom_kills.iter().cloned().map(|kill| self.kill(kill)).collect();
        let replaced = cgroups
            .iter()
            .map(|(path, figures)| (self.bytes(path).into(), *figures));
        *cgroups = Arc::new(replaced.collect());
        for exit in &mut Arc::make_mut(exits).list {
            self.exit(exit);
        }
        *takers = takers.iter().map(|taker| self.taker(taker)).collect();
        *inspected = None;
        for objects in Arc::make_mut(mapped).values_mut().flatten() {
            *objects = objects.iter().cloned().map(|object| self.mapped(object)).collect();
        }
        if let Some(fleet) = fleet {
            self.fleet(Arc::make_mut(fleet));
        }
    }

    fn system(&self, system: &mut SystemSample) {
        macro_rules! take_apart {
            ($($(#[$doc:meta])* $figure:ident: $source:expr,)*) => {{
                let SystemSample {
                    $($figure: _,)*
                    zram,
                    swaps,
                    psi: _,
                    stalled: _,
                    uptime: _,
                    loadavg: _,
                    limit: _,
                    scope,
                } = system;
                (zram, swaps, scope)
            }};
        }
        let (zram, swaps, scope) = system_figures!(take_apart);
        for device in zram {
            let Zram {
                name,
                stored: _,
                compressed: _,
                limit: _,
                is_swap: _,
            } = device;
            self.boxed_str(name);
        }
        for area in swaps.iter_mut().flatten() {
            let SwapArea {
                path,
                kind,
                size: _,
                used: _,
                priority: _,
            } = area;
            self.boxed(path);
            self.boxed_str(kind);
        }
        if let Some(scope) = scope {
            self.scope(scope);
        }
    }

    fn scope(&self, scope: &mut Scope) {
        macro_rules! take_apart {
            ($($(#[$doc:meta])* $figure:ident: $type:ty,)*) => {{
                let Scope {
                    kind: _,
                    path,
                    $($figure: _,)*
                    levels,
                    events: _,
                } = scope;
                (path, levels)
            }};
        }
        let (path, levels) = scope_figures!(take_apart);
        self.shared(path);
        for level in levels {
            let ScopeLevel {
                path,
                current: _,
                swap: _,
                limit: _,
                high: _,
                swap_limit: _,
            } = level;
            self.shared(path);
        }
    }

    fn accounting(&self, inputs: &mut AccountingInputs) {
        let AccountingInputs {
            zones: _,
            zram,
            huge: _,
            // A word of the kernel.
            thp: _,
            ksm: _,
            zswap_on: _,
            zswap_percent: _,
            zswap_same_filled: _,
            pressure: _,
            sockets: _,
            sysv: _,
            mounts,
        } = inputs;
        for device in zram.iter_mut().flatten() {
            let ZramDevice {
                name,
                size: _,
                stored: _,
                same_filled: _,
                limit: _,
                used: _,
                on_disk: _,
            } = device;
            self.boxed_str(name);
        }
        for mount in mounts.iter_mut().flatten() {
            let MemoryMount {
                device: _,
                path,
                kind,
                used: _,
                size: _,
            } = mount;
            self.boxed(path);
            self.boxed_str(kind);
        }
    }

    fn process(&mut self, sample: &mut ProcessSample) {
        let ProcessSample {
            id: _,
            exec: _,
            stat,
            facts,
            walk: _,
            data: _,
            stale: _,
            oom_score: _,
            shares_mm: _,
            counted: _,
            peak: _,
            page_tables: _,
            held,
        } = sample;
        self.facts(Arc::make_mut(facts), stat.is_kernel_thread());
        if let Some(Ok(held)) = held.as_mut().map(Arc::make_mut) {
            let Held {
                figures: _,
                objects,
                unlisted: _,
            } = held;
            for object in objects {
                let HeldObject {
                    kind: _,
                    name,
                    bytes: _,
                    vram: _,
                    holders: _,
                    fds: _,
                } = object;
                self.boxed(name);
            }
        }
    }

    fn exit(&mut self, exit: &mut crate::model::Exit) {
        let crate::model::Exit {
            pid: _,
            starttime: _,
            ppid: _,
            parent,
            uid: _,
            comm,
            cgroup,
            time: _,
            lifetime: _,
            peak: _,
            is_fork: _,
            parent_rss: _,
            code: _,
            signal: _,
        } = exit;
        *comm = self.comm(comm, None);
        if let Some(parent) = parent {
            *parent = self.comm(parent, None);
        }
        if let Some(cgroup) = cgroup {
            self.boxed(cgroup);
        }
    }

    fn facts(&mut self, facts: &mut Facts, is_kernel_thread: bool) {
        let whole = whole_name(facts).map(<[u8]>::to_vec);
        let Facts {
            comm,
            cmdline,
            uid,
            user,
            owner,
            cgroup,
            unit,
            container,
            exe,
            replaced: _,
            host,
        } = facts;
        if !is_kernel_thread {
            *comm = self.comm(comm, whole.as_deref());
        }
        if let Ok(line) = cmdline {
            self.boxed(line);
        }
        // Without a name, a user is its number.
        let number = uid.map_or_else(|_| String::new(), |uid| uid.to_string());
        for text in [user, cgroup, exe].into_iter().flatten() {
            if **text != *number.as_bytes() {
                self.shared(text);
            }
        }
        for text in [unit, host].into_iter().flatten() {
            self.shared(text);
        }
        if let Some(owner) = owner {
            self.shared(&mut Arc::make_mut(owner).name);
        }
        if let Some(container) = container {
            let Container { id, names } = Arc::make_mut(container);
            self.boxed(id);
            if let Ok(names) = names {
                let ContainerNames {
                    name,
                    pod,
                    namespace,
                    image,
                } = names;
                self.boxed(name);
                for text in [pod, namespace, image].into_iter().flatten() {
                    self.boxed(text);
                }
            }
        }
    }

    /// Replaces a short name. If the kernel cut it, the replacement is cut from the whole name's.
    fn comm(&mut self, comm: &[u8], whole: Option<&[u8]>) -> Box<[u8]> {
        if let Some(known) = self.cut.get(comm) {
            return known.clone();
        }
        let mut replaced = self.bytes(whole.unwrap_or(comm));
        if whole.is_some() {
            replaced.truncate(CUT);
            self.cut.insert(comm.into(), replaced.as_slice().into());
        }
        replaced.into()
    }

    fn taker(&mut self, taker: &Taker) -> Taker {
        let Taker {
            id: _,
            comm,
            time: _,
            memory: _,
            heap: _,
            mappings,
            kept_by,
        } = taker;
        let mappings = mappings.clone().map(|mut mappings| {
            for MappingUse { name, bytes: _ } in &mut mappings {
                self.boxed(name);
            }
            mappings
        });
        let kept_by = kept_by.as_ref().map(|path| {
            let KeptPath {
                functions,
                runtime,
                bytes: _,
                total: _,
                span: _,
            } = path;
            KeptPath {
                functions: functions.iter().map(|function| self.string(function).into()).collect(),
                runtime: runtime.as_ref().map(|runtime| self.string(runtime).into()),
                ..path.clone()
            }
        });
        Taker {
            comm: self.comm(comm, None),
            mappings,
            kept_by,
            ..taker.clone()
        }
    }

    fn kill(&mut self, mut kill: OomKill) -> OomKill {
        let OomKill {
            time: _,
            monotonic_ms: _,
            record: _,
            daemon,
            victim,
        } = &mut kill;
        if let Some(DaemonKill { name, others: _ }) = daemon
            && !KILLERS.contains(&&**name)
        {
            self.boxed_str(name);
        }
        if let Ok(victim) = victim {
            let OomVictim {
                pid: _,
                uid: _,
                comm,
                rss: _,
                by_cgroup: _,
                parts: _,
                page_tables: _,
                constraint: _,
                limit,
                cgroup,
                group,
            } = victim;
            *comm = self.comm(comm, None);
            if let Some(OomLimit {
                cgroup,
                size: _,
                usage: _,
                files: _,
            }) = limit
            {
                self.boxed(cgroup);
            }
            for text in [cgroup, group].into_iter().flatten() {
                self.boxed(text);
            }
        }
        kill
    }

    fn mapped(&self, mut object: MappedObject) -> MappedObject {
        let MappedObject {
            device: _,
            inode: _,
            kind: _,
            name,
        } = &mut object;
        self.shared(name);
        object
    }

    fn fleet(&self, fleet: &mut Fleet) {
        let Fleet {
            hosts,
            rows: _,
            is_partial: _,
        } = fleet;
        for host in hosts {
            let FleetHost {
                name,
                seen: _,
                is_gone: _,
            } = host;
            self.shared(name);
        }
    }

    fn shared(&self, text: &mut Arc<[u8]>) {
        *text = self.bytes(text).into();
    }

    fn boxed(&self, text: &mut Box<[u8]>) {
        *text = self.bytes(text).into();
    }

    fn boxed_str(&self, text: &mut Box<str>) {
        *text = self.string(text).into();
    }

    fn string(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// Replaces the words of a text.
    pub fn bytes(&self, text: &[u8]) -> Vec<u8> {
        let mut replaced = Vec::with_capacity(text.len());
        for part in text.chunk_by(|a, b| is_word(*a) && is_word(*b)) {
            // The uid of a pod has no separator before it.
            let (prefix, id) = part.split_at(if part.starts_with(b"pod") { 3 } else { 0 });
            if is_id(id) {
                replaced.extend_from_slice(prefix);
                self.put_id(id, &mut replaced);
                continue;
            }
            for word in part.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
                self.put_word(word, &mut replaced);
            }
        }
        replaced
    }

    fn put_word(&self, word: &[u8], out: &mut Vec<u8>) {
        const PAIRS: [&[u8]; 2] = [b"bcdfghjklmnprstvwxyz", b"aeiou"];
        let is_single = matches!(word, [letter] if !letter.is_ascii_digit() && letter.is_ascii());
        let is_kept = || std::str::from_utf8(word).is_ok_and(|word| KEPT.binary_search(&word).is_ok());
        if is_single || !is_word(word[0]) || is_kept() {
            out.extend_from_slice(word);
        } else if word[0].is_ascii_digit() {
            self.put_number(word, out);
        } else {
            // As many combinations as equal words are unlikely among a million.
            let mut hash = self.hash(word, 0);
            for _ in 0..if word.len() <= 3 { 4 } else { 6 } {
                for letters in PAIRS {
                    let count = letters.len() as u64;
                    out.push(letters[(hash % count) as usize]);
                    hash /= count;
                }
            }
        }
    }

    /// Replaces a number by one of as many digits: a Feistel network over its halves, which maps no two numbers to one.
    fn put_number(&self, digits: &[u8], out: &mut Vec<u8>) {
        for digits in digits.chunks(18) {
            let (left, right) = digits.split_at(digits.len() / 2);
            let number = |half: &[u8]| half.iter().fold(0, |n, digit| n * 10 + u64::from(digit - b'0'));
            let sizes = [left, right].map(|half| 10_u64.pow(half.len() as u32));
            let mut halves = [number(left), number(right)];
            for round in 0..4_usize {
                let (of, by) = (round % 2, 1 - round % 2);
                let key = self.hash(&halves[by].to_le_bytes(), (digits.len() * 8 + round) as u64);
                halves[of] = (halves[of] + key % sizes[of]) % sizes[of];
            }
            for (half, digits) in halves.into_iter().zip([left, right]) {
                if !digits.is_empty() {
                    out.extend(format!("{half:0width$}", width = digits.len()).bytes());
                }
            }
        }
    }

    /// Replaces an id. The first digits depend on the first ones alone, because an id is also known by these.
    fn put_id(&self, id: &[u8], out: &mut Vec<u8>) {
        let (short, rest) = id.split_at(id.len().min(SHORT_ID));
        for (known, part) in [(short, short), (id, rest)] {
            for (at, piece) in part.chunks(16).enumerate() {
                let digits = format!("{:016x}", self.hash(known, at as u64 + 1));
                out.extend_from_slice(&digits.as_bytes()[..piece.len()]);
            }
        }
    }

    fn hash(&self, word: &[u8], salt: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, salt, word).hash(&mut hasher);
        hasher.finish()
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Returns true for hexadecimal digits, some of which are decimal ones and some letters.
fn is_id(word: &[u8]) -> bool {
    let is_hex = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    word.len() >= SHORTEST_ID
        && word.iter().all(is_hex)
        && word.iter().any(u8::is_ascii_digit)
        && !word.iter().all(u8::is_ascii_digit)
}

/// Returns the whole name of which the short name is the cut start: the name of the program's file or of its first argument.
fn whole_name(facts: &Facts) -> Option<&[u8]> {
    let first = facts
        .cmdline
        .as_deref()
        .ok()
        .and_then(|line| line.split(|b| *b == 0).next());
    let paths = [facts.exe.as_deref().ok(), first];
    let names = paths
        .into_iter()
        .flatten()
        .filter_map(|path| path.rsplit(|b| *b == b'/').next());
    let mut names = names.filter(|name| name.len() > CUT && facts.comm.len() == CUT && name.starts_with(&facts.comm));
    names.next()
}
