//! Lists are sorted as the standard library sorts them.

use proptest::prelude::*;
use zmtop::order;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_list_is_sorted_and_equal_items_stay_in_their_order(keys in prop::collection::vec(0_u8..8, 0..100)) {
        let list: Vec<(u8, usize)> = keys.into_iter().enumerate().map(|(at, key)| (key, at)).collect();
        let mut expected = list.clone();
        expected.sort_by_key(|(key, _)| *key);
        let mut by_key = list.clone();
        order::sort_by_key(&mut by_key, |(key, _)| *key);
        prop_assert_eq!(&by_key, &expected);
        let mut by_order = list;
        order::sort_by(&mut by_order, |a, b| a.0.cmp(&b.0));
        prop_assert_eq!(by_order, expected);
    }
}
