//! The limits of a process.

use zmtop::proc::ulimits::parse;

#[test]
fn the_limits_of_memory_are_named_as_a_shell_names_them() {
    let text = "\
Limit                     Soft Limit           Hard Limit           Units     
Max data size             unlimited            unlimited            bytes     
Max stack size            8388608              unlimited            bytes     
Max open files            1024                 524288               files     
Max locked memory         8388608              8388608              bytes     
Max address space         2147483648           2147483648           bytes     
Max nice priority         0                    0                    
";
    let found = parse(text);
    let found: Vec<_> = found.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(
        found,
        [
            ("ulimit -v", "2.0G (address space)"),
            ("ulimit -d", "unlimited (private writable memory)"),
            ("ulimit -l", "8.0M (locked memory)"),
            (
                "ulimit -s",
                "8.0M (stack of the first thread); unlimited at most, if the process raises it"
            ),
            ("ulimit -n", "1024 (open files); 524k at most, if the process raises it"),
        ]
    );
    // A line that is cut, or has what no kernel writes, is left out.
    assert_eq!(parse("Max open files   10\nMax data size \x1b[31m 1 bytes\n"), []);
}
