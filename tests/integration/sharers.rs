//! Others who share memory with a process come, change and go.

mod estimate;
mod tree;
mod world;
