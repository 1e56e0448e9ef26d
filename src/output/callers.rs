//! The report of the code that allocates and keeps the memory of a process, as a tree of call paths.
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

use inferno::flamegraph::Palette;
use inferno::flamegraph::color::BasicPalette;

use crate::call_tree::{Measured, Order, SCHEMA, Stack, lines};
use crate::output::OutputStyle;
use crate::schema::{
    Field, Schema, bytes, count, delta, id, list, object, one_of, seconds, switch, text as text_shape,
};
use crate::text;
use crate::units;

/// A report of call paths.
pub struct CallersReport<'a> {
    pub measured: &'a Measured,
    pub order: Order,
    /// Branches with a smaller share of the kept bytes are summed, from 0 to 1.
    pub least: f64,
    /// The most lines of a chain without branches.
    pub chain: usize,
    pub style: OutputStyle,
}

/// The fields of the completeness, with their help.
const COUNTS: [(&str, &str); 11] = [
    ("faults", "Page faults, by their samples."),
    ("samples", "Sampled page faults."),
    (
        "lost",
        "Samples that were lost because the kernel's buffer was full. The other samples represent them.",
    ),
    ("cut", "Samples whose outermost callers are missing."),
    ("without_stack", "Samples without registers, as of a 32-bit program."),
    ("of_files", "Samples of pages of files, which are not counted."),
    ("forgotten", "Samples of call paths beyond the maximum that is kept."),
    (
        "pages_of_each",
        "One of this number of sampled pages was checked, and represents the others.",
    ),
    ("threads", "Threads that were followed."),
    ("threads_left_out", "Threads that could not be followed."),
    (
        "too_large",
        "Files whose symbols or debug information were left out, because they need too much memory.",
    ),
];

pub fn schema() -> Schema {
    let field = Field::new;
    let source = object(vec![
        field("file", "As the compiler names it.", text_shape()),
        field("line", "Of the call, or of the access.", id()),
    ]);
    let kinds = ["program", "library", "allocator", "generated", "kernel", "unknown"];
    let frame = object(vec![
        field("function", "Its name; its address if that is not known.", text_shape()),
        field(
            "module",
            "The file name of the program or library; empty for code without a file.",
            text_shape(),
        ),
        field("source", "Its line.", source.null("not known")),
        field("inlined", "It is a call that the compiler inlined.", switch()),
        field("kind", "The kind of code.", one_of(kinds)),
    ]);
    let stack = vec![
        field(
            "frames",
            "Its functions, innermost first: indices into the list of functions.",
            list(id()),
        ),
        field("taken", "Memory that was touched for the first time.", bytes()),
        field(
            "kept",
            "The part of it that is resident or in swap at the end.",
            bytes(),
        ),
        field(
            "cold",
            "The part of `kept` that was certainly not touched during the proof.",
            bytes().null("without --prove"),
        ),
        field("samples", "The samples behind it.", count()),
        field("cut", "The outermost callers are missing.", switch()),
    ];
    let mut fields = vec![
        field("schema", "The name of this schema.", text_shape()),
        field("pid", "The process; the largest one of several.", id()),
        field(
            "processes",
            "Number of processes that were named, without those that they forked.",
            count(),
        ),
        field("command", "Its name.", text_shape()),
        field("time_s", "The time of the measurement so far.", seconds()),
        field(
            "proved_s",
            "The time of the proof at its end: since the referenced bits were cleared.",
            seconds().null("without --prove"),
        ),
        field(
            "growth",
            "The growth of its PSS and swap in that time.",
            delta().null("at least one of them could not be read"),
        ),
    ];
    fields.extend(COUNTS.map(|(name, help)| field(name, help, count())));
    fields.push(field(
        "kept_by_forked",
        "The part of the kept memory that processes have which the named ones forked.",
        bytes(),
    ));
    fields.push(field(
        "sees_kernel",
        "Page faults in the kernel were sampled, too.",
        switch(),
    ));
    fields.push(field(
        "lacks_page_size",
        "Each page counts as a small one, because the kernel does not report huge pages.",
        switch(),
    ));
    fields.push(field("frames", "The functions of all paths.", list(frame)));
    fields.push(field(
        "stacks",
        "The call paths, sorted by kept memory.",
        list(object(stack)),
    ));
    Schema {
        name: SCHEMA,
        help: "The code that allocates and keeps the memory of a process. Written by `zmtop callers`.",
        fields,
    }
}

impl CallersReport<'_> {
    /// Writes the tree.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Measured { stacks, .. } = self.measured;
        let total = stacks.total();
        writeln!(out, "{}", self.measured.summary(self.style.units))?;
        for note in self.measured.notes(self.style.units) {
            for line in text::wrap(&note, self.style.width.unwrap_or(100).max(40)) {
                writeln!(out, "{line}")?;
            }
        }
        if stacks.stacks.is_empty() {
            return Ok(());
        }
        let tree = stacks.tree(self.order);
        writeln!(out, "\n{}", self.order.heading(total.cold.is_some()))?;
        for line in lines(&tree, self.least, self.chain) {
            let row = line.text(stacks, total, self.order, self.style.units, self.style.ascii);
            match self.style.width {
                Some(width) => writeln!(out, "{}", text::truncate(&row, width))?,
                None => writeln!(out, "{row}")?,
            }
        }
        Ok(())
    }

    /// Writes one object with all paths.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        super::json::line(out, self.measured)
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
        let time = Duration::try_from_secs_f64(self.measured.time_s).unwrap_or_default();
        let mut options = inferno::flamegraph::Options::default();
        options.title = format!(
            "Memory that {} took in {} and keeps",
            self.measured.name(),
            units::span(time)
        );
        "bytes".clone_into(&mut options.count_name);
        options.colors = Palette::Basic(BasicPalette::Mem);
        let lines = self.folded();
        inferno::flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out).map_err(io::Error::other)
    }

    /// Returns the lines of [`Self::write_folded`].
    pub fn folded(&self) -> Vec<String> {
        let command = text::safe(self.measured.command.as_bytes()).replace([';', ' '], "_");
        let stacks = self.measured.stacks.stacks.iter().filter(|stack| stack.weight.kept > 0);
        let line = |stack: &Stack| {
            let mut line = command.clone();
            for id in stack.frames.iter().rev() {
                let name = text::safe(self.measured.stacks.frames[*id as usize].function.as_bytes()).replace(';', ":");
                line.push(';');
                line.push_str(&name);
            }
            let _ = write!(line, " {}", stack.weight.kept);
            line
        };
        stacks.map(line).collect()
    }
}
