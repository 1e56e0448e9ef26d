//! The filter of the rows.

use crate::columns::Catalogue;
use crate::filter::{Filter, FilterError};

/// The filter as typed and as understood.
#[derive(Clone, Debug, Default)]
pub struct FilterState {
    /// As last typed.
    pub text: String,
    /// The last one that parsed.
    pub filter: Filter,
    /// The text of the last one that parsed.
    pub good: String,
    /// What is wrong with what was typed.
    pub error: Option<FilterError>,
}

impl FilterState {
    /// Takes in what was typed; the last good filter stays where it does not parse.
    pub fn set(&mut self, text: &str) {
        self.text = text.into();
        match Filter::parse(text, &Catalogue) {
            Ok(filter) => {
                self.filter = filter;
                self.good = text.into();
                self.error = None;
            }
            Err(error) => self.error = Some(error),
        }
    }
}
