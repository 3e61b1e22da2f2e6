use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

use crate::Item;

/// Items whose last token a client with `read_your_writes` keeps.
pub(crate) const TOKENS_MAX: usize = 10_000;

/// The last consistency token of each item written, of the last so many items.
pub(crate) struct Tokens {
    items_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    writes: u64,
    by_item: HashMap<Item, (u64, String)>,
    oldest: BTreeMap<u64, Item>, // By the number of the write.
}

impl Tokens {
    pub(crate) fn new(items_max: usize) -> Self {
        Tokens { items_max, kept: Mutex::default() }
    }

    pub(crate) fn keep(&self, item: &Item, token: &str) {
        let mut kept = self.kept.lock().expect("nothing panics under it");
        kept.writes += 1;
        let number = kept.writes;
        if let Some((before, _)) = kept.by_item.insert(item.clone(), (number, token.into())) {
            kept.oldest.remove(&before);
        }
        kept.oldest.insert(number, item.clone());
        if kept.by_item.len() > self.items_max {
            let first = *kept.oldest.keys().next().expect("more items than none");
            if let Some(item) = kept.oldest.remove(&first) {
                kept.by_item.remove(&item);
            }
        }
    }

    /// The tokens of these items, each once.
    pub(crate) fn of(&self, items: &[Item]) -> Vec<String> {
        let kept = self.kept.lock().expect("nothing panics under it");
        let mut seen = HashSet::new();
        let new = items.iter().filter(|item| seen.insert(*item));
        new.filter_map(|item| kept.by_item.get(item).map(|(_, token)| token.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_the_items_written_longest_ago_make_room() {
        let tokens = Tokens::new(2);
        let post = |id| Item::new("post", id);
        for (id, token) in [(1, "a"), (2, "b"), (1, "c"), (3, "d")] {
            tokens.keep(&post(id), token);
        }
        assert_eq!(tokens.of(&[post(3), post(1), post(2), post(3)]), ["d", "c"]);
    }
}
