//! Many short reads of another process's memory at once.

use rustix::io::Errno;
use zmtop::proc::memory::read_each;

#[test]
fn pieces_are_read_in_order_up_to_the_first_that_cannot_be() {
    let own: Vec<[u64; 4]> = (0..3000).map(|at| [at, at + 1, at + 2, at + 3]).collect();
    let addresses: Vec<u64> = own.iter().rev().map(|piece| piece.as_ptr() as u64).collect();
    let pid = std::process::id();
    let mut read = vec![[0; 4]; 3000];
    assert_eq!(read_each(pid, &addresses[..500], &mut read), Ok(500));
    assert_eq!((read[0], read[499], read[500]), (own[2999], own[2500], [0; 4]));
    // One call takes 1024.
    assert_eq!(read_each(pid, &addresses, &mut read), Ok(1024));
    assert_eq!(read[1023], own[1976]);
    let mut damaged = addresses.clone();
    damaged[3] = 8;
    assert_eq!(read_each(pid, &damaged[..9], &mut read), Ok(3));
    assert_eq!(read_each(pid, &damaged[3..9], &mut read), Err(Errno::FAULT));
    assert_eq!(read_each(u32::MAX / 2, &addresses, &mut read), Err(Errno::SRCH));
    assert_eq!(read_each(pid, &[], &mut []), Ok(0));
}
