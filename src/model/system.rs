//! Figures of the system as a whole, as of one tick.

pub mod accounting;
mod figures;

pub use accounting::AccountingInputs;
pub(crate) use figures::system_figures;

use super::cgroup::CgroupFigures;
use super::reading::{Missing, Reading};

/// Where a figure of the system comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureSource {
    /// The sum of these lines of `/proc/meminfo`, each in kibibytes there; unknown if one of them is.
    Meminfo(&'static [&'static str]),
    /// A count of huge pages of the default size, from this line of `/proc/meminfo`, in bytes.
    HugePages(&'static str),
    /// `VmallocUsed` of `/proc/meminfo`. Unknown before Linux 5.3, which wrote 0 there, or the address space
    /// taken.
    Vmalloc,
    /// A count of pages from this line of `/proc/vmstat`, in bytes.
    VmstatPages(&'static str),
    /// A plain count from this line of `/proc/vmstat`.
    VmstatCount(&'static str),
    /// The sum of these lines of `/proc/spl/kstat/zfs/arcstats`, in bytes; unknown if one of them is.
    Arcstats(&'static [&'static str]),
}

/// A figure of the system: its name, its source and its field.
#[derive(Debug)]
pub struct SystemFigure {
    /// The name of the field, in [`SystemSample`] and in a `zmtop/1` record.
    pub name: &'static str,
    /// Where its value comes from.
    pub source: FigureSource,
    /// Returns the field.
    pub field: fn(&mut SystemSample) -> &mut Reading<u64>,
}

macro_rules! define_sample {
    ($($(#[$doc:meta])* $figure:ident: $source:expr,)*) => {
        /// System-wide figures, each of which may be missing with its reason.
        #[derive(Clone, Debug)]
        pub struct SystemSample {
            $($(#[$doc])* pub $figure: Reading<u64>,)*
            /// zram devices, from `/sys/block/zram*/mm_stat`.
            pub zram: Vec<Zram>,
            /// Swap areas, from `/proc/swaps`.
            pub swaps: Reading<Vec<SwapArea>>,
            /// `/proc/pressure/memory`.
            pub psi: Reading<Psi>,
            /// Seconds since boot.
            pub uptime: Reading<f64>,
            /// The 1-, 5- and 15-minute load averages.
            pub loadavg: Reading<[f32; 3]>,
            /// Figures of the cgroup with the lowest limit among zmtop's own and those above it; of its own
            /// where none has a limit. Read once in some seconds. See [`SystemSample::container`].
            pub limit: CgroupFigures,
        }

        impl SystemSample {
            /// The figures read from `/proc/meminfo`, `/proc/vmstat` and `arcstats`.
            pub const FIGURES: &[SystemFigure] = {
                use FigureSource::{Arcstats, HugePages, Meminfo, Vmalloc, VmstatCount, VmstatPages};
                &[$(SystemFigure {
                    name: stringify!($figure),
                    source: $source,
                    field: |sample| &mut sample.$figure,
                },)*]
            };

            /// Returns a sample in which everything is missing for one reason.
            pub fn missing(why: Missing) -> Self {
                Self {
                    $($figure: Err(why),)*
                    zram: Vec::new(),
                    swaps: Err(why),
                    psi: Err(why),
                    uptime: Err(why),
                    loadavg: Err(why),
                    limit: CgroupFigures::missing(why),
                }
            }
        }
    };
}

system_figures!(define_sample);

impl SystemSample {
    /// Returns the memory limit that zmtop runs under and the figures of the cgroup that sets it, if the limit
    /// is below the machine's RAM: inside a container this is the memory there is.
    pub fn container(&self) -> Option<(u64, &CgroupFigures)> {
        let limit = self.limit.limit.ok()??;
        (limit < self.mem_total.ok()?).then_some((limit, &self.limit))
    }

    /// Returns the memory that programs could still have without swapping, at most `MemTotal`: `MemAvailable`, and what the
    /// kernel does not count in it though it gets it back: `GPUReclaim`, and what the ZFS cache has above its minimum.
    pub fn available(&self) -> Reading<u64> {
        let credit = [self.gpu_reclaim, self.arc_reclaimable()];
        let credit = credit.into_iter().filter_map(Result::ok);
        let available = credit.fold(self.mem_available?, u64::saturating_add);
        Ok(available.min(self.mem_total.unwrap_or(u64::MAX)))
    }

    /// Returns `MemTotal` without what is [`available`](Self::available).
    pub fn used(&self) -> Reading<u64> {
        Ok(self.mem_total?.saturating_sub(self.available()?))
    }

    /// Returns the pages of the ZFS cache; all of it where its headers are not told apart.
    pub fn arc(&self) -> Reading<u64> {
        let size = self.credible_arc()?;
        Ok(self.arc_data.map_or(size, |data| data.min(size)))
    }

    /// Returns what the ZFS cache gives back when memory is needed: `size − c_min`.
    pub fn arc_reclaimable(&self) -> Reading<u64> {
        Ok(self.credible_arc()?.saturating_sub(self.arc_min?))
    }

    /// Returns the size of the ZFS cache, which is not more than there is.
    fn credible_arc(&self) -> Reading<u64> {
        let size = self.arc_size?;
        if size > self.mem_total? {
            return Err(Missing::Malformed);
        }
        Ok(size)
    }

    /// Returns the memory handed back to the hypervisor: `Balloon`, or before Linux 6.18 what was inflated and not
    /// deflated since.
    pub fn ballooned(&self) -> Reading<u64> {
        let counted = || Ok(self.balloon_inflate?.saturating_sub(self.balloon_deflate?));
        self.balloon.or_else(|_| counted())
    }

    /// Returns `SwapTotal − SwapFree`.
    pub fn swap_used(&self) -> Reading<u64> {
        Ok(self.swap_total?.saturating_sub(self.swap_free?))
    }
}

/// A zram device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zram {
    /// `zram0`.
    pub name: Box<str>,
    /// `orig_data_size` of `mm_stat`: the uncompressed size of the data stored.
    pub stored: u64,
    /// `mem_used_total` of `mm_stat`: the RAM it uses.
    pub compressed: u64,
    /// True if a swap area lies on it.
    pub is_swap: bool,
}

/// A swap area: one line of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    /// The path, raw: foreign bytes.
    pub path: Box<[u8]>,
    /// `file` or `partition`.
    pub kind: Box<str>,
    /// Size in bytes.
    pub size: u64,
    /// Used, in bytes.
    pub used: u64,
    /// The kernel fills the area of the highest priority first.
    pub priority: Reading<i32>,
}

impl SwapArea {
    /// Returns true if the area lies on a zram device.
    pub fn on_zram(&self) -> bool {
        self.path
            .rsplit(|b| *b == b'/')
            .next()
            .is_some_and(|name| name.starts_with(b"zram"))
    }
}

/// Memory pressure, in percent of the last ten seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Psi {
    /// Some task waited for memory.
    pub some_avg10: f32,
    /// Every task waited for memory.
    pub full_avg10: f32,
}
