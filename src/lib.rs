//! zmtop, a top-like terminal monitor for Linux memory.
//!
//! This page is for contributors. It explains the [words](#glossary), the [layers](#layers) of the code, the path of
//! [a snapshot](#from-the-kernel-to-a-cell) and of [a key](#from-a-key-to-a-cell) through them, and [how to add](#how-to-add)
//! features. Users should start with the README and the longer pages in [`manual`].
//!
//! # Glossary
//!
//! | word | meaning |
//! | --- | --- |
//! | PSS, USS, RSS, swap, `SwapPss` | as `Documentation/filesystems/proc.rst` of the kernel defines them. USS is `Private_Clean + Private_Dirty` |
//! | footprint | PSS + `SwapPss`: the memory of a process in RAM and in swap, without pages of hugetlbfs or swapped-out shared memory. Verdicts are based on it |
//! | walk | one read of `/proc/PID/smaps_rollup`, for which the kernel walks page tables: the expensive operation |
//! | glance | one read of `/proc/PID/stat`. It is cheap. If its counters did not change, the process itself changed nothing; other processes or the kernel may have |
//! | age | the time since the walk that a figure is based on |
//! | tolerance | the error of a figure that zmtop accepts: 1 % of the figure or 1 MiB, whichever is larger. Smaller changes are not coloured |
//! | new, due, idle | states of a process. New: it was never walked. Due: its PSS may be wrong by more than the tolerance. Idle: all others. See [`sampler::policy::plan`] |
//! | expensive | a process whose walk takes more than 20 ms of CPU time |
//! | budget, token bucket | the budget is the share of a core that walks may use. It fills a bucket over time; each walk takes its cost from the bucket |
//! | tagged | chosen by the user with `Space`. The screen shows the sum of the tagged rows, and an action applies to all of them |
//! | focus | the processes on the screen and the tagged ones. They are walked first |
//! | tick, snapshot | a tick is one round of the sampler. It publishes a snapshot: the raw readings of that round |
//! | identity | `(pid, starttime)`: a reused pid is another process |
//! | reading | a value, or the reason why it is [missing](model::Missing). Never 0 for "unknown" |
//! | row, row key | one line of a table, and its stable identifier: a process's identity or a group's key |
//! | group | the sum of the processes of one program, user, unit, container, pod, cgroup or family; or of the mappings of one name |
//! | family | a process and its descendants, usually a daemon. Its head was started by an init, a supervisor, a shell or the like, or is the first process of a container. See [`manual::peers`] |
//! | equal siblings | processes with the same parent, user and cgroup whose command lines differ only in numbers. The screen folds three or more into one row: [`query::Folds`] |
//! | shared mm | processes with one address space (`CLONE_VM`); a sum counts it once |
//! | history, series | history: the series of all rows. Series: the footprints of one row at five resolutions; older values are coarser |
//! | bucket, run | bucket: one step of a series. Run: consecutive buckets of equal value, stored as one |
//! | horizon, floor | horizon: a period up to now over which a series is judged, from 80 s to 30 days. Floor: the lowest value in one of its 16 parts |
//! | judgement, verdict | judgement: what [`trend::judge`] finds in a series. Verdict: its summary in one word: leaking, growing, hoarding, warming, steady or shrinking |
//! | hoard | memory that a program freed but that its allocator or runtime keeps. It is not a leak |
//! | fleet | many hosts at once, read from a Prometheus server. A row is then a group of processes on one host, as `zmtop serve` exports it |
//! | suspect | a process or group with a verdict worth showing |
//! | hot, cold | hot: the resident pages that a process touched since zmtop cleared its referenced bits. Cold: its other resident pages |
//! | mark | the figures at a time that the user chose, to show the changes since then |
//! | engine | the part of zmtop that turns snapshots into history, verdicts and alerts. The screen only shows them |
//! | needs | the data that the columns, filters and panels in use require. Nothing else is read |
//! | frozen | a table whose order is fixed while its values keep updating |
//! | scope | a cgroup that stands in for the machine: zmtop shows its memory and limit. It is the cgroup of zmtop's own container, or the one of `--cgroup` |
//! | part | one line of the breakdown of the RAM, such as file cache, unreclaimable slab, or unaccounted memory |
//! | need | the part of a cgroup's memory that must stay in RAM or in swap: all that reclaim does not free first |
//! | page | what the screen shows between its header and its last line: the processes, the breakdown of the RAM, or the kernel's own memory |
//! | modal | a popup, dialog or prompt; it receives the keys while it is open |
//! | effect | an action outside the state, returned by [`tui::update`](fn@tui::update) for the run loop to perform |
//!
//! # Layers
//!
//! A file imports only from its own layer and from lower ones. The modules of L9 do not import each other. There are
//! no import cycles, with one exception: a file may import from a module that contains it, as `foo/bar.rs` does from
//! `foo.rs`. `cargo test arch::` checks these rules. `tests/promises.md` lists what zmtop promises, with the tests of each promise.
//!
//! ```text
//! L0   units text order schema  bytes, rates, durations; foreign bytes made safe to print; sorting; the fields of documents
//! L1   model                 plain data: snapshot, process, system, mapping, reading
//! L2   trend group account   a verdict from a series; sums of processes; the breakdown of the RAM
//!      call_tree             call paths and the memory that each allocated and kept
//!      heap                  what an allocator or a runtime holds: in use, free, by type; what a trim would return
//! L3   filter history        the filter language; the history of every row, marks, suspects
//!      limits                what each cgroup needed in a recording, and the limit to set
//! L4   columns               the tables of columns, and the rows they read
//! L5   alert query why       rules that fire; which rows are shown, in which order; what happened in a recording
//! L6   engine proc record    snapshots to history, verdicts, alerts; bytes of /proc and sysfs to model; zmtop/1 to model and back
//!      own                   the limits of zmtop's own process
//!      zone                  the time zone
//! L7   sampler source act    snapshots of this machine; of a file; signals, niceness, clear_refs
//!      fleet http            snapshots of many hosts; an HTTP client
//!      stacks                the code that allocates the memory of a process
//!      heaps                 the heaps of the processes of this machine
//! L8   config                settings, keymap, themes
//! L9   tui output serve      the screen; printed reports; metrics
//!      recorder              recordings of this machine
//! L10  cli run main          the command line, and the wiring
//! ```
//!
//! L0 to L5 are pure: no I/O, no clock, no terminal. Each module's own page states which modules may call it and what it never
//! does.
//!
//! # From the kernel to a cell
//!
//! 1. A tokio task ([`sampler::spawn`]) ticks. Its [`Scanner`](sampler::Scanner) lists the pids and glances at them;
//!    a pool of reader threads with deadlines does the reads, because a read of `/proc` may never return.
//! 2. [`sampler::policy::plan`] chooses the processes to walk, within the budget. [`proc::smaps`] parses the result into
//!    [`model::Memory`].
//! 3. The scanner publishes a [`Snapshot`](model::Snapshot): raw readings, nothing derived.
//! 4. The [`engine`] runs on a thread of its own. It pushes the snapshot into the [`History`](history::History), which derives
//!    changes, rates and series. From time to time [`trend::judge`] gives each series a verdict. Then the engine evaluates the
//!    alert rules. The run loop ([`run::monitor`]) passes the engine's [state](engine::State) to
//!    [`tui::update`](fn@tui::update) and [`tui::view`](fn@tui::view).
//! 5. [`query`] filters, groups and sorts. A table shows [`RowKey`](group::RowKey)s in order.
//! 6. [`tui::view`](fn@tui::view) builds a [`Row`](columns::Row) for each visible one. Each [`Column`](columns::Column) gets its
//!    [`Value`](columns::Value) from the row, and [`columns::cell`](fn@columns::cell) formats it to the column's width.
//!
//! `zmtop ps` follows the same path with [`output`] instead of `tui`. A file (`--from`) enters at step 4, through [`source`].
//! In `zmtop replay`, a [player](run::monitor::replay) pushes the snapshots of a recording into a state in place of the engine.
//!
//! # From a key to a cell
//!
//! 1. `run/monitor/decoder.rs` decodes the bytes of the terminal; `run/monitor/feeds.rs` forwards an [`Event`](tui::Event).
//! 2. [`tui::update`](fn@tui::update) passes it to the open popup, dialog or prompt. Otherwise the [keymap](config::keymap)
//!    maps it to an [`Action`](config::Action). The open page performs it; otherwise `tui/update/table.rs` applies it to the
//!    [`App`](tui::App).
//! 3. Actions outside the state are returned as [`Effect`](tui::Effect)s, which the run loop performs. The screen's requests
//!    to the sampler are state, not commands: [`App::wanted`](tui::App::wanted) derives a [`Wanted`](sampler::Wanted), which
//!    the run loop puts into a `watch` channel when it changes.
//! 4. [`tui::view`](fn@tui::view) draws the state, and changes nothing.
//!
//! # How to add
//!
//! The manual page, the completions and the pictures in `assets/` are generated from columns, keys, options and the screen.
//! Pictures of screens and documents are kept beside the tests. After a change, tests fail until this command has renewed
//! the files; read their diff before you commit it:
//!
//! ```text
//! INSTA_UPDATE=always cargo test -- assets:: screens:: formats::
//! ```
//!
//! If you changed a report, add the modules of its tests, such as `mem::` or `oneshot::`.
//!
//! Users read about a feature in three places: add it to the section *Unreleased* of `CHANGELOG.md`, in their words; to the
//! README if it is one of the main features; and to the page in `src/manual/` that covers the topic.
//!
//! ## A column
//!
//! Add an entry to `COLUMNS` in `src/columns/process.rs`, next to columns of its kind: memory, verdicts,
//! identity, groups and cgroups. The column chooser uses the same order. For clean resident pages:
//!
//! ```text
//! Entry::bytes("clean", "CLEAN", |r| after_pss(r, |m| Ok(m.rss.saturating_sub(m.dirty()))))
//!     .help("Clean resident pages, not divided among sharers. Formula: Rss − Private_Dirty − Shared_Dirty of smaps_rollup.")
//!     .priority(Priority::Low),
//! ```
//!
//! The screen, the sort menu, the chooser, the help, filters (`clean>100M`), `--columns`, JSON and CSV then include it. The
//! value is a reading, hence the `Ok`; if the figure is missing, it is an `Err` with the reason. `after_pss` and `memory` are
//! helpers below the entries. Use `after_pss` for a `u64` of [`Memory`](model::Memory) other than `pss`: a large fleet first
//! shows only PSS. Use `memory` for any other figure.
//!
//! Create an entry with `Entry::bytes` (bytes that can be summed and that need the memory of the process), `Entry::figure`
//! (another unit) or `Entry::text`. `help` is mandatory: one or more sentences that end with a full stop and name the source,
//! as `Kernel: Rss in smaps_rollup.` or `Formula: …`. The other methods change a default:
//!
//! | method | meaning |
//! | --- | --- |
//! | `help` | the meaning and the source of the value. Mandatory |
//! | `needs` | the data that must be read for it |
//! | `priority` | its importance if the screen is too narrow for all columns |
//! | `applies_to` | the rows that have a value in it |
//! | `label` | the column names its row |
//! | `additive` | the total of a set of rows is their sum |
//! | `ascending` | the lowest value comes first |
//! | `timed` | it is a change over `ui.delta`, which its heading shows |
//! | `grows` | it uses the remaining width |
//! | `metric` | its name in Prometheus |
//! | `metric_help` | the help of the metric, if `help` describes the screen |
//!
//! To show it by default, add its id to a list in `src/columns/layout.rs`; the tables of the monitor are in
//! `config/default.toml`. Rows other than processes have their own tables in `src/columns/`: `mapping.rs`, `suspect.rs`,
//! `part.rs`, `system.rs`, `slab.rs` and so on.
//!
//! *Tests.* `cargo test columns::` checks the rules for every column of processes, and for the tables that
//! `the_other_tables_keep_the_same_rules` in `tests/integration/columns/registry.rs` passes to `check_table`. It fails if a
//! process whose figures are all known has no value in the column: add the new figure to `known` in that file. The tests there
//! also list the ids of the columns that are ascending (all texts are) or that grow: add yours. Add a test of the value
//! itself if its formula can be wrong.
//!
//! ```
//! let pss = zmtop::columns::find("pss").expect("every table has it");
//! assert_eq!(pss.get().title, "PSS");
//! ```
//!
//! ## A kernel figure
//!
//! *Of the system*, a line of `/proc/meminfo` or `/proc/vmstat`: add an entry to `src/model/system.rs`. It defines the field
//! of [`SystemSample`](model::SystemSample), the parser, and the field of `zmtop/1`. If the figure is a part of the RAM,
//! describe it in `src/account/parts.rs` and add it to `parts` in `src/account.rs`.
//!
//! ```text
//! /// `KernelStack`.
//! kernel_stack: Meminfo(&["KernelStack"]),
//! ```
//!
//! Its tests are in `tests/integration/proc/system.rs`, tests of the breakdown in `tests/integration/mem/`.
//!
//! *Of a process*, a line of `smaps_rollup`:
//!
//! 1. Add an entry to the list in `src/model/memory.rs`. Its type is `Reading<u64>`, because older kernels and older recordings
//!    lack it. Use `u64` only for a figure without which a walk is useless: if it is absent, all memory figures are missing.
//! 2. Add its name to `define_process!` in `src/record/process.rs`. Without it, the code does not compile. `zmtop schema`
//!    publishes the comment of the entry.
//! 3. Add a [column](#a-column).
//!
//! The compiler does not check these places:
//!
//! - `src/sampler/estimate.rs` updates the figures between walks. A figure that it does not name keeps its value from the last
//!   walk. Name such a figure in the list in `src/manual/data.md`, and say so in the help of its column.
//! - `src/fleet/source.rs` and `src/fleet/past.rs` make figures from Prometheus. A `Reading` that they do not name is
//!   [`NotExported`](model::Missing::NotExported), and a `u64` is 0. To show the figure in a fleet, give its column a
//!   `metric`, and add the query to `src/fleet/query.rs`.
//!
//! *Tests.* Add the line to the expected figures of each kernel in `tests/integration/proc/smaps.rs`, and the figure to the
//! snapshots in `tests/integration/formats/made.rs`. Tests write these in each format and read them back.
//!
//! ```
//! let rollup = b"00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\nRss: 8 kB\nPss: 6 kB\nPrivate_Clean: 0 kB\n\
//!     Private_Dirty: 4 kB\nShared_Clean: 4 kB\nShared_Dirty: 0 kB\nSwap: 0 kB\n";
//! let memory = zmtop::proc::smaps::rollup(rollup).expect("it has every line that every kernel writes");
//! assert_eq!((memory.pss, memory.uss()), (6 << 10, 4 << 10));
//! ```
//!
//! *Of a cgroup*: add an entry to the list in `src/model/cgroup.rs`, and read it in `read_v1` and `read_v2` of
//! `src/proc/cgroup/figures.rs`. Its tests are in `tests/integration/sampler/cgroups.rs`.
//!
//! *From another file of a process*: add a parser in [`proc`] and a field in [`model`]. If the file need only be read once per
//! program, read it in `read_facts` of `src/sampler/reading/facts.rs`. Otherwise add a `job`, as in
//! `src/sampler/scanner/table/facts.rs`: a job runs on the pool of reader threads, so a read that blocks delays nothing else.
//!
//! ## A setting
//!
//! 1. Add a field with its doc comment to `src/config/settings.rs`. The kind after `=` reads and checks the value: `Switch`
//!    (true or false), `Number`, `Span` (a time), `Size`, `Share`, `Choice` and others in `src/config/setting.rs`.
//! 2. Add its comment and default to `config/default.toml`, in the same order.
//! 3. Add a different value to `ALL_CHANGED` in `tests/integration/config/settings.rs`.
//!
//! Tests fail without 2 and 3. `zmtop config show`, `config check` and the error texts then include the setting. If `W`
//! should save it, list it in `src/config/save.rs`.
//!
//! ```text
//! /// Deadline of one read, after which its row says "timed out".
//! pub deadline: Duration = Span(Duration::from_millis(50)..=MINUTE),
//! ```
//!
//! ## A key
//!
//! For an existing action, add an entry to `config/keymap.toml`. The help lists it from there.
//!
//! ```text
//! [[table]]
//! on = ["y"]
//! run = "show-pid"
//! desc = "Show the pid"
//! ```
//!
//! For a new action, also add a variant to `src/config/action.rs`, and the arm that the compiler then requires in
//! `src/tui/update/table.rs`:
//!
//! ```text
//! /// Shows the pid of the selected process.
//! ShowPid = "show-pid",
//! ```
//!
//! ```text
//! Action::ShowPid => show_pid(app),
//! ```
//!
//! `app.tables.current().selected_row()` is the row under the cursor. `app.screen.say` shows a message. Add an action that
//! changes processes to `Action::acts`, so that `--readonly` disables it. If it makes no sense for a fleet, add it to `refusal`
//! in `src/tui/fleet.rs`. The tests of keys are in `tests/integration/update/`: a session presses keys and reads the screen.
//!
//! ## A popup or a panel
//!
//! A popup is a type in its own file in `src/tui/popup/`, with its layout drawn in the file's doc comment. It implements
//! `Popup` (title, keys, entries, drawing), or `Text` if there is nothing to choose. Add its `mod` line to
//! `src/tui/popup.rs`, and the arm of its key: `app.open_popup(MyPopup::new(app))`. `SortMenu` in `popup/menus.rs` is a
//! short example. A dialog or prompt is not a list; it implements `Modal` (`src/tui/app/modal.rs`) directly. A panel for
//! another kind of row is a file in `src/tui/panel/` and an arm in `draw` of `src/tui/panel.rs`.
//!
//! ## A page
//!
//! A page is a type in its own file in `src/tui/page/`, with its layout drawn in the file's doc comment. It implements
//! [`Page`](tui::app::Page) and `Default`. Add its `mod` line and its line in `PAGES` to `src/tui/page.rs`:
//!
//! ```text
//! (Action::KernelPage, "kernel", || Box::<kernel::KernelPage>::default()),
//! ```
//!
//! Then add its key and its variant of `Action`, as [above](#a-key). In `update/table.rs`, put the variant beside
//! `Action::KernelPage`, in the arm that does nothing: `src/tui/page.rs` opens the page before that code runs. The last line of
//! the screen then names the page, and the help lists the keys that it [`performs`](tui::app::Page). The compiler does not check
//! two places: add the page to the line *Pages* of `FIRST` in `src/tui/popup/help.rs`, and, if it is about one machine, to
//! `refusal` in `src/tui/fleet.rs`.
//!
//! A page is one table. Its columns are a file in `src/columns/`, with a `mod` line in `src/columns.rs` and three items: the row
//! type, an empty enum that implements [`TableKind`](columns::TableKind) with its `COLUMNS`, and
//! [`Filterable`](filter::Filterable) for the row. Pass the columns to `check_table`, as [above](#a-column). The page holds a
//! [`PageTable`](tui::app::PageTable), which keeps the selection, the order and the filter, and draws the rows. Set its `sort`
//! to the index of a column; `None` keeps the order of the rows. These methods of [`Page`](tui::app::Page) are required:
//!
//! | method | minimum |
//! | --- | --- |
//! | `table`, `table_mut` | its `PageTable` |
//! | `keys` | the keys of its rows, in the order on the screen. [`PageTable::arrange`](tui::app::PageTable::arrange) returns that order: the indices of the rows that pass the filter, sorted |
//! | `columns` | `MenuColumn::all(COLUMNS)` |
//! | `parse_filter` | `self.table.filter.set_by(text, &COLUMNS)` |
//! | `area` | `app.layout().page` |
//! | `grid` | `self.table.grid(app, COLUMNS, area)` |
//! | `takes`, `on_action` | `false` and no effects. A page with its own actions accepts and performs them here |
//! | `hints` | the keys in the last line |
//! | `help` | a section with `columns_help(COLUMNS)` |
//! | `needs` | the data in the snapshot that it shows. While the page is open, the sampler reads only that |
//! | `draw` | `self.table.draw(…)`; if its source is missing, a line with the reason instead |
//!
//! Moving, sorting, filtering, searching and clicking then work as on every page. `page/memory.rs` is an example; `draw` of
//! `page/kernel.rs` shows the line for a missing source, such as "only root can read the slab caches".
//!
//! *Tests.* Add a picture of the page to `tests/integration/screens/pages.rs`, at several sizes, and one with its source
//! missing. Add what its own keys do to `tests/integration/update/pages.rs`.
//!
//! ## An output format, a report
//!
//! A format is a file in `src/output/` that writes a `Document` or a `DataTable`. In `src/output.rs`, add its `mod` line, a
//! variant of [`Format`](output::Format) whose comment is its help, and the arms that the compiler then requires. If its rows are
//! objects, add it to `has_objects` too. If it cannot be repeated with `--every`, refuse it in `check` of `src/run/ps.rs`. It then
//! works for every report except `callers` and `heap`, which have their own formats. Add a row to the table in
//! `src/manual/data.md`, the name to the completions in `tests/integration/assets.rs`, and a test beside
//! `tests/integration/formats/csv.rs`.
//!
//! A report is a file in `src/output/`, with a `mod` line in `src/output.rs` and a type that implements
//! [`Report`](output::Report); `output/held.rs` is a short example. A [subcommand](#a-subcommand) prints it. `described_object!`
//! lists the fields of its document with their meaning, shape and value. In `src/run/generate.rs`, add its `schema` to `ALL`, so
//! that `zmtop schema` describes it, and its columns to `values`, so that `--sort` is completed. Add its kind of document to
//! `src/manual/data.md`.
//!
//! *Tests.* Add an example of its document to `documents` in `tests/integration/schema.rs`, which compares it with the schema, and
//! an entry to `REPORTS` in `tests/integration/oneshot/conformance.rs`.
//!
//! ## A subcommand
//!
//! Put its options and its `run` into `src/run/NAME.rs`. Add a variant to [`cli::Command`], and the arm that the compiler
//! then requires in `src/run.rs`. Options that several commands share are in `src/cli/shared.rs`.
//!
//! ## A source of snapshots
//!
//! A source is an iterator of `Result<Arc<Snapshot>, SourceError>` like [`source::Source`]. Open it in `src/run/snapshot.rs`,
//! which detects the kind of a source. A source that queries a network is a task that replaces the sampler's, such as
//! [`fleet`]; `src/run/fleet.rs` starts it.
//!
//! ## An action on processes
//!
//! A number that can be set, such as the niceness, is a variant of [`act::Tunable`] with its arm in `spec()` of `src/act.rs`,
//! and the arms that the compiler then requires in `src/act/pinned.rs`. Any other action is a variant of
//! [`act::ProcessAction`].
//!
//! # Before you send it
//!
//! `cargo test columns::` runs every test whose path contains `columns::`. `cargo test -- columns:: config::` runs the tests
//! that match either, and `cargo test` runs all. `bash .ci/run` checks the formatting, runs clippy and the tests, and installs
//! the package on a bare system. `bash .ci/run long` also checks this documentation, and runs the tests in their long form
//! (`ZMTOP_TEST_LONG=1`): every seed of the corpora, files cut at every byte, and real programs for minutes. Tests never assert
//! a time; `tests/bench` contains the benchmarks.
//!
//! `.ci/kernels` exhausts memory in emulated machines with Debian's kernels: a leak until the kernel kills it, the limit of a
//! container, a stall, a tmpfs. It then checks what the first screen showed, and when. The scenes and their rules are in one
//! table, `tests/kernels/scenes.py`; to add one, add its script and its rules there. `.ci/kernels -v limit` runs one scene on
//! each kernel and prints its progress. With `-r`, it checks the recorded scene again with changed rules. `.ci/kernels reports` runs
//! each command and opens each page once, on every kernel, and prints the table of [`manual::kernels`]; the commands and what they
//! must show are in `tests/kernels/reports.py`. It needs Debian's qemu-system-x86, busybox-static, cpio, kmod, zstd, binutils and a C
//! compiler. Without arguments, it takes about ten minutes for the scenes and twenty for the reports.
//!
//! `.ci/crashes` crashes such machines while zmtop records: power cuts, kernel panics, OOM kills, a reboot. It then checks what the
//! recording contains after the next start, and what `zmtop why` reports. It takes as long, and also needs e2fsprogs.
//!
//! `.ci/fuzz` builds the targets of `tests/fuzz`, one for each family of parsers of foreign input, and runs each for a minute
//! (`-t 600`: for ten). It prints the executions, the edges of the code that they reached, and the finds, whose inputs stay in
//! `target/fuzz/artifacts`. To add a parser, call it in the target of its family, and add an input to `tests/fuzz/seeds`; a find
//! becomes a test with the input. It needs cargo-fuzz and the nightly toolchain.
//!
//! `.ci/soak` runs the monitor, `record`, `serve` and `fleet` for an hour while processes start and end, and reports how their memory,
//! descriptors, threads and CPU changed, with the uncertainty. `.ci/soak -j` judges the samples of a run again, also while it lasts.
//! It needs a release build, and Prometheus for `fleet`.
//!
//! `.ci/deny` checks the packages by `.deny.toml`: known faults, licences, duplicates, sources. A new exception there needs a reason.
//!
//! `tests/fixtures/recordings` contains recordings in each version of the format. All of them must stay readable.

pub mod account;
pub mod act;
pub mod alert;
pub mod call_tree;
pub mod cli;
pub mod columns;
pub mod config;
pub mod engine;
pub mod filter;
#[cfg(feature = "network")]
pub mod fleet;
pub mod group;
pub mod heap;
pub mod heaps;
pub mod history;
#[cfg(feature = "network")]
mod http;
pub mod limits;
pub mod manual;
pub mod model;
pub mod order;
pub mod output;
pub mod own;
pub mod proc;
pub mod query;
pub mod record;
pub mod recorder;
pub mod run;
pub mod sampler;
pub mod schema;
#[cfg(feature = "network")]
pub mod serve;
pub mod source;
#[cfg(feature = "code")]
pub mod stacks;
pub mod text;
pub mod trend;
pub mod tui;
pub mod units;
pub mod why;
pub mod zone;
