//! The figures of all hosts together, as those of one system.

use crate::model::SystemSample;
use crate::model::system::Psi;

/// Takes in a figure of all hosts together, by its metric: a sum, or the worst pressure.
pub(super) fn take_sum(system: &mut SystemSample, metric: Option<&str>, value: f64) {
    let percent = (value * 100.0) as f32;
    let known = system.psi.unwrap_or(Psi {
        some_avg10: 0.0,
        full_avg10: 0.0,
    });
    let field = match metric {
        Some("zmtop_system_memory_total_bytes") => &mut system.mem_total,
        Some("zmtop_system_memory_free_bytes") => &mut system.mem_free,
        Some("zmtop_system_memory_available_bytes") => &mut system.mem_available,
        Some("zmtop_system_anon_bytes") => &mut system.anon_pages,
        Some("zmtop_system_cached_bytes") => &mut system.cached,
        Some("zmtop_system_shmem_bytes") => &mut system.shmem,
        Some("zmtop_system_slab_bytes") => &mut system.slab,
        Some("zmtop_system_swap_total_bytes") => &mut system.swap_total,
        Some("zmtop_system_swap_free_bytes") => &mut system.swap_free,
        Some("zmtop_system_stalled_some_ratio") => {
            system.psi = Ok(Psi {
                some_avg10: percent,
                ..known
            });
            return;
        }
        Some("zmtop_system_stalled_full_ratio") => {
            system.psi = Ok(Psi {
                full_avg10: percent,
                ..known
            });
            return;
        }
        _ => return,
    };
    *field = Ok(value.max(0.0) as u64);
}
