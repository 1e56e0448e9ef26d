//! The columns and the order of a table that is printed once, by its options.

use crate::cli::{TableArgs, UsageError};
use crate::columns::{Column, TableKind};
use crate::text::safe;

/// The columns of a table, from left to right, and the one it is sorted by.
pub(super) struct Layout<T: TableKind> {
    pub(super) columns: Vec<&'static Column<T>>,
    pub(super) sort: &'static Column<T>,
    pub(super) descending: bool,
}

/// Returns the layout by these options: without them the columns of `usual`, sorted by `key`.
///
/// # Errors
/// A column that is not `known`.
pub(super) fn layout<T: TableKind>(
    args: &TableArgs,
    known: &'static [Column<T>],
    usual: impl FnOnce() -> Vec<&'static Column<T>>,
    key: &str,
) -> Result<Layout<T>, UsageError> {
    let find = |option, id: &str| {
        known.iter().find(|column| column.id == id).ok_or_else(|| {
            let known: Vec<_> = known.iter().map(|column| column.id).collect();
            let id = safe(id.as_bytes());
            UsageError::option(option, format!("unknown column `{id}`. Known: {}", known.join(", ")))
        })
    };
    let columns = match &args.columns {
        Some(typed) => {
            let ids = typed.split(',').map(|id| find("--columns", id.trim()));
            ids.collect::<Result<Vec<_>, _>>()?
        }
        None => usual(),
    };
    let key = args.sort.as_deref().unwrap_or(key);
    let sort = find("--sort", key.strip_prefix('-').unwrap_or(key))?;
    Ok(Layout {
        columns,
        sort,
        descending: (sort.ascending == key.starts_with('-')) != args.reverse,
    })
}
