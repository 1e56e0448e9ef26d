//! The report of the code that takes and keeps the memory of a process, as a tree of call paths.
//!
//! ```text
//! server (pid 4711), 30 s: 6,392 page faults, 25.0M taken, 24.1M of it kept
//!
//!   KEPT          TAKEN  FUNCTION, AND ITS CALLERS
//!  23.5M   97 %   23.6M  remember_session server.c:41
//!                        ← handle_request server.c:88
//!                        ← main server.c:120
//! ```

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::json;

use crate::call_tree::{Frame, Kind, Order, Stacks, Tree, Weight};
use crate::output::OutputStyle;
use crate::stacks::Counts;
use crate::text;
use crate::units::{self, counted};

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-callers/1";
/// The deepest branch that is indented further.
const MAX_INDENT: usize = 12;
/// The most lines of a chain without branches.
pub const CHAIN: usize = 12;

/// What a report is about.
pub struct CallersReport<'a> {
    pub pid: u32,
    pub command: &'a [u8],
    pub time: Duration,
    pub counts: Counts,
    pub stacks: &'a Stacks,
    pub order: Order,
    /// Branches with a smaller share of the kept bytes are summed, from 0 to 1.
    pub least: f64,
    /// The most lines of a chain without branches.
    pub chain: usize,
    /// The growth of its PSS and swap in that time, if both ends could be read.
    pub growth: Option<i64>,
    pub style: OutputStyle,
}

/// A line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub depth: usize,
    /// `None` for a line with the same weight as the one above.
    pub weight: Option<Weight>,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A function, by an index into [`Stacks::frames`].
    Frame(u32),
    /// So many callers of a chain that are not shown.
    More(usize),
    /// The sum of the branches that are not shown.
    Others,
}

/// Returns the lines of a tree. A chain without branches is not indented, and has at most `chain` lines.
pub fn lines(tree: &Tree, least: f64, chain: usize) -> Vec<Line> {
    let total = tree.nodes[0].weight;
    let by_kept = total.kept > 0;
    let size = |weight: Weight| if by_kept { weight.kept } else { weight.taken };
    let floor = (size(total) as f64 * least).ceil() as u64;
    let mut lines = Vec::new();
    // What is still to do, the next one last.
    let mut todo = vec![(0_u32, 0_usize, true)];
    let mut in_chain = 0;
    while let Some((at, depth, is_branch)) = todo.pop() {
        let node = &tree.nodes[at as usize];
        in_chain = if is_branch { 0 } else { in_chain + 1 };
        if at != 0 && in_chain < chain {
            lines.push(Line {
                depth,
                weight: is_branch.then_some(node.weight),
                what: What::Frame(node.frame),
            });
        } else if at != 0 {
            match lines.last_mut() {
                Some(Line {
                    what: What::More(count),
                    ..
                }) => *count += 1,
                _ => lines.push(Line {
                    depth,
                    weight: None,
                    what: What::More(1),
                }),
            }
        }
        let is_large = |child: &&u32| size(tree.nodes[**child as usize].weight) >= floor.max(1);
        let shown: Vec<u32> = node.children.iter().filter(is_large).copied().collect();
        let only = shown.len() == 1 && at != 0 && size(tree.nodes[shown[0] as usize].weight) == size(node.weight);
        let below = if at == 0 || only { depth } else { depth + 1 };
        todo.extend(shown.iter().rev().map(|child| (*child, below, !only)));
    }
    let mut shown = Weight::default();
    for line in lines.iter().filter(|line| line.depth == 0) {
        if let Some(weight) = line.weight {
            shown += weight;
        }
    }
    let rest = Weight {
        taken: total.taken.saturating_sub(shown.taken),
        kept: total.kept.saturating_sub(shown.kept),
        samples: total.samples.saturating_sub(shown.samples),
    };
    if size(rest) > 0 {
        lines.push(Line {
            depth: 0,
            weight: Some(rest),
            what: What::Others,
        });
    }
    lines
}

/// Returns the name of a frame with its module or its line, safe to print.
pub fn frame_text(frame: &Frame) -> String {
    let mut text = text::safe(frame.function.as_bytes()).into_owned();
    match (&frame.source, frame.kind) {
        (Some((file, line)), _) => {
            let file = file.rsplit('/').next().unwrap_or(file);
            let _ = write!(text, " {}:{line}", text::safe(file.as_bytes()));
        }
        (None, Kind::Program | Kind::Kernel) => {}
        (None, _) if frame.module.is_empty() => {}
        (None, _) => {
            let _ = write!(text, " ({})", text::safe(frame.module.as_bytes()));
        }
    }
    text
}

impl CallersReport<'_> {
    fn bytes(&self, bytes: u64) -> String {
        units::bytes(bytes, self.style.units)
    }

    /// Writes the tree.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let total = self.stacks.total();
        writeln!(
            out,
            "{} (pid {}), {}: {}, {} taken, {} of it kept",
            text::safe_prefix(self.command, 40),
            self.pid,
            units::span(self.time),
            counted(self.counts.faults, "page fault"),
            self.bytes(total.taken),
            self.bytes(total.kept),
        )?;
        for note in self.notes() {
            for line in text::wrap(&note, self.style.width.unwrap_or(100).max(40)) {
                writeln!(out, "{line}")?;
            }
        }
        if self.stacks.stacks.is_empty() {
            return Ok(());
        }
        let tree = self.stacks.tree(self.order);
        let title = match self.order {
            Order::Callers => "FUNCTION, AND ITS CALLERS",
            Order::Callees => "FUNCTION, AND WHAT IT CALLED",
        };
        writeln!(out, "\n{:>7} {:>6} {:>7}  {title}", "KEPT", "", "TAKEN")?;
        let arrow = match (self.order, self.style.ascii) {
            (Order::Callers, false) => "← ",
            (Order::Callers, true) => "<- ",
            (Order::Callees, false) => "→ ",
            (Order::Callees, true) => "-> ",
        };
        for line in lines(&tree, self.least, self.chain) {
            let figures = line.weight.map_or_else(
                || " ".repeat(22),
                |weight| {
                    let share = if total.kept > 0 {
                        format!("{:.0} %", weight.kept as f64 * 100.0 / total.kept as f64)
                    } else {
                        String::new()
                    };
                    format!(
                        "{:>7} {share:>6} {:>7}",
                        self.bytes(weight.kept),
                        self.bytes(weight.taken)
                    )
                },
            );
            let indent = "  ".repeat(line.depth.min(MAX_INDENT));
            let arrow = if line.depth == 0 && line.weight.is_some() {
                ""
            } else {
                arrow
            };
            let name = match line.what {
                What::Frame(id) => frame_text(&self.stacks.frames[id as usize]),
                What::More(count) => format!("{count} more"),
                What::Others => "others".to_owned(),
            };
            let row = format!("{figures}  {indent}{arrow}{name}");
            match self.style.width {
                Some(width) => writeln!(out, "{}", text::truncate(&row, width))?,
                None => writeln!(out, "{row}")?,
            }
        }
        Ok(())
    }

    /// Returns what limits the result.
    fn notes(&self) -> Vec<String> {
        let counts = self.counts;
        let mut notes = Vec::new();
        if let Some(growth) = self.growth {
            let kept = self.stacks.total().kept;
            let bytes = units::delta(growth, self.style.units);
            notes.push(format!("PSS and swap changed by {bytes}"));
            let unseen = growth.saturating_sub_unsigned(kept);
            if unseen > 1 << 20 && unseen.unsigned_abs() * 5 > growth.unsigned_abs() {
                notes.push(format!(
                    "{} of the growth is not explained: pages that were mapped without a sampled fault, such as by khugepaged, or shared less than before",
                    self.bytes(unseen.unsigned_abs()),
                ));
            }
        }
        if let Some(runtime) = self.stacks.runtime() {
            notes.push(runtime.advice().replace("PID", &self.pid.to_string()));
        }
        if counts.faults > counts.samples * 11 / 10 {
            notes.push(format!("sampled: {} of the faults", units::count(counts.samples)));
        }
        if !counts.sees_kernel {
            notes.push(
                "without faults in the kernel, as by read(2) into a fresh buffer: that needs CAP_PERFMON, or kernel.perf_event_paranoid of at most 1"
                    .to_owned(),
            );
        }
        if counts.lost > 0 {
            notes.push(format!(
                "{} lost: the machine was too busy",
                counted(counts.lost, "sample")
            ));
        }
        if counts.without_stack > 0 {
            notes.push(format!(
                "{} without a stack, as of a 32-bit program",
                counted(counts.without_stack, "sample")
            ));
        }
        if counts.cut * 20 > counts.samples {
            let share = counts.cut * 100 / counts.samples.max(1);
            notes.push(format!(
                "{share} % of the stacks are cut: they were deeper than their copy, or could not be unwound"
            ));
        }
        if counts.threads_left_out > 0 {
            notes.push(format!(
                "{} could not be followed",
                counted(counts.threads_left_out as u64, "thread")
            ));
        }
        if counts.forgotten > 0 {
            notes.push(format!(
                "{} beyond the most that are remembered",
                counted(counts.forgotten, "sample")
            ));
        }
        if counts.samples == 0 {
            notes.push("no page was touched for the first time in that time".to_owned());
        }
        notes
    }

    /// Writes one object with all paths.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let total = self.stacks.total();
        let frame = |id: &u32| {
            let frame = &self.stacks.frames[*id as usize];
            json!({
                "function": frame.function,
                "module": frame.module,
                "file": frame.source.as_ref().map(|(file, _)| file),
                "line": frame.source.as_ref().map(|(_, line)| line),
                "inlined": frame.inlined,
                "kind": kind(frame.kind),
            })
        };
        let stacks = self.stacks.stacks.iter().map(|stack| {
            json!({
                "taken": stack.weight.taken,
                "kept": stack.weight.kept,
                "samples": stack.weight.samples,
                "cut": stack.is_cut,
                "frames": stack.frames.iter().map(frame).collect::<Vec<_>>(),
            })
        });
        let counts = self.counts;
        let document = json!({
            "schema": SCHEMA,
            "pid": self.pid,
            "command": String::from_utf8_lossy(self.command),
            "time_s": self.time.as_secs_f64(),
            "growth": self.growth,
            "taken": total.taken,
            "kept": total.kept,
            "faults": counts.faults,
            "samples": counts.samples,
            "lost": counts.lost,
            "cut": counts.cut,
            "threads": counts.threads,
            "threads_left_out": counts.threads_left_out,
            "kernel": counts.sees_kernel,
            "stacks": stacks.collect::<Vec<_>>(),
        });
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)
    }

    /// Writes a line per path, outermost function first, with the kept bytes: the input of flame graph tools.
    pub fn write_folded(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in self.folded() {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// Writes a flame graph of the kept bytes that a browser shows.
    pub fn write_svg(&self, out: impl Write) -> io::Result<()> {
        let mut options = inferno::flamegraph::Options::default();
        options.title = format!(
            "Memory that {} (pid {}) took in {} and kept",
            text::safe_prefix(self.command, 40),
            self.pid,
            units::span(self.time)
        );
        options.count_name = "bytes".to_owned();
        options.colors = inferno::flamegraph::Palette::Basic(inferno::flamegraph::color::BasicPalette::Mem);
        let lines = self.folded();
        inferno::flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out).map_err(io::Error::other)
    }

    /// Returns the lines of [`Self::write_folded`].
    pub fn folded(&self) -> Vec<String> {
        let command = text::safe(self.command).replace([';', ' '], "_");
        let stacks = self.stacks.stacks.iter().filter(|stack| stack.weight.kept > 0);
        let line = |stack: &crate::call_tree::Stack| {
            let mut line = command.clone();
            for id in stack.frames.iter().rev() {
                let name = text::safe(self.stacks.frames[*id as usize].function.as_bytes()).replace(';', ":");
                line.push(';');
                line.push_str(&name);
            }
            let _ = write!(line, " {}", stack.weight.kept);
            line
        };
        stacks.map(line).collect()
    }
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Program => "program",
        Kind::Library => "library",
        Kind::Allocator => "allocator",
        Kind::Generated => "generated",
        Kind::Kernel => "kernel",
        Kind::Unknown => "unknown",
    }
}
