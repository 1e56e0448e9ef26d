# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_zmtop_global_optspecs
    string join \n interval= f/filter= by= sort= r/reverse columns= units= no-color theme= ascii no-mouse tree readonly pick log= config= proc-root= h/help V/version
end

function __fish_zmtop_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_zmtop_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_zmtop_using_subcommand
    set -l cmd (__fish_zmtop_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c zmtop -n "__fish_zmtop_needs_command" -l interval -d 'Time between snapshots, in seconds or as 250ms, 2s, 1m (100ms to 1h)' -r
complete -c zmtop -n "__fish_zmtop_needs_command" -s f -l filter -d 'Show only what passes the filter' -r
complete -c zmtop -n "__fish_zmtop_needs_command" -l by -d 'Group by command, user, unit, container, cgroup or family; process lists each by itself' -r -f -a "command\t''
user\t''
unit\t''
container\t''
cgroup\t''
family\t''"
complete -c zmtop -n "__fish_zmtop_needs_command" -l sort -d 'Sort by this column; a leading `-` reverses' -r -f -a "pss\t''
dpss\t''
swap\t''
dswap\t''
uss\t''
rss\t''
virt\t''
history\t''
growth\t''
swap_pss\t''
footprint\t''
pss_error\t''
tree_pss\t''
tree_swap\t''
pss_anon\t''
pss_file\t''
pss_shmem\t''
pss_dirty\t''
dirty\t''
shared\t''
hugetlb\t''
trend\t''
verdict\t''
slope\t''
confidence\t''
since\t''
eta\t''
age\t''
pid\t''
ppid\t''
user\t''
uid\t''
state\t''
threads\t''
majflt\t''
minflt\t''
cpu\t''
time\t''
elapsed\t''
oom_score\t''
unit\t''
container\t''
cgroup\t''
family\t''
comm\t''
exe\t''
replaced\t''
unread\t''
command\t''
cmdline\t''
count\t''
shared_pss\t''
avg_pss\t''
cg_current\t''
cg_limit\t''
cg_swap\t''
group\t''
mark_pss\t''
mark_swap\t''
hot\t''
cold\t''
cold_for\t''"
complete -c zmtop -n "__fish_zmtop_needs_command" -l columns -d 'Show these columns, from left to right' -r
complete -c zmtop -n "__fish_zmtop_needs_command" -l units -d 'Write bytes as auto, k, m, g or bytes' -r -f -a "auto\t''
k\t''
m\t''
g\t''
bytes\t''"
complete -c zmtop -n "__fish_zmtop_needs_command" -l theme -d 'Use this theme: auto, default, light, mono, colorblind, dracula, nord, gruvbox, solarized, catppuccin, monokai, or one of your own' -r -f -a "default\t''
light\t''
mono\t''
colorblind\t''
dracula\t''
nord\t''
gruvbox\t''
solarized\t''
catppuccin\t''
monokai\t''
ansi\t''
ansi-light\t''"
complete -c zmtop -n "__fish_zmtop_needs_command" -l log -d 'Append zmtop\'s own log to FILE' -r -F
complete -c zmtop -n "__fish_zmtop_needs_command" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_needs_command" -l proc-root -d 'Read another proc tree than /proc' -r -F
complete -c zmtop -n "__fish_zmtop_needs_command" -s r -l reverse -d 'Reverse the order'
complete -c zmtop -n "__fish_zmtop_needs_command" -l no-color -d 'Use no colours'
complete -c zmtop -n "__fish_zmtop_needs_command" -l ascii -d 'Draw the screen in ASCII: no lines, blocks, arrows or Greek letters'
complete -c zmtop -n "__fish_zmtop_needs_command" -l no-mouse -d 'Leave the mouse to the terminal'
complete -c zmtop -n "__fish_zmtop_needs_command" -l tree -d 'Start with the tree'
complete -c zmtop -n "__fish_zmtop_needs_command" -l readonly -d 'Change nothing: send no signals, set no niceness, run no programs of alerts'
complete -c zmtop -n "__fish_zmtop_needs_command" -l pick -d 'Let Enter choose: print the process\'s pid on standard output and end, as in kill $(zmtop --pick). Prints those of all tagged processes; exit code 1 if none was chosen'
complete -c zmtop -n "__fish_zmtop_needs_command" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_needs_command" -s V -l version -d 'Print version'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "ps" -d 'Print a table of the processes, once or again and again'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "mem" -d 'Account for the system\'s memory: RAM, swap, what is compressed, and where the RAM went'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "maps" -d 'Print the mappings of processes, those of one name together'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "leaks" -d 'Watch for a while, or go through a recording, and tell who leaks: since when, how fast, how sure'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "kernel" -d 'Look into the kernel\'s own memory'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "config" -d 'Show or check the configuration'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "completions" -d 'Write what completes this command line in a shell'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "man" -d 'Write the manual page; zmtop man | man -l - shows it'
complete -c zmtop -n "__fish_zmtop_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l by -d 'Sum up by command, user, unit, container, cgroup, family or mapping' -r -f -a "command\t''
user\t''
unit\t''
container\t''
cgroup\t''
family\t''
mapping\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l sort -d 'Sort by this column; a leading `-` reverses' -r -f -a "pss\t''
dpss\t''
swap\t''
dswap\t''
uss\t''
rss\t''
virt\t''
history\t''
growth\t''
swap_pss\t''
footprint\t''
pss_error\t''
tree_pss\t''
tree_swap\t''
pss_anon\t''
pss_file\t''
pss_shmem\t''
pss_dirty\t''
dirty\t''
shared\t''
hugetlb\t''
trend\t''
verdict\t''
slope\t''
confidence\t''
since\t''
eta\t''
age\t''
pid\t''
ppid\t''
user\t''
uid\t''
state\t''
threads\t''
majflt\t''
minflt\t''
cpu\t''
time\t''
elapsed\t''
oom_score\t''
unit\t''
container\t''
cgroup\t''
family\t''
comm\t''
exe\t''
replaced\t''
unread\t''
command\t''
cmdline\t''
count\t''
shared_pss\t''
avg_pss\t''
cg_current\t''
cg_limit\t''
cg_swap\t''
group\t''
mark_pss\t''
mark_swap\t''
hot\t''
cold\t''
cold_for\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l columns -d 'Show these columns, from left to right' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l units -d 'Write bytes as auto, k, m, g or bytes' -r -f -a "auto\t''
k\t''
m\t''
g\t''
bytes\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l top -d 'List no more than the first N' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l format -d 'Write it as' -r -f -a "table\t'For people'
json\t'A single object; processes as a snapshot that --from reads, unless --columns chooses'
ndjson\t'The same in one line, with --every a line each time'
csv\t'RFC 4180, safe for spreadsheets'"
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l every -d 'Go on and print, this often, what changed: in seconds or as 250ms, 2s, 1m (100ms to 1h)' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l count -d 'End after N tables' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l at -d 'With --from: as it was at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m before its end' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l proc-root -d 'Read another proc tree than /proc' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l from -d 'Show what was written to FILE as json or ndjson, plain or zstd; - is standard input' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l tree -d 'Show each process below its parent, with what it holds together with its descendants'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -s r -l reverse -d 'Reverse the order'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l no-color -d 'Use no colours'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l percent -d 'Write bytes as a percentage of the machine\'s RAM'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l bars -d 'Draw the column sorted by as bars beside the rows'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -s H -l no-header -d 'Leave out the line of titles'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l no-totals -d 'Leave out the row of totals'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l total-only -d 'Print nothing but the sum of the column sorted by, in bytes unless --units says otherwise'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -l all -d 'With --every: list what did not change too'
complete -c zmtop -n "__fish_zmtop_using_subcommand ps" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -l units -d 'Write bytes as auto, k, m, g or bytes' -r -f -a "auto\t''
k\t''
m\t''
g\t''
bytes\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -l format -d 'Write it as' -r -f -a "table\t'For people'
json\t'A single object; processes as a snapshot that --from reads, unless --columns chooses'
ndjson\t'The same in one line, with --every a line each time'
csv\t'RFC 4180, safe for spreadsheets'"
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -l at -d 'With --from: as it was at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m before its end' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -l proc-root -d 'Read another proc tree than /proc' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -l from -d 'Account for what was written to FILE as json or ndjson, plain or zstd; - is standard input' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -l no-color -d 'Use no colours'
complete -c zmtop -n "__fish_zmtop_using_subcommand mem" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l sort -d 'Sort by this column; a leading `-` reverses' -r -f -a "pss\t''
uss\t''
rss\t''
swap\t''
swap_pss\t''
footprint\t''
dirty\t''
pss_dirty\t''
shared\t''
hugetlb\t''
size\t''
locked\t''
thp\t''
referenced\t''
areas\t''
address\t''
perms\t''
offset\t''
device\t''
inode\t''
flags\t''
kind\t''
deleted\t''
mapping\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l columns -d 'Show these columns, from left to right' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l units -d 'Write bytes as auto, k, m, g or bytes' -r -f -a "auto\t''
k\t''
m\t''
g\t''
bytes\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l top -d 'List no more than the first N of each process' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l format -d 'Write it as' -r -f -a "table\t'For people'
json\t'A single object; processes as a snapshot that --from reads, unless --columns chooses'
ndjson\t'The same in one line, with --every a line each time'
csv\t'RFC 4180, safe for spreadsheets'"
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l proc-root -d 'Read another proc tree than /proc' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l areas -d 'List each area, with its address and permissions, not those of one name together'
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -s r -l reverse -d 'Reverse the order'
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -l no-color -d 'Use no colours'
complete -c zmtop -n "__fish_zmtop_using_subcommand maps" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l for -d 'Watch for so long before telling: 2m to 24h (20m); growth shows after two minutes, a leak after 16 at the soonest. With --prove 1s to 24h (1m). Ctrl-C tells at once' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l prove -d 'Tell what this process, by pid or name, does not touch of its memory, as leaked memory is never touched: clears its referenced bits, waits, and looks' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l interval -d 'Time between two looks, in seconds or as 250ms, 2s, 1m (100ms to 1h)' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l by -d 'Tell of groups by command, user, unit, container, cgroup or family instead' -r -f -a "command\t''
user\t''
unit\t''
container\t''
cgroup\t''
family\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l top -d 'Tell of no more than the first N' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l format -d 'Write it as' -r -f -a "table\t'For people'
json\t'A single object; processes as a snapshot that --from reads, unless --columns chooses'
ndjson\t'The same in one line, with --every a line each time'
csv\t'RFC 4180, safe for spreadsheets'"
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l units -d 'Write bytes as auto, k, m, g or bytes' -r -f -a "auto\t''
k\t''
m\t''
g\t''
bytes\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l at -d 'With --from: as it was at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m before its end' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l proc-root -d 'Read another proc tree than /proc' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l from -d 'Judge what was written to FILE as json or ndjson, plain or zstd; - is standard input' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l all -d 'Tell of all that could be judged, not only of what grows'
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l check -d 'End with exit code 1 if anything leaks'
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -l no-color -d 'Use no colours'
complete -c zmtop -n "__fish_zmtop_using_subcommand leaks" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and not __fish_seen_subcommand_from slab help" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and not __fish_seen_subcommand_from slab help" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and not __fish_seen_subcommand_from slab help" -f -a "slab" -d 'Print the slab caches: the memory of each, how much of it is used, and what is wasted'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and not __fish_seen_subcommand_from slab help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l sort -d 'Sort by this column; a leading `-` reverses' -r -f -a "size\t''
used\t''
waste\t''
use\t''
active\t''
objects\t''
object_size\t''
slabs\t''
per_slab\t''
cache\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l columns -d 'Show these columns, from left to right' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l units -d 'Write bytes as auto, k, m, g or bytes' -r -f -a "auto\t''
k\t''
m\t''
g\t''
bytes\t''"
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l top -d 'List no more than the first N' -r
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l format -d 'Write it as' -r -f -a "table\t'For people'
json\t'A single object; processes as a snapshot that --from reads, unless --columns chooses'
ndjson\t'The same in one line, with --every a line each time'
csv\t'RFC 4180, safe for spreadsheets'"
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l proc-root -d 'Read another proc tree than /proc' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -s r -l reverse -d 'Reverse the order'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -l no-color -d 'Use no colours'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from slab" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "slab" -d 'Print the slab caches: the memory of each, how much of it is used, and what is wasted'
complete -c zmtop -n "__fish_zmtop_using_subcommand kernel; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and not __fish_seen_subcommand_from show check path default help" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and not __fish_seen_subcommand_from show check path default help" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and not __fish_seen_subcommand_from show check path default help" -f -a "show" -d 'Print the settings in force, and which differ from the defaults'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and not __fish_seen_subcommand_from show check path default help" -f -a "check" -d 'Name every fault in the settings, the keymap and the theme'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and not __fish_seen_subcommand_from show check path default help" -f -a "path" -d 'Print where the settings are looked for'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and not __fish_seen_subcommand_from show check path default help" -f -a "default" -d 'Print the shipped settings, each with what it means'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and not __fish_seen_subcommand_from show check path default help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from check" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from path" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from path" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from default" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from default" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print the settings in force, and which differ from the defaults'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "check" -d 'Name every fault in the settings, the keymap and the theme'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "path" -d 'Print where the settings are looked for'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "default" -d 'Print the shipped settings, each with what it means'
complete -c zmtop -n "__fish_zmtop_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c zmtop -n "__fish_zmtop_using_subcommand completions" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c zmtop -n "__fish_zmtop_using_subcommand man" -l config -d 'Read the settings from FILE, and keymap.toml and themes/ beside it; may stand before a command, too' -r -F
complete -c zmtop -n "__fish_zmtop_using_subcommand man" -s h -l help -d 'Print help'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "ps" -d 'Print a table of the processes, once or again and again'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "mem" -d 'Account for the system\'s memory: RAM, swap, what is compressed, and where the RAM went'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "maps" -d 'Print the mappings of processes, those of one name together'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "leaks" -d 'Watch for a while, or go through a recording, and tell who leaks: since when, how fast, how sure'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "kernel" -d 'Look into the kernel\'s own memory'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "config" -d 'Show or check the configuration'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "completions" -d 'Write what completes this command line in a shell'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "man" -d 'Write the manual page; zmtop man | man -l - shows it'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and not __fish_seen_subcommand_from ps mem maps leaks kernel config completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and __fish_seen_subcommand_from kernel" -f -a "slab" -d 'Print the slab caches: the memory of each, how much of it is used, and what is wasted'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Print the settings in force, and which differ from the defaults'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "check" -d 'Name every fault in the settings, the keymap and the theme'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "path" -d 'Print where the settings are looked for'
complete -c zmtop -n "__fish_zmtop_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "default" -d 'Print the shipped settings, each with what it means'
