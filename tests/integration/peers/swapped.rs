//! The same with half of the memory on a swap file.

use super::{Pair, close, figures, hold, htop, line, number, pattern, said, words};
use crate::kernel::child;
use crate::kernel::swap::{PAGE_OUT, swap_file};

#[test]
fn all_see_the_same_in_swap() {
    const NAME: &str = "peers::swapped::all_see_the_same_in_swap";
    child::be(NAME);
    let Some(_swap) = swap_file() else { return };
    let pair = Pair::start_with(NAME, PAGE_OUT);
    let list = pair.list();
    let columns = ["--columns", "pid,swap,uss,pss,rss"];

    let smem = || said("smem", &["-H", "-c", "pid swap uss pss rss", "-P", &pattern(NAME)]);
    pair.agree(&columns, smem, |ours, theirs| {
        hold(ours.len() == 2, "two rows")?;
        ours.iter().try_for_each(|row| {
            hold(number(&row[1]) > 8 << 20, "something in swap")?;
            figures(&row[1..], &line(theirs, &row[0])?[1..])
        })
    });
    let smemstat = || said("smemstat", &["-k", "-p", &list]);
    pair.agree(&columns, smemstat, |ours, theirs| {
        hold(ours.len() == 2, "two rows")?;
        ours.iter()
            .try_for_each(|row| figures(&row[1..], &line(theirs, &row[0])?[1..]))
    });
    let ps_mem = || said("ps_mem", &["-S", "-p", &list]);
    pair.agree(
        &["--by", "command", "--columns", "swap_pss,group"],
        ps_mem,
        |ours, theirs| {
            let [ours] = ours else {
                return Err("one program".into());
            };
            hold(number(&ours[0]) > 16 << 20, "something in swap")?;
            let words = words(theirs, &ours[1])?;
            hold(close(&ours[0], &words[8..], 0), "swap")
        },
    );
    htop::agrees(&pair);
}
