//! `/proc/<pid>/limits`.

use zmtop::model::Missing;
use zmtop::proc::pid::address_space_limit;

const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max file locks            unlimited            unlimited            locks     
";

#[test]
fn the_soft_limit_of_the_address_space_counts() {
    for (line, expected) in [
        (
            "Max address space         unlimited            unlimited            bytes     \n",
            Ok(None),
        ),
        (
            "Max address space         1048576000           unlimited            bytes     \n",
            Ok(Some(1_048_576_000)),
        ),
        (
            "Max address space         0                    0                    bytes     \n",
            Ok(Some(0)),
        ),
        (
            "Max address space         -1                   5                    bytes     \n",
            Err(Missing::Malformed),
        ),
        ("Max address space         \n", Err(Missing::Unsupported)),
        ("", Err(Missing::Unsupported)),
    ] {
        assert_eq!(
            address_space_limit(format!("{LIMITS}{line}").as_bytes()),
            expected,
            "{line}"
        );
    }
}
