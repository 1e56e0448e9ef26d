"""The scenes: what happens in the machine, and what the first screen must say about it, and when.

A script runs in the machine (512 MB, about 400 of them free) with the functions of `init`: `group`, `start`, `killed`, `swap`,
`mark EVENT`, `clock`. One zmtop runs all the time, and for 20 s or more when a script starts. `init` notes the events "scene" three seconds before
that and "end" after the calm that follows it; a script marks "begin" where the load begins. Every scene has programs of its
own, as a kill stays on the screen for ten minutes.

A rule is a `Say`: the pattern must be in a line of the screen within so many seconds of an event, and stay there until
another; or a `Never`: it must be in no line between two events (the first with so many seconds of grace). A `Draws` checks that
zmtop keeps drawing, and a `Since` checks the time at which growth is said to have begun. Times are the machine's own. After the
event "pause SECONDS " (the space marks the end of the number), the host pauses the machine for that long. `clock` notes what the
machine's clock shows.
"""

from dataclasses import dataclass


@dataclass
class Say:
    pattern: str
    within: float
    since: str = "begin"
    until: str | None = None


@dataclass
class Never:
    pattern: str
    since: str = "scene"
    until: str = "end"
    grace: float = 0


@dataclass
class Draws:
    """zmtop draws at least once every `every` seconds."""

    every: float = 5
    since: str = "begin"
    until: str | None = "stopped"


@dataclass
class Since:
    """If the line with this name says since when it grows, that is at most `minutes` after the event "started", and one before."""

    name: str
    minutes: int = 2
    since: str = "begin"
    until: str | None = "stopped"


# The words of the screen, each in one place.
DANGER = "▲ DANGER"
KILLED = "✖ KILLED"
STALLED = "STALLED|stuck"
FULL = "full in"
MACHINE_FULL = r"memory (is )?full in"
ALARM = f"DANGER|KILLED|{STALLED}|{FULL}"
# A line of growth has FULL too. On an overloaded machine, the first line may count reads as stuck.
LOUD = "DANGER|STALLED"


@dataclass
class Scene:
    script: str
    rules: list
    # Cgroup versions.
    on: tuple = ("v2", "v1")
    # Time limit, without the calm at the end.
    seconds: int = 120
    # What must be in no line before the load begins.
    silent: str = f"DANGER|{STALLED}|{FULL}"
    # Added to the kernel's command line. The scene then has a machine of its own.
    kernel: str = ""


def line(sign, *words):
    """A line with this sign and all these words, in whichever order."""
    return sign + "".join(f"(?=.*{word})" for word in words)


def danger(*words, within=3, until=None):
    return Say(line(DANGER, *words), within, until=until)


def kill(*words):
    return Say(line(KILLED, *words), 3, since="killed")


def ends(event, grace=2):
    """No danger once this has happened."""
    return Never(f"DANGER|{FULL}", since=event, grace=grace)


# A danger that names another than this one, or nobody.
def other_than(*names):
    return Never(rf"DANGER.*{FULL}(?!.*({'|'.join(names)}))", since="begin", until="killed", grace=3)


# In every scene: zmtop shows its figures.
ALWAYS = [Say(r"\bMem\b.* avail ", 5, since="scene", until="end")]

# A program grows by 4.7 MiB a minute (guest.c takes whole pages), which is reported before the event "begin".
GROWS = """
        mark started
        start . {} grow 0.1
        sleep 110
        clock
        mark begin
"""


def goes_on(name, every=5):
    """zmtop keeps drawing, shows the growth with its rate, and raises no alarm."""
    return [
        Say(line("△ growing", name, r"4\.\dM/min"), 1, until="end"),
        Since(name),
        Draws(every),
        Never(LOUD),
    ]


def growing(name, script, *rules, every=5, seconds=240):
    """A scene in which a program grows slowly meanwhile."""
    return Scene(GROWS.format(name) + script, [*goes_on(name, every), *rules], silent=LOUD, seconds=seconds)


def thrashing(name, swap):
    """A scene in which more is touched than there is, with swap: it is never full, but nothing runs."""
    script = f"""
        {swap}
        mark begin
        start . {name} thrash 500 20
        wait $!
        mark stopped
    """
    rules = [
        Say(line(f"({STALLED})", name), 15, since="filled", until="stopped"),
        Never(f"DANGER|{FULL}", since="filled", grace=3),
        Never(STALLED, since="stopped", grace=10),
    ]
    return Scene(script, rules)


SCENES = {
    # Page cache, at the limit of a cgroup and of the machine: nothing is wrong. The first of a machine, as no kill came before.
    "cache": Scene(
        """
        group backup 60M
        mark begin
        (echo 0 >$groups/backup/cgroup.procs
         dd if=/dev/zero of=/dev/vda bs=64k count=2400; dd if=/dev/vda of=/dev/null bs=64k count=4800; sync) &
        wait $!
        dd if=/dev/vda of=/dev/null bs=64k count=16000
        mark stopped
        """,
        [Never(ALARM)],
    ),
    # A program takes the machine's memory until the kernel kills it.
    "machine": Scene(
        """
        mark begin
        start . importer grow 20
        killed $!
        """,
        [
            danger("memory is full", "importer", until="killed"),
            other_than("importer"),
            kill("importer"),
            ends("killed"),
        ],
    ),
    # The same where there is swap to go to first.
    "swap": Scene(
        """
        swap 128M
        mark begin
        start . archiver grow 20
        killed $!
        """,
        [
            danger("memory is full", "archiver", until="killed"),
            other_than("archiver"),
            kill("archiver"),
            ends("killed"),
        ],
    ),
    # A cgroup's own limit.
    "limit": Scene(
        """
        group shop 100M
        mark begin
        start shop seller grow 4
        killed $!
        """,
        [
            danger("/shop", "seller", until="killed"),
            Never(MACHINE_FULL),
            other_than("seller"),
            kill("seller", "/shop", "100M"),
            ends("killed"),
        ],
    ),
    # The limit of a parent.
    "parent": Scene(
        """
        group store 80M
        group store/till
        mark begin
        start store/till cashier grow 4
        killed $!
        """,
        [
            danger("/store(?!/)", "cashier", until="killed"),
            Never(MACHINE_FULL),
            other_than("cashier"),
            kill("cashier", "/store(?!/)", "80.0M"),
            ends("killed"),
        ],
    ),
    # A pod of two containers within a slice, killed as a whole.
    "pods": Scene(
        """
        group kubepods
        group kubepods/pod7 90M
        group kubepods/pod7/app
        group kubepods/pod7/side
        echo 1 >$groups/kubepods/pod7/memory.oom.group
        start kubepods/pod7/side sidecar grow 200 10
        sleep 3
        mark begin
        start kubepods/pod7/app checkout grow 4
        killed $!
        """,
        [
            danger("/pod7(?!/)", "checkout", until="killed"),
            Never(MACHINE_FULL),
            other_than("checkout"),
            kill("checkout", "/pod7"),
            ends("killed"),
        ],
        on=("v2",),
    ),
    # The kernel kills another than the one that grew.
    "bystander": Scene(
        """
        group site 120M
        start site database grow 400 70
        victim=$!
        sleep 3
        mark begin
        start site crawler grow 3 60 exit
        killed $victim
        wait $!
        mark stopped
        """,
        [
            danger("/site", "crawler", until="killed"),
            Never(MACHINE_FULL),
            other_than("crawler"),
            kill("database", "/site", "crawler"),
            ends("stopped"),
        ],
    ),
    # More than a minute is left, and the program ends by itself.
    "slow": Scene(
        """
        group night 100M
        mark begin
        start night mailer grow 1 25 exit
        wait $!
        mark stopped
        """,
        [
            danger("/night", "mailer", within=15, until="stopped"),
            Never(MACHINE_FULL),
            Never(KILLED + ".*mailer"),
            ends("stopped"),
        ],
    ),
    # A soft limit: the program stands still.
    "high": Scene(
        """
        group batch
        echo 50M >$groups/batch/memory.high
        mark begin
        start batch reporter grow 10
        while [ $(cat $groups/batch/memory.current) -lt 51000000 ]; do sleep 0.2; done
        mark high
        sleep 25
        kill -9 $!
        wait $!
        mark stopped
        """,
        [
            Say(line(f"({STALLED})", "/batch", "reporter"), 10, since="high", until="stopped"),
            Never(MACHINE_FULL),
            ends("stopped"),
            Never(STALLED, since="stopped", grace=10),
        ],
        on=("v2",),
    ),
    "thrash": thrashing("indexer", "swap 500M"),
    # As "thrash", but with swap on a disk.
    "disk": thrashing("sorter", "mkswap /dev/vda; swapon /dev/vda"),
    # Memory that no process has: a tmpfs.
    "tmpfs": Scene(
        """
        mount -t tmpfs -o size=90% dump /mnt
        mark begin
        start . dumper write /mnt/dump 15 240
        wait $!
        mark stopped
        """,
        [
            danger("memory is full", "/mnt", until="stopped"),
            Never("no single process"),
            ends("stopped"),
        ],
    ),
    # A pool of huge pages, which is taken at once, then the kernel's own memory for 60,000 files.
    "kernel": Scene(
        """
        mount -t tmpfs -o nr_inodes=100k many /mnt
        mark begin
        echo 50 >/proc/sys/vm/nr_hugepages
        mark pool
        sleep 6
        mark files
        start . maker files /mnt 60000
        wait $!
        mark stopped
        """,
        [
            Never("no single process"),
            Never(f"DANGER|{FULL}", since="pool", until="files", grace=2),
            ends("stopped"),
        ],
    ),
    # A program takes the machine's memory, while zmtop itself has 3 MB of RAM and the swap: it is slow, says so, and goes on.
    "squeezed": Scene(
        """
        group dinner
        echo 0 >$groups/dinner/memory.swap.max
        mark begin
        start dinner glutton grow 10
        killed $!
        sleep 60
        """,
        [
            Say(line("STALLED", "/monitor"), 60),
            Draws(60, since="begin", until="killed"),
        ],
        on=("v2",),
        seconds=240,
        silent="DANGER",
        kernel="squeeze=3M",
    ),
    # The clock is set forward by an hour, then back by two. Meanwhile a program grows.
    "clock": growing(
        "accountant",
        """
        date -s "@$(($(date +%s) + 3600))" && mark forward
        clock
        sleep 15
        date -s "@$(($(date +%s) - 7200))" && mark back
        clock
        sleep 15
        hwclock -s
        clock
        mark stopped
        """,
        Say("avail", 5, since="forward"),
        Say("avail", 5, since="back"),
    ),
    # The host pauses the machine. Then its clock is set from the hardware clock, which kept running.
    "paused": growing(
        "librarian",
        """
        mark "pause 60 "
        while [ $(($(cat /sys/class/rtc/rtc0/since_epoch) - $(date +%s))) -lt 50 ]; do sleep 0.2; done
        mark resumed
        hwclock -s
        clock
        sleep 15
        mark stopped
        """,
        Say("avail", 5, since="resumed"),
        seconds=300,
    ),
    # The machine suspends itself to RAM. The growth then still began when it did.
    "suspended": growing(
        "gardener",
        """
        echo +60 >/sys/class/rtc/rtc0/wakealarm
        echo mem >/sys/power/state && mark resumed
        sleep 20
        mark stopped
        """,
        Say("avail", 5, since="resumed"),
        seconds=300,
    ),
    # A hundred programs keep the two processors busy.
    "busy": growing(
        "painter",
        """
        jobs=
        for n in $(seq 100); do (while :; do :; done) & jobs="$jobs $!"; done
        sleep 45
        kill -9 $jobs
        mark stopped
        """,
        every=60,
    ),
}
