//! The search for processes that share an address space, while others end and run exec.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashSet;

use rustix::io::Errno;
use zmtop::sampler::spaces::Spaces;

const PROCESSES: usize = 120;

/// A generator of numbers: the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// The address space of each process: `None` if it ended; a zombie has 0.
type Kernel = RefCell<Vec<Option<u64>>>;

fn compare(kernel: &Kernel, one: usize, other: usize) -> Result<Ordering, Errno> {
    let kernel = kernel.borrow();
    // The kernel's order is another than that of the numbers.
    let place = |process: usize| kernel[process].map(|space| space.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let places = place(one).zip(place(other)).ok_or(Errno::SRCH)?;
    Ok(places.0.cmp(&places.1))
}

/// Returns the sets of processes that the pairs connect, without those of one process.
fn sets(pairs: &[(usize, usize)]) -> HashSet<Vec<usize>> {
    let mut set: Vec<usize> = (0..PROCESSES).collect();
    for (one, other) in pairs {
        let (from, to) = (set[*one], set[*other]);
        set.iter_mut().filter(|of| **of == from).for_each(|of| *of = to);
    }
    let members = |of: usize| (0..PROCESSES).filter(|process| set[*process] == of).collect::<Vec<_>>();
    (0..PROCESSES).map(members).filter(|set| set.len() > 1).collect()
}

/// The sets of processes with the same address space.
fn true_sets(kernel: &Kernel) -> HashSet<Vec<usize>> {
    let kernel = kernel.borrow();
    let members = |space| {
        (0..PROCESSES)
            .filter(|at| kernel[*at] == Some(space))
            .collect::<Vec<_>>()
    };
    kernel
        .iter()
        .flatten()
        .map(|space| members(*space))
        .filter(|set| set.len() > 1)
        .collect()
}

#[test]
fn sharers_are_found_although_others_end_or_run_exec() {
    let mut misled = 0;
    for seed in 0..100 {
        let mut numbers = Numbers(seed);
        let kernel: Kernel = RefCell::new((0..PROCESSES as u64).map(|space| Some(space + 1)).collect());
        let mut spaces = Spaces::default();
        for process in 0..PROCESSES - 20 {
            assert_eq!(spaces.add(process, false, |a, b| compare(&kernel, a, b)), None);
        }
        for process in 0..PROCESSES - 20 {
            let change = numbers.below(6);
            let space = &mut kernel.borrow_mut()[process];
            match change {
                0 => *space = None,
                1 | 2 => *space = Some(0),
                3 => *space = Some(1000 + numbers.below(50)),
                _ => {}
            }
        }
        let shared = numbers.below(5);
        let mut pairs = Vec::new();
        for process in PROCESSES - 20..PROCESSES {
            kernel.borrow_mut()[process] = Some(2000 + numbers.below(shared + 1));
            let other = spaces.add(process, false, |a, b| compare(&kernel, a, b));
            pairs.extend(other.map(|other| (process, other)));
        }
        let expected = true_sets(&kernel);
        misled += usize::from(sets(&pairs) != expected);
        let found = spaces.settle(|a, b| compare(&kernel, a, b));
        assert_eq!(sets(&found), expected, "seed {seed}");
        // Once they are in order, they stay so.
        assert_eq!(spaces.settle(|a, b| compare(&kernel, a, b)), found);
    }
    assert!(misled > 50, "without settling, {misled} of 100 searches would be wrong");
}

#[test]
fn a_comparison_ends_although_the_order_never_holds() {
    let mut numbers = Numbers(1);
    let random = RefCell::new(&mut numbers);
    let compare = |_, _| match random.borrow_mut().below(4) {
        0 => Ok(Ordering::Less),
        1 => Ok(Ordering::Equal),
        2 => Ok(Ordering::Greater),
        _ => Err(Errno::SRCH),
    };
    let mut spaces = Spaces::default();
    for process in 0..1000 {
        spaces.add(process, false, compare);
    }
    spaces.settle(compare);
}
