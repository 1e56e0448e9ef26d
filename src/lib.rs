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
//! | footprint | PSS + `SwapPss`: the total memory of a process, in RAM and in swap. Verdicts are based on it |
//! | walk | one read of `/proc/PID/smaps_rollup`, for which the kernel walks page tables: the expensive operation |
//! | glance | one read of `/proc/PID/stat`: cheap, and shows whether a walk could find anything new |
//! | age | the time since the walk that a figure is based on |
//! | tolerance | the tolerated error of a PSS: 1 % of it or 1 MiB, whichever is larger. Smaller changes are not coloured |
//! | new, due, idle | states of a process: never walked; possibly wrong by more than the tolerance; neither. See [`sampler::policy::plan`] |
//! | expensive | a process whose walk takes more than 20 ms of CPU time |
//! | budget, token bucket | the share of a core that walks may use; it accumulates over time and walks spend it |
//! | focus | the visible and tagged processes, which are walked first |
//! | tick, snapshot | one round of the sampler, and the raw readings it publishes |
//! | identity | `(pid, starttime)`: a reused pid is another process |
//! | reading | a value, or the reason why it is [missing](model::Missing). Never 0 for "unknown" |
//! | row, row key | one line of a table, and its stable identifier: a process's identity or a group's key |
//! | group | processes summed by program, user, unit, container, pod, cgroup or family; or mappings summed by name |
//! | family | a daemon and its descendants, below an init, a supervisor, a shell or a container's first process |
//! | equal siblings | processes with the same parent, user and cgroup whose command lines differ only in numbers. The screen folds three or more into one row: [`query::Folds`] |
//! | shared mm | processes with one address space (`CLONE_VM`); a sum counts it once |
//! | history, series | the recorded values of all rows, and of one row: footprints at five resolutions, coarser with age |
//! | bucket, run | one step of a series; buckets in a row with equal values, stored as one |
//! | horizon, floor | a period that a verdict covers; the lowest value in one part of it |
//! | judgement, verdict | the result of [`trend::judge`] for a series; its summary: leaking, growing, warming, steady or shrinking |
//! | fleet | many hosts at once. A row is then a group of processes on one host, exported by `zmtop serve` |
//! | suspect | a process or group with a verdict worth showing |
//! | hot, cold | resident pages that a process touched since its referenced bits were cleared, and the others |
//! | mark | the figures at a time that the user chose, to show the changes since then |
//! | engine | turns snapshots into history, verdicts and alerts; the screen only displays them |
//! | needs | the data that the columns, filters and panels in use require, so that nothing else is read |
//! | frozen | a table whose order is fixed while its values keep updating |
//! | scope | the cgroup whose memory and limit replace the machine's: the container's that zmtop runs in, or the one chosen with `--cgroup` |
//! | part | one line of the breakdown of the RAM, such as file cache, unreclaimable slab, or unaccounted memory |
//! | page | the area between the header and the last line: the processes, the breakdown of the RAM, or the kernel's own memory |
//! | modal | a popup, dialog or prompt; it receives the keys while it is open |
//! | effect | an action outside the state, returned by [`tui::update`](fn@tui::update) for the run loop to perform |
//!
//! # Layers
//!
//! A file imports only from lower layers, and no files import each other in a circle; only a child may use its
//! parent (`foo/bar.rs` of `foo.rs`). The tests in `tests/integration/arch.rs` enforce both rules.
//!
//! ```text
//! L0   units text order schema  bytes, rates, durations; foreign bytes made safe to print; sorting; the fields of documents
//! L1   model                 plain data: snapshot, process, system, mapping, reading
//! L2   trend group account   a verdict from a series; sums of processes; the breakdown of the RAM
//! L3   filter history        the filter language; the history of every row, marks, suspects
//! L4   columns               the tables of columns, and the rows they read
//! L5   alert query           rules that fire; which rows are shown, in which order
//! L6   engine proc record    snapshots to history, verdicts, alerts; bytes of /proc and sysfs to model; zmtop/1 to model and back
//! L7   sampler source act    snapshots of this machine; of a file; signals, niceness, clear_refs
//!      fleet http            snapshots of many hosts; an HTTP client
//! L8   config                settings, keymap, themes
//! L9   tui output serve      the three faces: the screen, printed reports, and metrics
//! L10  cli run main          the command line, and the wiring
//! ```
//!
//! L0 to L5 are pure: no I/O, no clock, no terminal. Each module's own page says who may call it and what it never does.
//!
//! # From the kernel to a cell
//!
//! 1. A tokio task ([`sampler::spawn`]) ticks. Its [`Scanner`](sampler::Scanner) lists the pids and glances at them;
//!    a pool of reader threads with deadlines does the reads, because a read of `/proc` may never return.
//! 2. [`sampler::policy::plan`] chooses the processes to walk, within the budget. [`proc::smaps`] parses the result into
//!    [`model::Memory`].
//! 3. The scanner publishes a [`Snapshot`](model::Snapshot): raw readings, nothing derived.
//! 4. The [`engine`] pushes it into the [`History`](history::History), on a thread of its own: changes, rates, series, and from
//!    time to time a verdict by [`trend::judge`]. Then it evaluates the alert rules. The run loop ([`run::monitor`]) lends its
//!    [state](engine::State) to [`tui::update`](fn@tui::update) and [`tui::view`](fn@tui::view).
//! 5. [`query`] filters, groups and sorts. A table shows [`RowKey`](group::RowKey)s in order.
//! 6. [`tui::view`](fn@tui::view) builds a [`Row`](columns::Row) for each visible one. Each [`Column`](columns::Column) gets its
//!    [`Value`](columns::Value) from the row, and [`columns::cell`](fn@columns::cell) formats it to the column's width.
//!
//! `zmtop ps` follows the same path with [`output`] instead of `tui`. A file (`--from`) enters at step 4, through [`source`].
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
//! The manual page, the completions and the picture in `assets/` are generated from columns, keys, options and the screen.
//! After a change, a test fails until `INSTA_UPDATE=always cargo test` has regenerated them.
//!
//! ## A column
//!
//! Add an entry to `COLUMNS` in `src/columns/process.rs`, next to columns of its kind: memory, verdicts,
//! identity, groups and cgroups. The column chooser uses the same order. For clean resident pages:
//!
//! ```text
//! Entry::bytes("clean", "CLEAN", |r| memory(r, |m| Ok(m.rss.saturating_sub(m.dirty()))))
//!     .help("Clean resident pages, not divided among sharers. Formula: Rss − Private_Dirty − Shared_Dirty of smaps_rollup.")
//!     .priority(Priority::Low),
//! ```
//!
//! The screen, the sort menu, the chooser, the help, filters (`clean>100M`), `--columns`, JSON and CSV then include it. The
//! value is a reading, hence the `Ok`; if a kernel lacks the figure, it is an `Err` with the reason. `memory` is one of the
//! helpers below the entries.
//!
//! Create an entry with `Entry::bytes` (a sum in bytes that needs the memory), `Entry::figure` (another unit) or
//! `Entry::text`. These methods change the defaults:
//!
//! | method | meaning |
//! | --- | --- |
//! | `needs` | data that must be read for it |
//! | `priority` | importance if the screen is too narrow for all columns |
//! | `applies_to` | rows that have a value in it |
//! | `label` | it names its row |
//! | `additive` | the total of a set of rows is their sum |
//! | `ascending` | the lowest value comes first |
//! | `timed` | it is a change over `ui.delta`, which its heading shows |
//! | `grows` | it uses the remaining width |
//! | `metric` | its name in Prometheus |
//!
//! To show it by default, add its id to a list in `src/columns/layout.rs`; the tables of the monitor are in
//! `config/default.toml`. Mappings, suspects, parts of the RAM and system figures have tables of their own in
//! `src/columns/`: `mapping.rs`, `suspect.rs`, `part.rs`, `system.rs`. `cargo test columns::` checks every entry.
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
//! *Of a process*, a line of `smaps_rollup`: add an entry to the list in `src/model/memory.rs` (`u64` if every kernel writes
//! the line, else `Reading<u64>`), and its name to `define_process!` in `src/record/process.rs`; without it, the code does
//! not compile. Then add a column. `zmtop schema` publishes the comment of the entry.
//!
//! ```
//! let rollup = b"00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\nRss: 8 kB\nPss: 6 kB\nPrivate_Clean: 0 kB\n\
//!     Private_Dirty: 4 kB\nShared_Clean: 4 kB\nShared_Dirty: 0 kB\nSwap: 0 kB\n";
//! let memory = zmtop::proc::smaps::rollup(rollup).expect("it has every line that every kernel writes");
//! assert_eq!((memory.pss, memory.uss()), (6 << 10, 4 << 10));
//! ```
//!
//! *Of a cgroup*: extend the list in `src/model/cgroup.rs`, and `read_v1` and `read_v2` in `src/proc/cgroup/figures.rs`.
//!
//! *From another file of a process*: add a parser in [`proc`] and a field in [`model`]. If the file is read once per program,
//! add a line to `read_facts` in `src/sampler/reading/facts.rs`. Otherwise add a `job`, as in
//! `src/sampler/scanner/table/facts.rs`.
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
//! changes processes to `Action::acts`, so that `--readonly` disables it.
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
//! A page is a type in its own file in `src/tui/page/` that implements [`Page`](tui::app::Page), with its layout drawn in the
//! file's doc comment. Add its `mod` line and its line in `PAGES` to `src/tui/page.rs`:
//!
//! ```text
//! (Action::KernelPage, "kernel", || Box::<kernel::KernelPage>::default()),
//! ```
//!
//! Then add its key, as [above](#a-key), with an empty arm in `update/table.rs`. The last line of the screen then names the
//! page, and the help lists the keys that it [`performs`](tui::app::Page). While it is open, the sampler reads only the data
//! in its [`needs`](tui::app::Page::needs). All pages share the keys of the tables: `Up`, `Open`, `Filter` and so on.
//!
//! A page is one table, whose columns are a `&[Column<T>]`. [`PageTable`](tui::app::PageTable) keeps and draws the selection,
//! the order and the filter. The page returns its columns, its area, and the keys of its rows in the order of
//! `PageTable::arrange`. Moving, sorting, filtering, searching and clicking then work as on every page. Actions of the page
//! itself are in [`takes`](tui::app::Page::takes). `page/memory.rs` is an example.
//!
//! ## An output format, a report
//!
//! A format needs three parts: a file in `src/output/` that writes a `Document` or a `DataTable`; a variant of
//! [`Format`](output::Format); an arm in [`output::write`](fn@output::write). It then works for every report. A report is a file in `src/output/` with a
//! type that implements [`Report`](output::Report); `output/held.rs` is a short example. `described_object!` lists the fields
//! of its document with their meaning, shape and value. Add its `schema` to `src/run/generate.rs`, so that `zmtop schema`
//! describes it.
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
//! `cargo test columns::` runs the tests of one module, `cargo test -- columns:: config::` of two, `cargo test` all. If a
//! picture of a screen in `tests/integration/snapshots` changes, check the new one and accept it with
//! `INSTA_UPDATE=always cargo test NAME`. `bash .ci/run` runs all checks: formatting, clippy, this documentation, and the
//! tests in their long form (`ZMTOP_TEST_LONG=1`), with every seed of the corpora, and with real programs. Tests never assert a
//! time; `tests/bench` contains the benchmarks.

pub mod account;
pub mod act;
pub mod alert;
pub mod cli;
pub mod columns;
pub mod config;
pub mod engine;
pub mod filter;
#[cfg(feature = "network")]
pub mod fleet;
pub mod group;
pub mod history;
#[cfg(feature = "network")]
mod http;
pub mod manual;
pub mod model;
pub mod order;
pub mod output;
pub mod proc;
pub mod query;
pub mod record;
pub mod run;
pub mod sampler;
pub mod schema;
#[cfg(feature = "network")]
pub mod serve;
pub mod source;
pub mod text;
pub mod trend;
pub mod tui;
pub mod units;
