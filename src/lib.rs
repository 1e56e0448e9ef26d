//! zmtop, a top-like terminal monitor for Linux memory.
//!
//! This page is for contributors: the [words](#glossary), the [floors](#floors) of the code, the way of
//! [a snapshot](#from-the-kernel-to-a-cell) and of [a key](#from-a-key-to-a-cell) through it, and [how to add](#how-to-add)
//! to it. Users begin with the README; longer pages for them are in [`manual`].
//!
//! # Glossary
//!
//! | word | meaning |
//! | --- | --- |
//! | PSS, USS, RSS, swap, `SwapPss` | as `Documentation/filesystems/proc.rst` of the kernel defines them. USS is `Private_Clean + Private_Dirty` |
//! | footprint | PSS + `SwapPss`: what a process costs the machine, in RAM or in swap. Trends are judged on it |
//! | walk | one read of `/proc/PID/smaps_rollup`, for which the kernel walks page tables: the expensive operation |
//! | glance | one read of `/proc/PID/stat`: cheap, and tells whether a walk would show anything new |
//! | age | the time since a shown figure was walked |
//! | dirty, idle, expensive | a process whose figures may have changed since its walk; one without a sign of change; one whose walk takes more than a millisecond |
//! | tick, snapshot | one round of the sampler, and the raw readings it publishes |
//! | identity | `(pid, starttime)`: a reused pid is another process |
//! | reading | a value, or the reason why it is [missing](model::Missing). Never 0 for "unknown" |
//! | row, row key | one line of a table, and what identifies it from tick to tick: a process's identity or a group's key |
//! | group | processes summed by program, user, unit, container or cgroup; or mappings summed by name |
//! | shared mm | processes with one address space (`CLONE_VM`); a sum counts it once |
//! | history, series | the past of all rows, and of one: footprints at five resolutions, coarser with age |
//! | verdict | leaking, growing, warming, steady or shrinking, with slope, start and confidence |
//! | suspect | a process or group with a verdict worth showing |
//! | mark | the figures at a moment the user chose, to show changes since |
//! | needs | the data that the columns, filters and panels in use require, so that nothing else is read |
//! | effect | something outside the state that [`tui::update`](fn@tui::update) asks the run loop to do |
//!
//! # Floors
//!
//! A file imports only from lower floors, and no files import each other in a circle; only a child may use its
//! parent (`foo/bar.rs` of `foo.rs`). The tests in `tests/integration/arch.rs` hold both.
//!
//! ```text
//! F0   units text            bytes, rates, durations; foreign bytes made safe to print
//! F1   model                 plain data: snapshot, process, system, mapping, reading
//! F2   trend group account   a verdict from a series; sums of processes; where the RAM went
//! F3   filter history        the filter language; the past of every row, marks, suspects
//! F4   columns               the tables of columns, and the rows they read
//! F5   alert query           rules that fire; which rows are shown, in which order
//! F6   proc record           bytes of /proc and sysfs to model; zmtop/1 to model and back
//! F7   sampler source act    snapshots of this machine; snapshots of a file; signals, niceness
//! F8   config                settings, keymap, themes
//! F9   tui output            the two faces: the screen, and printed reports
//! F10  cli run main          the command line, and the wiring
//! ```
//!
//! F0 to F5 are pure: no I/O, no clock, no terminal. Each room's own page says who may call it and what it never does.
//!
//! # From the kernel to a cell
//!
//! 1. A tokio task ([`sampler::spawn`]) ticks. Its [`Scanner`](sampler::Scanner) lists the pids and glances at them;
//!    the reads are done by a pool of reader threads with deadlines, since a read of `/proc` may never return.
//! 2. [`sampler::plan`] chooses the processes to walk, within the budget. [`proc::smaps`] parses what is read into
//!    [`model::Memory`].
//! 3. The scanner publishes a [`Snapshot`](model::Snapshot): raw readings, nothing derived.
//! 4. The run loop ([`run::monitor`]) hands it to [`tui::update`](fn@tui::update), which pushes it into the [`History`](history::History):
//!    changes, rates, series, and from time to time a verdict by [`trend::judge`].
//! 5. [`query`] filters, groups and sorts: what a table shows are [`RowKey`](group::RowKey)s in order.
//! 6. [`tui::view`](fn@tui::view) makes a [`Row`](columns::Row) of each that is on screen. Each [`Column`](columns::Column) takes its
//!    [`Value`](columns::Value) from it, and [`columns::cell`](fn@columns::cell) writes that at the column's width.
//!
//! `zmtop ps` takes the same way with [`output`] in place of `tui`. A file (`--from`) enters at step 4, by [`source`].
//!
//! # From a key to a cell
//!
//! 1. crossterm's event stream becomes an [`Event`](tui::Event) in `run/monitor/feeds.rs`.
//! 2. [`tui::update`](fn@tui::update) gives it to the open popup, dialog or prompt; else the [keymap](config::keymap) makes an
//!    [`Action`](config::Action) of it, and `tui/update/table.rs` performs that on the [`App`](tui::App).
//! 3. What must be done outside comes back as [`Effect`](tui::Effect)s, which the run loop performs. What the screen
//!    needs of the sampler is state, not a command: [`App::wanted`](tui::App::wanted) derives a
//!    [`Wanted`](sampler::Wanted), which the run loop puts into a `watch` channel when it changed.
//! 4. [`tui::view`](fn@tui::view) draws the state, and changes nothing.
//!
//! # How to add
//!
//! ## A column
//!
//! Add an entry to one of the lists below `src/columns/process/` (`memory.rs`, `trend.rs`, `facts.rs`, `group.rs`,
//! `mark.rs`). For the resident pages that are clean:
//!
//! ```text
//! Entry::bytes("clean", "CLEAN", |r| memory(r, |m| Ok(m.rss.saturating_sub(m.dirty()))))
//!     .help("Clean resident pages, whole. Formula: Rss − Private_Dirty − Shared_Dirty of smaps_rollup.")
//!     .priority(Priority::Low),
//! ```
//!
//! The screen, the sort menu, the chooser, the help, filters (`clean>100M`), `--columns`, JSON and CSV have it then.
//! `Entry::bytes` is a sum in bytes that needs the memory, `Entry::figure` any other unit, `Entry::text` a text;
//! what else differs from the usual is said by a method: `needs` (what must be read for it), `priority` (on a narrow
//! screen), `applies_to` (which rows have it), `label` (which rows it names), `ascending`, `additive`, `grows`,
//! `metric`. `read.rs` has helpers for what several columns read, and the tests in
//! `tests/integration/columns/registry.rs` go through every entry. In a
//! default table it appears once its id stands in `src/columns/layout.rs`, for the monitor also in
//! `config/default.toml`. Mappings, suspects and system figures have lists of their own: `src/columns/mapping.rs`,
//! `suspect.rs`, `system.rs`.
//!
//! ```
//! use zmtop::columns::{ColumnId, find};
//!
//! let pss: ColumnId = find("pss").expect("every table has it");
//! assert_eq!(pss.get().title, "PSS");
//! ```
//!
//! ## A kernel figure
//!
//! *Of the system*, a line of `/proc/meminfo` or `/proc/vmstat`: one line in `src/model/system/figures.rs`. Parsing,
//! the field of [`SystemSample`](model::SystemSample) and the field of `zmtop/1` follow from it.
//!
//! ```text
//! /// `KernelStack`.
//! kernel_stack: Meminfo(&["KernelStack"]),
//! ```
//!
//! *Of a process*, a line of `smaps_rollup`: one line in the list at the top of `src/model/memory.rs`, likewise; then a
//! column that shows it.
//!
//! ```
//! let rollup = b"00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\nRss: 8 kB\nPss: 6 kB\nPrivate_Clean: 0 kB\n\
//!     Private_Dirty: 4 kB\nShared_Clean: 4 kB\nShared_Dirty: 0 kB\nSwap: 0 kB\n";
//! let memory = zmtop::proc::smaps::rollup(rollup).expect("it has every line that every kernel writes");
//! assert_eq!((memory.pss, memory.uss()), (6 << 10, 4 << 10));
//! ```
//!
//! *From another file*: a parser in [`proc`], its field in [`model`], and the kind of job that reads it in
//! `src/sampler/job.rs`.
//!
//! ## A setting
//!
//! Add a field to `src/config/settings.rs`, with the kind that reads and checks its value, and one line with its default in
//! `config/default.toml`, which a test demands. `zmtop config show`, `check`, `W` and the error texts follow.
//!
//! ```text
//! /// Deadline of one read, after which its row says "timed out".
//! pub deadline: Duration = Span(Duration::from_millis(50)..=MINUTE),
//! ```
//!
//! ## A key
//!
//! A few lines in `config/keymap.toml` for an action that exists. For a new one also a line in `src/config/action.rs`,
//! and the arm that the compiler then demands in `src/tui/update/table.rs`. The help lists it from the keymap.
//!
//! ```text
//! [[table]]
//! on = ["y"]
//! run = "copy-pid"
//! desc = "Copy the pid"
//! ```
//!
//! ## A popup or a panel
//!
//! A popup is a file in `src/tui/popup/` with a type that implements `Popup` (title, keys, list, drawing), its `mod` line in
//! `src/tui/popup.rs`, and the arm of the key that opens it. Draw its layout in the file's doc comment; `popup/sort.rs`
//! is a short one to look at. A dialog with keys of its own implements `Modal` (`src/tui/app/modal.rs`). A panel of
//! another kind of row is a file in `src/tui/panel/` and an arm in `draw` of `src/tui/panel.rs`.
//!
//! ## An output format
//!
//! A file in `src/output/` that writes a `Document` or a `DataTable`, a variant of [`Format`](output::Format), and its arm in
//! [`output::write`](fn@output::write). Every report can be written in it then. A report is a type that implements
//! [`Report`](output::Report).
//!
//! ## A subcommand
//!
//! Its options in `src/cli/NAME.rs` with a variant of [`cli::Command`], its `run` in `src/run/NAME.rs`, and the arm that
//! the compiler demands in `src/run.rs`.
//!
//! ## A source of snapshots
//!
//! An iterator of `Result<Arc<Snapshot>, SourceError>` like [`source::Source`], opened in `src/run/snapshot.rs`, which
//! tells sources apart.
//!
//! ## An action on processes
//!
//! A variant of [`act::ProcessAction`], or of [`act::Tunable`] for a number that can be set; the compiler names the rest.
//!
//! # Before you send it
//!
//! `bash .ci/run` runs what must pass: formatting, clippy, these pages, and the tests with their long corpora. `cargo test`
//! alone is quicker. Benches are in `tests/bench`; a test never asserts a time.

pub mod account;
pub mod act;
pub mod alert;
pub mod cli;
pub mod columns;
pub mod config;
pub mod filter;
pub mod group;
pub mod history;
pub mod manual;
pub mod model;
pub mod output;
pub mod proc;
pub mod query;
pub mod record;
pub mod run;
pub mod sampler;
pub mod source;
pub mod text;
pub mod trend;
pub mod tui;
pub mod units;
