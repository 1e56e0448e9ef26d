//! Trees of call paths, as tables.

use zmtop::call_tree::{
    Frame, KeptBy, Kind, Line, Measured, Order, Runtime, Stack, Stacks, Weight, What, is_allocator, lines,
};
use zmtop::units::Units;

/// Makes stacks from lines such as `malloc<remember<main 40 30`: functions, innermost first, taken and kept bytes.
fn stacks(text: &str) -> Stacks {
    let mut stacks = Stacks::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        let frames = words[0].split('<').map(|function| {
            let kind = match function {
                _ if is_allocator(function, "") => Kind::Allocator,
                _ if function.starts_with("k_") => Kind::Kernel,
                _ => Kind::Program,
            };
            let frame = Frame {
                function: function.into(),
                module: "".into(),
                source: None,
                inlined: false,
                kind,
            };
            let known = stacks.frames.iter().position(|other| *other == frame);
            known.unwrap_or_else(|| {
                stacks.frames.push(frame);
                stacks.frames.len() - 1
            }) as u32
        });
        let frames = frames.collect();
        stacks.stacks.push(Stack {
            frames,
            weight: Weight {
                taken: words[1].parse().unwrap(),
                kept: words[2].parse().unwrap(),
                samples: 1,
                ..Weight::default()
            },
            is_cut: false,
        });
    }
    stacks
}

#[test]
fn a_report_of_limited_size_has_the_largest_paths_that_fit() {
    let long = "x".repeat(3000);
    let text = format!("malloc<small<main 40 30\nmalloc<{long}<main 30 20\nmalloc<other<main 20 10");
    let names = |measured: &Measured| -> Vec<Vec<String>> {
        let stacks = &measured.stacks;
        let names = |stack: &Stack| stack.frames.iter().map(|id| stacks.name(*id)).collect();
        stacks.stacks.iter().map(names).collect()
    };
    let whole = Measured {
        stacks: stacks(&text),
        ..super::super::update::call_paths::measured()
    };
    // The size and the paths that are kept, by their middle function.
    for (most, kept) in [
        (0, &[][..]),
        (400, &["small"]),
        (3000, &["small", "other"]),
        (6000, &["small", &long, "other"]),
    ] {
        let mut measured = whole.clone();
        measured.limit(most);
        let expected: Vec<_> = kept
            .iter()
            .map(|name| ["malloc", name, "main"].map(str::to_owned).to_vec())
            .collect();
        assert_eq!(names(&measured), expected, "{most}");
        assert_eq!(measured.counts.forgotten, 3 - kept.len() as u64, "{most}");
        let functions = kept.len() + 2 * usize::from(!kept.is_empty());
        assert_eq!(measured.stacks.frames.len(), functions, "{most}");
    }
}

/// Returns the lines of a tree as text: an indent of two blanks per level, kept bytes, and the function.
fn drawn(stacks: &Stacks, order: Order, least: f64, chain: usize) -> Vec<String> {
    let text = |line: Line| {
        let what = match line.what {
            What::Frame(id) => stacks.frames[id as usize].function.to_string(),
            What::More(count) => format!("{count} more"),
            What::Others => "others".into(),
        };
        let kept = line.weight.map_or(String::new(), |weight| format!("{} ", weight.kept));
        format!("{}{kept}{what}", "  ".repeat(line.depth))
    };
    lines(&stacks.tree(order), least, chain).into_iter().map(text).collect()
}

const SERVER: &str = "
    malloc<remember<handle<main<_start 40 40
    memset<remember<handle<main<_start 20 20
    malloc<log<handle<main<_start 30 10
    malloc<log<main<_start 10 10
    k_copy<read<receive<main<_start 20 20
";

#[test]
fn the_tree_of_callers_begins_with_the_code_that_keeps_most() {
    let tree = drawn(&stacks(SERVER), Order::Callers, 0.01, 99);
    let expected = [
        "60 remember",
        "handle",
        "main",
        "20 log",
        "  10 handle",
        "  main",
        "  10 main",
        "20 receive",
        "main",
    ];
    assert_eq!(tree, expected);
}

#[test]
fn the_tree_of_callees_begins_in_main() {
    let tree = drawn(&stacks(SERVER), Order::Callees, 0.01, 99);
    let expected = [
        "100 main",
        "  70 handle",
        "    60 remember",
        "    10 log",
        "  20 receive",
        "  10 log",
    ];
    assert_eq!(tree, expected);
}

#[test]
fn a_proof_has_a_column_and_a_word_of_its_own() {
    let mut stacks = stacks("malloc<remember<main 40 30\nmalloc<cache<main 20 20");
    stacks.stacks[0].weight.cold = Some(28);
    stacks.stacks[1].weight.cold = Some(0);
    let total = stacks.total();
    let tree = stacks.tree(Order::Callers);
    let texts = lines(&tree, 0.0, 12)
        .into_iter()
        .map(|line| line.text(&stacks, total, Order::Callers, Units::Bytes, false));
    assert_eq!(
        Order::Callers.heading(true),
        "   KEPT           COLD   TAKEN  FUNCTION, AND ITS CALLERS"
    );
    let texts: Vec<_> = texts.collect();
    assert_eq!(texts[0], "     30   60 %      28      40  remember");
    assert_eq!(texts[1], "                                ← main");
    let measured = Measured {
        time_s: 60.0,
        proved_s: Some(30.0),
        stacks,
        ..Measured::default()
    };
    let summary = measured.summary(Units::Bytes);
    assert!(
        summary.ends_with("60 taken, 50 of it kept, at least 28 of that not touched in the last 30s"),
        "{summary}"
    );
}

#[test]
fn small_branches_are_summed_and_long_chains_cut() {
    let tree = drawn(&stacks(SERVER), Order::Callers, 0.25, 2);
    assert_eq!(tree, ["60 remember", "handle", "1 more", "40 others"]);
}

#[test]
fn a_function_that_calls_itself_is_one_line() {
    let stacks = stacks("malloc<walk<walk<walk<main 10 10\nmalloc<walk<main 5 5");
    assert_eq!(drawn(&stacks, Order::Callers, 0.0, 99), ["15 walk", "main"]);
    assert_eq!(drawn(&stacks, Order::Callees, 0.0, 99), ["15 main", "walk"]);
}

#[test]
fn if_nothing_is_kept_the_taken_bytes_are_shown() {
    let stacks = stacks("malloc<scratch<main 30 0\nmalloc<other<main 10 0");
    assert_eq!(
        drawn(&stacks, Order::Callers, 0.5, 99),
        ["0 scratch", "main", "0 others"]
    );
}

#[test]
fn a_path_of_allocators_alone_is_shown_whole() {
    let stacks = stacks("malloc<calloc 10 10");
    assert_eq!(drawn(&stacks, Order::Callers, 0.0, 99), ["10 malloc", "calloc"]);
    assert!(drawn(&Stacks::default(), Order::Callers, 0.0, 99).is_empty());
}

#[test]
fn allocators_are_known_by_name_and_by_library() {
    for name in [
        "malloc",
        "__libc_calloc",
        "operator new(unsigned long)",
        "je_malloc",
        "__memset_avx2_unaligned_erms",
        "__rust_alloc",
        "runtime.mallocgc",
        "char* std::fill_n<char*, unsigned long>(char*, unsigned long, char const&)",
        "std::vector<a b, c>::resize(int)",
        "_ZSt9__fill_a1IcEvPT_",
    ] {
        assert!(is_allocator(name, "server"), "{name}");
    }
    assert!(is_allocator("anything", "libjemalloc.so.2") && is_allocator("0x1234", "libc.so.6"));
    for name in [
        "Sessions::remember(std::vector<int>)",
        "int remember<std::vector<int> >(int)",
        "my_malloc_wrapper",
        "zmalloc",
        "main",
        "freeze",
        "mmapper",
    ] {
        assert!(!is_allocator(name, "server"), "{name}");
    }
}

#[test]
fn a_runtime_whose_functions_have_no_names_is_advised() {
    let python = stacks("malloc<_PyObject_Malloc<_PyEval_EvalFrameDefault<main 10 10\nmalloc<other<main 4 4");
    assert_eq!(python.runtime(), Some(Runtime::Python));
    let mut named = python.clone();
    named.frames[3].kind = Kind::Generated;
    assert_eq!(named.runtime(), None);
    // The collector moves objects, whatever names there are.
    let mut collected =
        stacks("madvise<v8::internal::Scavenger::Process<start 10 10\nmalloc<remember<Builtins_JSEntry<main 4 4");
    collected.frames[4].kind = Kind::Generated;
    assert_eq!(collected.runtime(), Some(Runtime::Node));
    assert_eq!(stacks(SERVER).runtime(), None);
}

#[test]
fn the_code_that_keeps_most_is_named_in_a_line() {
    let kept_by = |stacks: Stacks, samples| {
        let mut measured = Measured {
            stacks,
            time_s: 7800.0,
            ..Measured::default()
        };
        for stack in &mut measured.stacks.stacks {
            stack.weight.samples = samples;
            stack.weight.kept <<= 20;
        }
        KeptBy::of(&measured)
    };
    let text = |kept_by: Option<KeptBy>| kept_by.unwrap().text(Units::Auto, true);
    assert_eq!(
        text(kept_by(stacks(SERVER), 10)),
        "kept by remember <- handle <- main, 60 % of 100M in 2h10"
    );
    // A narrow line has no amount, then fewer callers.
    let found = kept_by(stacks(SERVER), 10).unwrap();
    for (width, line) in [
        (58, "kept by remember <- handle <- main, 60 % of 100M in 2h10"),
        (50, "kept by remember <- handle <- main, 60 %"),
        (36, "kept by remember <- handle, 60 %"),
        (26, "kept by remember, 60 %"),
    ] {
        assert_eq!(found.text_within(Units::Auto, true, width), line, "{width}");
    }
    // Callers that keep no more than a half of it each are not named.
    let split = stacks("malloc<copy<one 10 10\nmalloc<copy<two 10 10");
    assert_eq!(text(kept_by(split, 10)), "kept by copy, 100 % of 20.0M in 2h10");
    let python = stacks("malloc<_PyObject_Malloc<_PyEval_EvalFrameDefault<main 10 10");
    assert_eq!(
        text(kept_by(python, 10)),
        "kept by _PyObject_Malloc <- _PyEval_EvalFrameDefault <- main of the Python interpreter, 100 % of 10.0M in 2h10"
    );
    // Too few samples, and nothing kept.
    assert_eq!(kept_by(stacks(SERVER), 1), None);
    assert_eq!(kept_by(stacks("malloc<scratch<main 30 0"), 99), None);
    assert_eq!(kept_by(Stacks::default(), 10), None);
}

#[test]
fn what_is_kept_beyond_the_growth_is_said_and_names_no_path() {
    // 100M are kept. The growth and the part that forked processes keep, in MB; whether a path is named; what the report says.
    for (growth, kept_by_forked, is_named, said) in [
        (None, 0, true, None),
        (Some(100), 0, true, None),
        (Some(84), 0, true, None),
        (Some(42), 0, true, Some("58.0M more are kept than it grew")),
        (Some(41), 0, false, Some("59.0M more are kept than it grew")),
        (Some(-70), 0, false, Some("100M more are kept than it grew")),
        (Some(0), 100, true, None),
        (Some(0), 80, false, Some("20.0M more are kept than it grew")),
    ] {
        let mut measured = Measured {
            stacks: stacks(SERVER),
            growth: growth.map(|growth: i64| growth << 20),
            ..Measured::default()
        };
        measured.counts.kept_by_forked = kept_by_forked << 20;
        for stack in &mut measured.stacks.stacks {
            stack.weight.samples = 10;
            stack.weight.kept <<= 20;
        }
        let case = format!("{growth:?} {kept_by_forked}");
        assert_eq!(KeptBy::of(&measured).is_some(), is_named, "{case}");
        let notes = measured.notes(Units::Auto);
        let note = notes.iter().find(|note| note.contains("than it grew"));
        assert_eq!(note.map(|note| note.split(':').next().unwrap()), said, "{case}");
    }
}
