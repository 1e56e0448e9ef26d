//! The columns of the kernel's allocation call sites.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::columns::{Column, Label, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::model::Missing;
use crate::model::kernel::{CallFigures, CallSite, Callers, Trace};
use crate::units::{Units, bytes, counted, delta};

/// A call site, or a sum of call sites.
#[derive(Clone, Copy, Debug)]
pub struct CallerRow<'a> {
    /// The call site, or one of a function; `None` for a total.
    site: Option<&'a CallSite>,
    /// True if the row is the sum of all call sites in a function.
    is_function: bool,
    pub figures: CallFigures,
    /// The traced time, in seconds.
    pub seconds: f64,
}

impl<'a> CallerRow<'a> {
    /// Returns its name: `function+0x1f [module]`, without the offset for a whole function; the address if the function is
    /// unknown.
    pub fn name(&self) -> Option<Cow<'a, [u8]>> {
        let site = self.site?;
        let (symbol, address) = match (&site.symbol, site.address) {
            (Some(symbol), Some(address)) => (symbol, address),
            (_, Some(address)) => return Some(format!("{address:#x}").into_bytes().into()),
            (_, None) => return Some(Cow::Borrowed(b"(further call sites)")),
        };
        let mut name = symbol.name.to_vec();
        if !self.is_function {
            name.extend_from_slice(format!("+{:#x}", address.saturating_sub(symbol.address)).as_bytes());
        }
        if let Some(module) = &symbol.module {
            name.extend_from_slice(&[b" [", &module[..], b"]"].concat());
        }
        Some(name.into())
    }

    /// Returns the rows of a trace, for each call site or, if `by_symbol`, for each function.
    pub fn of(callers: &'a Callers, by_symbol: bool) -> Vec<Self> {
        let seconds = callers.trace.time.as_secs_f64();
        let mut rows: Vec<Self> = Vec::new();
        let mut places = HashMap::new();
        for site in &callers.sites {
            // A call site in an unknown function has its own row.
            let symbol = site.symbol.as_ref().filter(|_| by_symbol);
            let known = symbol.map(|symbol| *places.entry(symbol).or_insert(rows.len()));
            match known.and_then(|at| rows.get_mut(at)) {
                Some(row) => row.figures = [row.figures, site.figures].into_iter().sum(),
                None => rows.push(Self {
                    site: Some(site),
                    is_function: by_symbol,
                    figures: site.figures,
                    seconds,
                }),
            }
        }
        rows
    }

    pub fn total(rows: &[Self], seconds: f64) -> Self {
        Self {
            site: None,
            is_function: false,
            figures: rows.iter().map(|row| row.figures).sum(),
            seconds,
        }
    }

    /// Divides by the number of allocations.
    const fn each(&self, bytes: u64) -> Value<'static> {
        match bytes.checked_div(self.figures.hits) {
            Some(each) => Value::Count(each),
            None => Value::Blank,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum CallSites {}

impl TableKind for CallSites {
    type Row<'a> = CallerRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;
}

type Entry = Column<CallSites>;

type Get = for<'a> fn(&'a CallerRow<'a>) -> Value<'a>;

const fn count(id: &'static str, title: &'static str, value: Get) -> Entry {
    Entry::figure(id, title, Unit::Count, 5, value).additive(true)
}

pub static COLUMNS: &[Entry] = &[
    Entry::bytes("allocated", "ALLOC", |r| Value::Bytes(r.figures.allocated)).help(
        "Memory of the traced allocations. Kernel: Σ bytes_alloc of the events kmem:kmalloc and \
         kmem:kmem_cache_alloc.",
    ),
    Entry::bytes("requested", "REQ", |r| Value::Bytes(r.figures.requested))
        .help("Memory that these allocations requested. Kernel: Σ bytes_req of the same events."),
    Entry::bytes("wasted", "WASTE", |r| Value::Bytes(r.figures.wasted())).help(
        "Memory allocated but not requested: requests are rounded up to the size of an object. Formula: ALLOC − \
         REQ.",
    ),
    Entry::figure("frag", "FRAG%", Unit::Share, 5, |r| match r.figures.allocated {
        0 => Value::Blank,
        allocated => Value::Share(r.figures.wasted() as f64 / allocated as f64),
    })
    .help("Internal fragmentation: the wasted share. Formula: WASTE ÷ ALLOC."),
    count("hits", "HITS", |r| Value::Count(r.figures.hits)).help("Traced allocations."),
    Entry::figure("rate", "HIT/S", Unit::PerSecond, 5, |r| {
        if r.seconds > 0.0 {
            Value::PerSecond(r.figures.hits as f64 / r.seconds)
        } else {
            Value::Blank
        }
    })
    .help("Allocations per second. Formula: HITS ÷ the time traced.")
    .additive(true),
    count("request", "REQSZ", |r| r.each(r.figures.requested))
        .help("Average bytes that one allocation requests. Formula: REQ ÷ HITS.")
        .additive(false),
    count("size", "SIZE", |r| r.each(r.figures.allocated))
        .help("Average bytes that one allocation uses. Formula: ALLOC ÷ HITS.")
        .additive(false),
    Entry::figure("growth", "NET", Unit::Delta, 6, |r| Value::Delta(r.figures.growth(), 0))
        .help(
            "Growth: memory allocated and not freed during the trace. Each free is matched by its pointer. If the \
             kernel does not report a free, such as a bulk free after an RCU grace period, it counts when the memory \
             is allocated again.",
        )
        .additive(true),
    count("frees", "FREES", |r| Value::Count(r.figures.frees))
        .help("Traced allocations that were freed. Kernel: the events kmem:kfree and kmem:kmem_cache_free."),
    Entry::bytes("freed", "FREED", |r| Value::Bytes(r.figures.freed)).help("Memory that these frees released."),
    count("cross_cpu", "PING", |r| Value::Count(r.figures.cross_cpu)).help(
        "Frees on a different CPU from the allocation, which cost more. This is Ping-pong of perf kmem, not its Cross \
         CPU, which concerns NUMA nodes.",
    ),
    Entry::text("address", "ADDRESS", 18, |r| {
        r.site.and_then(|site| site.address).map_or(Value::Blank, |address| {
            Value::Text(format!("{address:#x}").into_bytes().into())
        })
    })
    .help("The return address of the call. For a function, the address of one of its calls."),
    Entry::text("module", "MODULE", 8, |r| {
        let module = r.site.and_then(|site| site.symbol.as_ref()?.module.as_ref());
        module.map_or(Value::Blank, |module| Value::text(Ok(module)))
    })
    .help("The kernel module that contains the function."),
    Entry::text("caller", "CALLER", 20, |r| r.name().map_or(Value::Blank, Value::Text))
        .help(
            "The function that allocates, with the offset of the call. Kernel: call_site of the events, resolved with \
             /proc/kallsyms.",
        )
        .label(Label::Group),
];

/// Returns why the call sites have no names, and how to get them.
pub fn unnamed(why: Missing) -> String {
    match why {
        Missing::Denied => {
            "No names: /proc/kallsyms hides its addresses. As root, sysctl kernel.kptr_restrict=1 shows them".into()
        }
        Missing::Unsupported => "No names: this kernel has no /proc/kallsyms".into(),
        other => format!("No names: /proc/kallsyms cannot be read: {other}"),
    }
}

pub fn summary(sums: &CallFigures, units: Units) -> String {
    let share = sums.wasted() as f64 / (sums.allocated.max(1)) as f64 * 100.0;
    format!(
        "Net {}: {} allocated, {} freed. {share:.1} % is internal fragmentation. {} of {} on another CPU",
        delta(sums.growth(), units),
        bytes(sums.allocated, units),
        bytes(sums.freed, units),
        sums.cross_cpu,
        counted(sums.frees, "free") + if sums.frees == 1 { " was" } else { " were" },
    )
}

/// Returns how long was traced, how many events were lost, and the cost, in words.
pub fn cost(trace: &Trace, units: Units) -> String {
    let seconds = trace.time.as_secs_f64();
    let lost = match trace.lost {
        Some(0) => "none lost".into(),
        Some(lost) => format!("{lost} more lost, so the figures are too low"),
        None => "how many were lost is not known".into(),
    };
    let cost = trace.cpu.as_secs_f64() / seconds.max(1e-3) * 100.0;
    let mut text = format!(
        "Traced for {seconds:.1}s: {}, {lost}; reading them took {cost:.1} % of a core",
        counted(trace.events, "event")
    );
    if let Some(size) = trace.buffers {
        text = format!("{text}, and their buffers {}", bytes(size, units));
    }
    text
}

/// Returns zmtop's own allocations while it traced, in words; `None` if there were none.
pub fn own(trace: &Trace, units: Units) -> Option<String> {
    let hits = Some(trace.own.hits).filter(|hits| *hits > 0)?;
    let (taken, size) = (counted(hits, "allocation"), bytes(trace.own.allocated, units));
    Some(format!("Not included: {taken} of zmtop itself, {size}"))
}

impl Filterable for CallerRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let is_name = matches!(field, TextField::CommandLine | TextField::Comm | TextField::Group);
        is_name.then(|| self.name()).flatten()
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}
