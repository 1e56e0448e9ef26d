//! The words, signs and units around the table, as the help and the manual page explain them.

/// Each word as the screen shows it, and its meaning.
pub static WORDS: [(&str, &str); 51] = [
    (
        "2 figures up to 9s old",
        "The number of processes whose figures may be wrong by more than 1 % and 1 MiB, and the age of the oldest of \
         these figures. Without a number, no figure is wrong by more than that. A figure is still right if its \
         counters did not change, however old its READ is",
    ),
    (
        "figures of 09:35:10",
        "While paused: the time of the snapshot on the screen",
    ),
    (
        "reading 40 of 86",
        "The number of processes that were read since the start; zmtop reads the others next",
    ),
    (
        "reading the mappings",
        "A filter with maps: needs the mappings of all processes. Until zmtop has read them, rows may be missing",
    ),
    (
        "zmtop: 0.2 % of a core",
        "The CPU time and the resident memory (RSS) of zmtop and its children",
    ),
    (
        "zmtop callers --armed",
        "A child of zmtop that samples which code of a growing process allocates memory ([callers] in the config)",
    ),
    (
        "stuck",
        "Reads of /proc that do not return, usually of processes that wait in the kernel",
    ),
    (
        "may count twice",
        "Processes that may share one address space. Without CAP_SYS_PTRACE, zmtop cannot detect this",
    ),
    (
        "without history",
        "The number of rows without changes and verdicts, because history.max_memory is too small for all rows",
    ),
    ("up 12d", "The time since the machine started"),
    (
        "Mem",
        "Used memory and total memory: MemTotal − avail, and MemTotal of meminfo",
    ),
    (
        "█ anon",
        "Anonymous memory of processes, which belongs to no file: AnonPages of meminfo, or the used memory − Shmem if that is less",
    ),
    ("▓ shmem", "Shared memory and files of tmpfs: Shmem of meminfo"),
    (
        "▒ other",
        "The rest of the used memory: the kernel, drivers, page tables, huge pages of hugetlbfs, and the reserve of the \
         kernel. Page 2 shows the parts",
    ),
    (
        "░ cache",
        "Pages of files, which the kernel can reclaim: Cached + Buffers − Shmem of meminfo",
    ),
    (
        "avail",
        "Memory that programs can get without swapping: MemAvailable of meminfo, and what ZFS or a graphics driver \
         frees on demand",
    ),
    (
        "high",
        "The limit above which the kernel throttles a cgroup: memory.high",
    ),
    ("host", "In a container: the memory of the whole machine"),
    (
        "Swap in, out",
        "Bytes per second that are read from swap and written to it",
    ),
    (
        "zram, zswap 1.2G→410M 3.0×",
        "Swap that is compressed in memory: its size, the memory that it uses, and the ratio",
    ),
    ("disk", "Swap on a disk"),
    (
        "PSI",
        "Pressure stall information of the kernel (/proc/pressure/memory): the share of time in which tasks wait for \
         memory, averaged over 10 s",
    ),
    (
        "some",
        "Of PSI: the share of time in which at least one task waits for memory",
    ),
    (
        "full",
        "Of PSI: the share of time in which all tasks that are not idle wait for memory",
    ),
    (
        "major faults 3/s",
        "Page faults per second of the whole machine that waited for a disk",
    ),
    ("load", "The load averages over 1, 5 and 15 minutes, from /proc/loadavg"),
    (
        "▲ leak, △ growing, ◇ hoarding, ~ warming up",
        "The most serious growth of a process, a group or a part of the RAM: its rate, its start, and the time until it \
         reaches a limit. L lists all growth, with reasons",
    ),
    (
        "or earlier",
        "It was already growing when zmtop first read it. In a narrow window: since ≤09:14",
    ),
    (
        "paused for",
        "A leak that has not grown for this time, and whose memory was not freed",
    ),
    (
        "▲ DANGER",
        "At the current rate, the machine or a cgroup reaches a limit within minutes",
    ),
    (
        "▲ STALLED",
        "Tasks of the machine or of a cgroup spend much of their time waiting for memory",
    ),
    (
        "✖ KILLED",
        "A process that the kernel or a daemon killed for lack of memory; page 2 has the details. The key a hides \
         the line",
    ),
    ("FOLLOW", "The selection follows its process. The key F switches this"),
    (
        "FROZEN",
        "Rows keep their places while their figures change. The key z switches this",
    ),
    ("PAUSED", "zmtop reads no new figures. The key Z switches this"),
    (
        "read only",
        "zmtop does not change any process, because ui.readonly is set",
    ),
    (
        "! 2 alerts",
        "Alerts of the config that are firing. The key ! lists them",
    ),
    (
        "mark 5m ago",
        "A column shows the changes since this time. The key b sets a mark",
    ),
    (
        "filter, user, matching",
        "Only rows that match are shown. Esc or \\ clears the filter",
    ),
    (
        "by unit; by PSS▼",
        "The kind of groups; the sort column, if it is not on the screen",
    ),
    (
        "mappings 12s old",
        "The age of the mappings on the screen. m reads them again",
    ),
    (
        "▼ ▲",
        "In a heading: the rows are sorted by this column, largest first or smallest first",
    ),
    (
        "←2 5→ 18–34 of 108",
        "The number of hidden columns to the left and to the right, which the arrow keys scroll to, and the visible \
         rows. → scrolls: the arrow key scrolls the command lines",
    ),
    (
        "×6 ./worker; [+7]",
        "Six similar processes of one parent in one row; seven processes folded below a row of the tree",
    ),
    (
        "Σ",
        "The sums of all rows that match, or of the tagged rows. With * or (partial), some processes could not be read",
    ),
    (
        "1 unreadable",
        "The number of processes whose memory could not be read. The sums do not include them. p shows the reason",
    ),
    (
        "✖ ▲ △ ! b * z, with ┊",
        "Events in charts, each below a dotted line: a process was killed, a leak or a stall began, growth began, an \
         alert fired, the mark was set, the program started, the machine resumed (suspended 3m)",
    ),
    (
        "░ in charts",
        "The highest value in the time of a chart column, above its last value. An empty column has no sample",
    ),
    (
        "≤ ≥ - +≥2: 2 bash",
        "An upper bound; a lower bound; unknown (never zero); at least two other processes share the mapping, two of \
         them named bash",
    ),
    (
        "K M G; /s /min /h",
        "Units of 1024 bytes, and rates per second, minute or hour. E changes the unit of sizes",
    ),
    (
        "htop's N w k / a s x",
        "Sort by pid: s, then pid. Command line: Enter. Signal: F9. Search: F3. For CPU affinity, system calls and \
         file locks, use taskset -p, strace -p and lslocks -p",
    ),
];
