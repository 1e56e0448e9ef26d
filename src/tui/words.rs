//! The words, signs and units around the table, as the help and the manual page explain them.

/// Each word as the screen shows it, and its meaning.
pub static WORDS: [(&str, &str); 51] = [
    (
        "2 figures up to 9s old",
        "So many processes have figures that may be wrong by more than 1 % and 1 MiB, and the age of the oldest. Without a number, none \
         has: a figure whose counters have not moved is right, however old its READ is",
    ),
    ("figures of 09:35:10", "While paused: the time of the last snapshot"),
    (
        "reading 40 of 86",
        "So many processes were read since the start; the others follow",
    ),
    (
        "reading the mappings",
        "A filter by maps: needs the mappings of processes; until they are read, rows may be missing",
    ),
    (
        "zmtop: 0.2 % of a core",
        "The CPU time and the resident memory (RSS) of zmtop and its children",
    ),
    (
        "zmtop callers --armed",
        "A child of zmtop, which samples where a growing process takes memory ([callers] in the config)",
    ),
    (
        "stuck",
        "Reads of /proc that do not return, mostly of processes that wait in the kernel",
    ),
    (
        "may count twice",
        "Threads of one address space that zmtop cannot recognize without CAP_SYS_PTRACE",
    ),
    (
        "without history",
        "Rows without changes and verdicts, as history.max_memory is too small for all",
    ),
    ("up 12d", "The time since the machine started"),
    ("Mem", "Used memory of all memory: MemTotal − MemAvailable of meminfo"),
    ("█ anon", "Memory of programs that is in no file: AnonPages of meminfo"),
    ("▓ shmem", "Shared memory and files of tmpfs: Shmem of meminfo"),
    (
        "▒ other",
        "The rest of the used memory, by its parts on page 2: the kernel, drivers, page tables, and what the kernel keeps back",
    ),
    (
        "░ cache",
        "Pages of files, which the kernel can give back: Cached + Buffers − Shmem of meminfo",
    ),
    (
        "avail",
        "What programs can get without swapping, as the kernel estimates: MemAvailable of meminfo",
    ),
    ("high", "The limit from which on a cgroup is slowed down: memory.high"),
    ("host", "In a container: the memory of the whole machine"),
    (
        "Swap in, out",
        "Bytes per second that are read from swap, and written to it",
    ),
    (
        "zram, zswap 1.2G→410M 3.0×",
        "Swap kept compressed in memory: its size, what it takes, and the ratio",
    ),
    ("disk", "Swap in areas on a disk"),
    (
        "PSI",
        "Pressure stall information of the kernel (/proc/pressure/memory): how much tasks wait for memory, averaged over 10 s",
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
        "Page faults per second that had to wait for a disk, in the machine",
    ),
    ("load", "The load averages over 1, 5 and 15 minutes, of /proc/loadavg"),
    (
        "▲ leak, △ growing, ◇ hoarding, ~ warming up",
        "The worst suspect, its pace, since when, and when it reaches a limit; L lists all with reasons",
    ),
    (
        "or earlier",
        "It grew already when zmtop began to watch it; in a narrow window: since ≤09:14",
    ),
    (
        "paused for",
        "A leak that has not grown for that long, and has given nothing back",
    ),
    (
        "▲ DANGER",
        "The machine or a cgroup reaches a limit within minutes at the present pace",
    ),
    (
        "▲ STALLED",
        "Tasks of the machine or of a cgroup spend much of their time waiting for memory",
    ),
    (
        "✖ KILLED",
        "A process that the kernel or a daemon killed for lack of memory; page 2 has the details, a hides the line",
    ),
    ("FOLLOW", "The selection stays with its process: the key F"),
    ("FROZEN", "Rows keep their places while their figures change: the key z"),
    ("PAUSED", "No new figures are read: the key Z"),
    ("read only", "No process can be changed from here: ui.readonly"),
    ("! 2 alerts", "Rules of the config that apply now: the key ! lists them"),
    (
        "mark 5m ago",
        "Changes are shown since that moment: the key b sets a mark",
    ),
    (
        "filter, user, matching",
        "Only rows that match are shown; Esc or \\ clears that",
    ),
    (
        "by unit; by PSS▼",
        "The kind of group; the order, if the column that orders the rows is not on the screen",
    ),
    (
        "mappings 12s old",
        "The mappings are shown as they were read then; m reads them again",
    ),
    (
        "▼ ▲",
        "In a heading: the rows are ordered by it, the greatest or the lowest first",
    ),
    (
        "←2 5→ 18–34 of 108",
        "Columns to the left and to the right that the arrow keys scroll to, and the rows in sight; → scrolls: the commands",
    ),
    (
        "×6 ./worker; [+7]",
        "Equal processes of one parent in one row; processes folded below a row of the tree",
    ),
    (
        "Σ",
        "The sums of all rows that match, or of the tagged ones; * or (partial): some could not be read",
    ),
    (
        "1 unreadable",
        "Processes whose memory could not be read: they are in no sum. p shows why",
    ),
    (
        "✖ ▲ △ ! b * z, with ┊",
        "In charts, when something happened: a process was killed, a leak or a stall began, growth began, an alert fired, the \
         mark was set, the program started, the machine woke up (suspended 3m)",
    ),
    (
        "░ in charts",
        "The highest value of a column's time, above its last one; an empty column has no sample",
    ),
    (
        "≤ ≥ - +≥2: bash",
        "An upper bound, a lower bound, unknown (never zero), and two or more other processes that share a mapping",
    ),
    (
        "K M G; /s /min /h",
        "Units of 1024 bytes, and paces per second, minute or hour. E changes the unit of sizes",
    ),
    (
        "htop's N w k / a s x",
        "Sort by pid: s, then pid. Command line: Enter. Signal: F9. Search: F3. CPU affinity, system calls and file locks are not \
         here: taskset -p, strace -p, lslocks -p",
    ),
];
