//! Placeholder.
/// Placeholder.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// x
    Interval(std::time::Duration),
    /// x
    Pause(bool),
    /// x
    Now,
    /// x
    OomScore(bool),
}
