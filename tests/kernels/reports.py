"""The reports: each command and each page of the monitor, tried once, and the table of what works on which kernel.

The scene "reports" runs in the machines below. Its script starts a program with a known leak in a cgroup, and runs each command
of `REPORTS`, which must end with 0 and print what `shows` matches. Then it presses the keys of each page, whose screen must match
likewise. A report that lacks something says what: a pattern of `lacks` then matches, and its words are in the table instead of
the check mark; words that begin with one stand for a report that works, but lacks a part. The table must be that of
`src/manual/kernels.md`.
"""

import re
from dataclasses import dataclass, field

from scenes import SCENES, Scene


@dataclass(frozen=True)
class Machine:
    """A kernel with its processors and memory; `name` is its column in the table."""

    suite: str
    version: str
    name: str = ""
    kernel: str = ""
    memory: int = 512
    processors: int = 2


MACHINES = [
    Machine("bullseye", "v2", "5.10"),
    Machine("bookworm", "v2", "6.1"),
    Machine("trixie", "v2", "6.12"),
    Machine("sid", "v2", "newest"),
    Machine("bookworm", "v1", "6.1, cgroup v1"),
    Machine("trixie", "v2", "6.12, no PSI", kernel="psi=0"),
    # Its first file system, tmpfs by default, could be only half as large as the memory.
    Machine("trixie", "v2", "6.12, 96 MB, 1 CPU", kernel="rootfstype=ramfs", memory=96, processors=1),
]


@dataclass
class Report:
    """A command of the machine's shell, or a page with its keys, which the shell expands, too."""

    name: str
    shows: str
    run: str = ""
    keys: str = ""
    lacks: dict = field(default_factory=dict)
    seconds: int = 4


NO_SITES = {"no /proc/allocinfo": "not built in"}
SMALL_PAGES = {"each page counts as a small one": "✓, huge pages as small"}
# The first path, from the function that keeps the memory to its caller.
LEAK = r"remember_session.*\n.*← handle_request"

REPORTS = [
    Report("`callers`", r"ITS CALLERS\n.*" + LEAK, "zmtop callers --for 10s $leaker", lacks=SMALL_PAGES),
    Report("`heap`", r"in use inside\s+glibc", "kill -STOP $leaker; zmtop heap $leaker"),
    Report("`ps`", r"PSS.*COMMAND(.*\n)+.*leaker", "zmtop ps"),
    Report("`ps --by cgroup`", r"CGMEM.*(.*\n)+.*100M.* /shop", "zmtop ps --by cgroup"),
    Report(
        "`ps --every`, ended processes",
        r'"comm":"burst"',
        # Only a process of 16 MiB or more is listed.
        """[ "$(awk '/MemTotal/ { print $2 }' /proc/meminfo)" -gt 131072 ] || { echo "less than 128 MB"; exit; };"""
        "ln /bin/guest /bin/burst; rm -f /tmp/ps;"
        " (until [ -s /tmp/ps ]; do sleep 1; done; burst grow 200 17 exit) &"
        " zmtop ps --every 1 --count 5 --format ndjson >/tmp/ps;"
        """ grep -o '"exits":.*' /tmp/ps | cut -c1-900""",
        lacks={
            r'"ended":null[^}]*not offered': "✓, not their number",
            "less than 128 MB": "no room for 16 MiB",
        },
    ),
    Report("`mem`", r"anonymous memory of processes", "zmtop mem"),
    Report("`maps`", r"PSS.*MAPPING(.*\n)+.*\[heap\]", "zmtop maps $leaker"),
    Report("`held`", r"KIND +NAME", "zmtop held $leaker"),
    Report("`cache`", r"CACHED.*FILE(.*\n)+.*page cache", "zmtop cache"),
    Report("`leaks`", r"watched for only", "timeout -s INT 5 zmtop leaks"),
    Report("`leaks --prove`", r"COLD", "zmtop leaks --prove $leaker --for 2s"),
    Report(
        "`record`, `ps --from`",
        r"COMMAND(.*\n)+.*leaker",
        "timeout -s INT 6 zmtop record --every 1s /tmp/box/; zmtop ps --from /tmp/box",
    ),
    Report("`why`", r", machine: ", "zmtop why /tmp/box"),
    Report("`limits`", r"/shop", "zmtop limits /tmp/box"),
    Report("`serve`", r"zmtop_.*leaker", "zmtop serve & sleep 4; wget -q -O - http://127.0.0.1:9464/metrics; kill $!; wait $!"),
    Report("`kernel slab`", r"CACHE(.*\n)+Slab", "zmtop kernel slab"),
    Report("`kernel callers`", r"CALLER", "zmtop kernel callers --for 2s"),
    Report("`kernel sites`", r"SITE", "zmtop kernel sites", lacks=NO_SITES),
    Report("page `1`, processes", r"PSS.*COMMAND", keys="1"),
    Report(
        "page `2`, memory",
        r"anonymous memory of processes(.*\n)+.*OOM kills since boot",
        keys="2",
        lacks={"PSI +not offered": "✓, no PSI"},
    ),
    Report("page `3`, slab caches", r"SIZE.*CACHE(.*\n)+.*dentry", keys="3"),
    Report("page `3`, callers", r"PING +CALLER.*\n +[\d.]+[KMB]? ", keys="\\t", seconds=8),
    Report("page `3`, sites", r"SITE", keys="\\t", lacks=NO_SITES),
    Report("details, `p`", r"leaker(.*\n)+.*threads?  ·  runs ", keys="1 $leaker\\r p"),
    Report("open files, `l`", r"Open files.*\n.* leaker: \d+ open files", keys="\\033 l"),
    Report("leaks, `L`", r"Leaks and growth", keys="\\033 L"),
    Report("alerts, `!`", r"Alerts", keys="\\033 !"),
    Report("call paths, `O`", LEAK, keys="\\033 O", seconds=20, lacks=SMALL_PAGES),
]


def script():
    lines = [
        # Runs the script of stdin for 30 s at most, prints what it said for the judge, and ends what hangs.
        'report() { timeout -k 5 30 sh >/tmp/said 2>&1; code=$?; sed "s/^/@$1@ /" /tmp/said; echo "@$1@ code $code"; killall zmtop; } 2>/dev/null',
        "group shop 100M; start shop leaker heap 1; export leaker=$!",
        "mark begin; sleep 1",
    ]
    for number, report in enumerate(REPORTS):
        if report.run:
            lines.append(f"report {number} <<'END'\n{report.run}\nEND")
    # Slowly, so that there is room for the last page on a small machine.
    lines.append("kill -9 $leaker; start shop leaker heap 0.05; leaker=$!; rm /tmp/wait; sleep 10")
    for number, report in enumerate(REPORTS):
        if report.keys:
            keys = [f'mark "key:$(printf "{key}")"; sleep 1' for key in report.keys.split()]
            lines.append("; ".join([f"mark page:{number}", *keys, f"sleep {report.seconds}"]))
    return "\n".join([*lines, "mark stopped", ""])


SCENES["reports"] = Scene(script(), [])


def commands(console):
    """Returns the exit code and the output of each command, by its number."""
    said = {}
    for number, text in re.findall(r"^@(\d+)@ (.*)", console.replace("\r", ""), re.M):
        code = re.fullmatch(r"code (\d+)", text)
        before = said.get(int(number), (None, ""))
        said[int(number)] = (int(code[1]), before[1]) if code else (None, before[1] + text + "\n")
    return said


def judge(report, code, text):
    """Returns the cell of the table, and what is wrong."""
    if "panicked" in text:
        return "wrong", text
    lacks = next((words for pattern, words in report.lacks.items() if re.search(pattern, text)), None)
    if lacks and not lacks.startswith("✓"):
        return lacks, None
    if code == 0 and re.search(report.shows, text):
        return lacks or "✓", None
    return "wrong", f"exit code {code}:\n" + "\n".join(line for line in text.split("\n") if line.strip())


def cells(scene, console):
    """Yields the name of each report, its cell, and what is wrong, for a scene that was played."""
    said, events = commands(console), scene.events
    ends = sorted(at for name, at in events.items() if name.startswith("page:") or name == "stopped")
    for number, report in enumerate(REPORTS):
        page = events.get(f"page:{number}")
        if report.run:
            outcomes = [judge(report, *said.get(number, (None, "it was not run")))]
        elif page is None or page == ends[-1]:
            outcomes = [("wrong", "the page was not opened")]
        else:
            until = next(at for at in ends if at > page)
            outcomes = [judge(report, 0, "\n".join(lines)) for _, _, lines in scene.screens_between(page, until)]
        good = [outcome for outcome in outcomes if not outcome[1]]
        yield report.name, *(good or outcomes)[-1]
    if "gone" in events:
        yield "the monitor", "wrong", "zmtop ended"


def in_manual(manual):
    """Returns the cells of the table in the manual, by machine and report."""
    rows = [re.split(r" *\| *", line.strip())[1:-1] for line in manual.splitlines() if line.startswith("| ")]
    return {(machine, row[0]): cell for row in rows[1:] for machine, cell in zip(rows[0][1:], row[1:])}


def table(found):
    """Returns the table of the machines that were tried; `found` has their cells by machine and report."""
    machines = [machine.name for machine in MACHINES if any(name == machine.name for name, _ in found)]
    yield f"| | {' | '.join(machines)} |"
    yield f"| --- |{' --- |' * len(machines)}"
    for report in REPORTS:
        yield f"| {report.name} | {' | '.join(found.get((machine, report.name), '') for machine in machines)} |"
