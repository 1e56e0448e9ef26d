//! What the sampler shows beside walks made just then, over the real `/proc`, while children of the test change.
//!
//! The sampler has the defaults that are shipped. Just before and just after each of its ticks the test's own children
//! are walked, and what is shown is compared with that, PSS and `SwapPss` together. For each scene the test prints how
//! long a figure was beyond its stated bound, and how long beyond the tolerance, the larger of 1 % and 1 MiB. No row in
//! sight may be either for more than six seconds. Ticks in which the machine was too busy to let the sampler finish do
//! not count.

pub(crate) mod child;
mod churn;
mod judge;
mod scenes;

use child::Child;
use judge::{Judge, Place};

const NAME: &str = "truth::what_is_shown_beside_walks_of_that_moment";

#[test]
fn what_is_shown_beside_walks_of_that_moment() {
    child::be(NAME);
    let mut judge = Judge::new();
    let mut a = Child::start(NAME);
    judge.watch("a", a.pid(), Place::InSight);
    judge.settle();

    scenes::grow_and_shrink(&mut judge, &mut a);
    scenes::fork_write_exec(&mut judge, &mut a);
    scenes::share_and_drop(&mut judge, &mut a);
    scenes::change_files(&mut judge, &mut a);
    scenes::swap_out_and_in(&mut judge, &mut a);
    scenes::elsewhere(&mut judge);
    scenes::end(&mut judge);
    scenes::end_a_sharer_after_churn(&mut judge);
    scenes::grow_beside_short_programs(&mut judge);
    scenes::grow_beside_forks(&mut judge);
    judge.end();
}
