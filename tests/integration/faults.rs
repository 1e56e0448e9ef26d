//! Faults that the sampler must live through.

mod descriptors;
mod storm;
mod stuck;
