//! The sampler: on a made proc tree, and on this machine's.

use zmtop::sampler::{Options, Scanner};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn sees_itself() {
    let mut scanner = Scanner::new(Options::new(None));
    let snapshot = block_on(scanner.full());
    let own = snapshot.rows().iter().find(|p| p.id.pid == std::process::id()).unwrap();
    assert!(own.memory().unwrap().pss > 0);
    assert!(own.facts.cmdline.as_ref().unwrap().len() > 1);
}
