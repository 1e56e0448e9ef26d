//! zmtop, a top-like terminal monitor for Linux memory.
//!
//! This page is for contributors: the [words](#glossary), the [layers](#layers) of the code, the way of
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
//! | tolerance | the error of a PSS that nobody minds: 1 % of it, or 1 MiB; a change below it is not coloured |
//! | new, due, idle | of a process: never walked; its figure may be wrong by more than is tolerated; the rest, as [`sampler::policy::plan`] defines them |
//! | expensive | of a process: one walk takes more than 20 ms of CPU time |
//! | budget, token bucket | the share of a core that walks may use; it fills with time and is emptied by walks |
//! | focus | the processes on the screen or tagged, which are walked sooner |
//! | tick, snapshot | one round of the sampler, and the raw readings it publishes |
//! | identity | `(pid, starttime)`: a reused pid is another process |
//! | reading | a value, or the reason why it is [missing](model::Missing). Never 0 for "unknown" |
//! | row, row key | one line of a table, and what identifies it from tick to tick: a process's identity or a group's key |
//! | group | processes summed by program, user, unit, container, cgroup or family; or mappings summed by name |
//! | family | a daemon and its descendants, below an init, a supervisor, a shell or a container's first process |
//! | equal siblings | processes of one parent, user and cgroup that run the same command, but for numbers in it; on the screen three or more are folded into one row, [`query::Folds`] |
//! | shared mm | processes with one address space (`CLONE_VM`); a sum counts it once |
//! | history, series | the past of all rows, and of one: footprints at five resolutions, coarser with age |
//! | bucket, run | one step of a series; buckets in a row with equal values, stored as one |
//! | horizon, floor | a length of time that is judged; the lowest value in a part of it |
//! | judgement, verdict | what [`trend::judge`] says of a series; its one word: leaking, growing, warming, steady or shrinking |
//! | fleet | many hosts at once; a row is then a group of processes on one host, as `zmtop serve` exports it |
//! | suspect | a process or group with a verdict worth showing |
//! | hot, cold | of a process's resident pages, those touched since its referenced bits were cleared, and the rest |
//! | mark | the figures at a moment the user chose, to show changes since |
//! | engine | turns snapshots into history, verdicts and alerts; the screen only looks |
//! | needs | the data that the columns, filters and panels in use require, so that nothing else is read |
//! | frozen | of a table: its order stays while values go on |
//! | scope | the cgroup whose memory and limit stand for the machine's: that of the container that zmtop is in, or the one chosen |
//! | part | one line of the account of the RAM: file cache, unreclaimable slab, what is not accounted for |
//! | page | what the screen shows between its header and its last line: the processes, the account of the RAM, or the kernel's own memory |
//! | modal | a popup, dialog or prompt, which takes the keys while it is open |
//! | effect | something outside the state that [`tui::update`](fn@tui::update) asks the run loop to do |
//!
//! # Layers
//!
//! A file imports only from lower layers, and no files import each other in a circle; only a child may use its
//! parent (`foo/bar.rs` of `foo.rs`). The tests in `tests/integration/arch.rs` hold both.
//!
//! ```text
//! L0   units text order schema  bytes, rates, durations; foreign bytes made safe to print; lists sorted; what documents consist of
//! L1   model                 plain data: snapshot, process, system, mapping, reading
//! L2   trend group account   a verdict from a series; sums of processes; where the RAM went
//! L3   filter history        the filter language; the past of every row, marks, suspects
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
//!    the reads are done by a pool of reader threads with deadlines, since a read of `/proc` may never return.
//! 2. [`sampler::policy::plan`] chooses the processes to walk, within the budget. [`proc::smaps`] parses what is read into
//!    [`model::Memory`].
//! 3. The scanner publishes a [`Snapshot`](model::Snapshot): raw readings, nothing derived.
//! 4. The [`engine`] pushes it into the [`History`](history::History), on a thread of its own: changes, rates, series, and from
//!    time to time a verdict by [`trend::judge`]. Then it evaluates the alert rules. The run loop ([`run::monitor`]) lends its
//!    [state](engine::State) to [`tui::update`](fn@tui::update) and [`tui::view`](fn@tui::view).
//! 5. [`query`] filters, groups and sorts: what a table shows are [`RowKey`](group::RowKey)s in order.
//! 6. [`tui::view`](fn@tui::view) makes a [`Row`](columns::Row) of each that is on screen. Each [`Column`](columns::Column) takes its
//!    [`Value`](columns::Value) from it, and [`columns::cell`](fn@columns::cell) writes that at the column's width.
//!
//! `zmtop ps` takes the same way with [`output`] in place of `tui`. A file (`--from`) enters at step 4, by [`source`].
//!
//! # From a key to a cell
//!
//! 1. `run/monitor/decoder.rs` decodes the bytes of the terminal; `run/monitor/feeds.rs` passes on an [`Event`](tui::Event).
//! 2. [`tui::update`](fn@tui::update) gives it to the open popup, dialog or prompt; else the [keymap](config::keymap) makes an
//!    [`Action`](config::Action) of it, and the open page performs that, or `tui/update/table.rs` on the [`App`](tui::App).
//! 3. What must be done outside comes back as [`Effect`](tui::Effect)s, which the run loop performs. What the screen
//!    needs of the sampler is state, not a command: [`App::wanted`](tui::App::wanted) derives a
//!    [`Wanted`](sampler::Wanted), which the run loop puts into a `watch` channel when it changed.
//! 4. [`tui::view`](fn@tui::view) draws the state, and changes nothing.
//!
//! # How to add
//!
//! The manual page, the completions and the picture in `assets/` are made of columns, keys, options and the screen: after
//! a change `INSTA_UPDATE=always cargo test` writes them anew, and a test fails until then.
//!
//! ## A column
//!
//! Add an entry to `COLUMNS` in `src/columns/process.rs`, beside those of its kind: memory, verdicts, what a
//! process is, groups and cgroups. The order there is the order in the chooser.
//! For the resident pages that are clean:
//!
//! ```text
//! Entry::bytes("clean", "CLEAN", |r| memory(r, |m| Ok(m.rss.saturating_sub(m.dirty()))))
//!     .help("Clean resident pages, not divided by sharers. Formula: Rss − Private_Dirty − Shared_Dirty of smaps_rollup.")
//!     .priority(Priority::Low),
//! ```
//!
//! The screen, the sort menu, the chooser, the help, filters (`clean>100M`), `--columns`, JSON and CSV have it then. The
//! value is a reading, hence the `Ok`: a figure that a kernel may lack is an `Err` with the reason. `memory` is one of the
//! helpers below the entries.
//!
//! An entry begins as `Entry::bytes` (a sum in bytes that needs the memory), `Entry::figure` (another unit) or
//! `Entry::text`. Methods say what differs:
//!
//! | method | meaning |
//! | --- | --- |
//! | `needs` | data that must be read for it |
//! | `priority` | importance where the screen is too narrow for all |
//! | `applies_to` | rows that have a value in it |
//! | `label` | it is the name of its row |
//! | `additive` | the total of a set of rows is their sum |
//! | `ascending` | the lowest value comes first |
//! | `timed` | it is a change over `ui.delta`, which its heading says |
//! | `grows` | it takes the width that is left over |
//! | `metric` | its name in Prometheus |
//!
//! To show it by default, add its id to a list in `src/columns/layout.rs`; the tables of the monitor are in
//! `config/default.toml`. Mappings, suspects, parts of the RAM and system figures have tables of their own: `src/columns/mapping.rs`,
//! `suspect.rs`, `part.rs`, `system.rs`. Test with `cargo test columns::`, which goes through every entry.
//!
//! ```
//! let pss = zmtop::columns::find("pss").expect("every table has it");
//! assert_eq!(pss.get().title, "PSS");
//! ```
//!
//! ## A kernel figure
//!
//! *Of the system*, a line of `/proc/meminfo` or `/proc/vmstat`: add an entry to `src/model/system.rs`. The field of
//! [`SystemSample`](model::SystemSample), parsing, and the field of `zmtop/1`, in this order, follow. If it is a part of
//! the RAM, describe it in `src/account/parts.rs` and add it to `parts` of `src/account.rs`.
//!
//! ```text
//! /// `KernelStack`.
//! kernel_stack: Meminfo(&["KernelStack"]),
//! ```
//!
//! *Of a process*, a line of `smaps_rollup`: add an entry to the list in `src/model/memory.rs` (`u64` if every kernel writes
//! the line, else `Reading<u64>`), and its name to `define_process!` in `src/record/process.rs`; leaving that out is a compile
//! error. Then a column shows it. What its comment says is what `zmtop schema` says of it.
//!
//! ```
//! let rollup = b"00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\nRss: 8 kB\nPss: 6 kB\nPrivate_Clean: 0 kB\n\
//!     Private_Dirty: 4 kB\nShared_Clean: 4 kB\nShared_Dirty: 0 kB\nSwap: 0 kB\n";
//! let memory = zmtop::proc::smaps::rollup(rollup).expect("it has every line that every kernel writes");
//! assert_eq!((memory.pss, memory.uss()), (6 << 10, 4 << 10));
//! ```
//!
//! *Of a cgroup*: the list in `src/model/cgroup.rs`, and `read_v1` and `read_v2` in `src/proc/cgroup/figures.rs`.
//!
//! *From another file of a process*: a parser in [`proc`]; a line in `read_facts` of `src/sampler/reading/facts.rs` if it
//! is read once per program, else a `job` of its own, as in `src/sampler/scanner/table/facts.rs`; its field in [`model`].
//!
//! ## A setting
//!
//! 1. A field with its doc comment in `src/config/settings.rs`. After `=` stands the kind that reads and checks the value:
//!    `Switch` (true or false), `Number`, `Span` (a time), `Size`, `Share`, `Choice`… of `src/config/setting.rs`.
//! 2. Its comment and default in `config/default.toml`, in the same order. Without it the default is false, 0 or empty.
//! 3. Another value in `ALL_CHANGED` of `tests/integration/config/settings.rs`.
//!
//! The tests demand 2 and 3. `zmtop config show` and `check` and the error texts follow. What the key `W` saves is listed
//! in `src/config/save.rs`.
//!
//! ```text
//! /// Deadline of one read, after which its row says "timed out".
//! pub deadline: Duration = Span(Duration::from_millis(50)..=MINUTE),
//! ```
//!
//! ## A key
//!
//! For an action that exists, an entry in `config/keymap.toml` is all; the help lists it from there.
//!
//! ```text
//! [[table]]
//! on = ["y"]
//! run = "show-pid"
//! desc = "Show the pid"
//! ```
//!
//! For a new action also a variant in `src/config/action.rs`, and the arm that the compiler then demands in
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
//! `app.tables.current().selected_row()` is the row under the cursor, and `app.screen.say` shows a message. An action that
//! changes processes must also be in `Action::acts`, so that `--readonly` refuses it.
//!
//! ## A popup or a panel
//!
//! A popup is a file in `src/tui/popup/` with a type that implements `Popup` (title, keys, entries, drawing), or `Text` if there is nothing to choose, and its layout drawn
//! in the file's doc comment; its `mod` line in `src/tui/popup.rs`; and the arm of its key: `app.open_popup(MyPopup::new(app))`.
//! `SortMenu` in `popup/menus.rs` is a short one to look at. What is no list implements `Modal` (`src/tui/app/modal.rs`) itself. A panel
//! of another kind of row is a file in `src/tui/panel/` and an arm in `draw` of `src/tui/panel.rs`.
//!
//! ## A page
//!
//! A page is a file in `src/tui/page/` with a type that implements [`Page`](tui::app::Page) and its layout drawn in the file's
//! doc comment; its `mod` line and its line in `PAGES` of `src/tui/page.rs`:
//!
//! ```text
//! (Action::KernelPage, "kernel", || Box::<kernel::KernelPage>::default()),
//! ```
//!
//! and its key, as [above](#a-key), whose arm in `update/table.rs` is the empty one. The last line then names the page, the
//! help lists the keys that it [`performs`](tui::app::Page), and the sampler reads what its
//! [`needs`](tui::app::Page::needs) name while it is open, and no process for the screen. Pages share the keys of the tables:
//! `Up`, `Open`, `Filter` and so on mean the same on each.
//!
//! A page is one table, whose columns are a `&[Column<T>]`. [`PageTable`](tui::app::PageTable) keeps its selection, order and
//! filter, and draws it. The page returns the keys of its rows in the order that `PageTable::arrange` gives them, its columns, and
//! where the table is; moving, sorting, filtering, searching and clicking are then the same on each page. `page/memory.rs` is one
//! to look at. What it performs beyond that it says in [`takes`](tui::app::Page::takes).
//!
//! ## An output format, a report
//!
//! A format is a file in `src/output/` that writes a `Document` or a `DataTable`, a variant of [`Format`](output::Format), and its
//! arm in [`output::write`](fn@output::write). Every report can be written in it then. A report is a file there with a type
//! that implements [`Report`](output::Report); `output/held.rs` is a short one. A `described_object!` lists the fields of its
//! document, each with its meaning, its shape and its value, from which `zmtop schema` describes it too: its `schema` is a
//! line in `src/run/generate.rs`.
//!
//! ## A subcommand
//!
//! Its options and its `run` in `src/run/NAME.rs`, a variant of [`cli::Command`], and the arm that the compiler demands in
//! `src/run.rs`. Options that several commands have are in `src/cli/shared.rs`.
//!
//! ## A source of snapshots
//!
//! An iterator of `Result<Arc<Snapshot>, SourceError>` like [`source::Source`], opened in `src/run/snapshot.rs`, which
//! tells sources apart. A source that is asked over a network is a task in place of the sampler's, as [`fleet`] is;
//! `src/run/fleet.rs` starts it.
//!
//! ## An action on processes
//!
//! A number that can be set, such as the niceness, is a variant of [`act::Tunable`] with its arm in `spec()` of
//! `src/act.rs`, and the arms that the compiler demands in `src/act/pinned.rs`. Anything else is a variant of
//! [`act::ProcessAction`].
//!
//! # Before you send it
//!
//! `cargo test columns::` runs the tests of one module, `cargo test -- columns:: config::` of two, `cargo test` all. Where a
//! picture of a screen in `tests/integration/snapshots` changes, look at the new one, and accept it with
//! `INSTA_UPDATE=always cargo test NAME`. `bash .ci/run` runs what must pass: formatting, clippy, these pages, and the tests
//! in their long form (`ZMTOP_TEST_LONG=1`): every seed of the corpora, and real programs. Benches are in `tests/bench`; a test never asserts a time.

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
