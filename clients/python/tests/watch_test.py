import unittest

import counter_client as counter
from counter_client._calls import item_counts
from counter_client._watch import TOKENS_MAX, WatchState
from counter_client.v1 import counter_pb2 as pb


def state(tokens=(), retries=True, deadline=None, items=(("post", 1), ("post", 2))):
    return WatchState(items, tokens, [], deadline, retries)


def given(watch, snapshot, *counts):
    """What a watch makes of a message with these counts: pairs of an id and a token."""
    message = pb.WatchCountsResponse(snapshot=snapshot, counts=[
        pb.ItemCount(item=pb.Item(item_type="post", item_id=id_), count=1, consistency_token=token)
        for id_, token in counts])
    return watch.take(message, item_counts(message, ""))


def tokens(watch):
    return list(watch.begin().consistency_tokens)


GONE = counter.Unavailable("gone", 14)
FULL = counter.Overloaded("full", 8)
OTHER = counter.OutOfRange("another history", 11)


class WatchStateTest(unittest.TestCase):
    def test_it_goes_on_from_the_newest_token_of_each_item(self):
        watch = state()
        self.assertEqual(tokens(watch), [])
        self.assertTrue(given(watch, True, (1, "a"), (2, "z")).snapshot)
        self.assertFalse(given(watch, False, (1, "b")).snapshot)
        self.assertIsNotNone(watch.pause_after(GONE))
        self.assertEqual(tokens(watch), ["b", "z"])
        self.assertIsNone(given(watch, True))
        update = given(watch, False, (1, "c"))
        self.assertEqual((update.snapshot, update.counts[0].consistency_token), (False, "c"))

    def test_what_is_new_after_a_break_is_no_snapshot(self):
        watch = state()
        watch.begin()
        given(watch, True, (1, "a"))
        watch.pause_after(GONE)
        watch.begin()
        self.assertFalse(given(watch, True, (1, "b")).snapshot)

    def test_a_first_update_is_told_even_if_nothing_is_new(self):
        watch = state(["known"])
        watch.begin()
        self.assertEqual(given(watch, True), counter.Update([], True))

    def test_of_another_history_it_begins_anew_and_not_twice_without_tokens(self):
        watch = state(["known"])
        self.assertEqual(tokens(watch), ["known"])
        self.assertIsNotNone(watch.pause_after(OTHER))
        self.assertEqual(tokens(watch), [])
        self.assertIsNone(watch.pause_after(OTHER))
        given(watch, True, (1, "a"))
        self.assertIsNotNone(watch.pause_after(OTHER))
        self.assertEqual(tokens(watch), [])
        self.assertTrue(given(watch, True, (1, "b")).snapshot)

    def test_a_store_that_is_away_after_another_history_does_not_end_it(self):
        watch = state()
        watch.begin()
        given(watch, True, (1, "a"))
        watch.pause_after(OTHER)
        watch.begin()
        self.assertIsNotNone(watch.pause_after(GONE))

    def test_what_never_stood_ends(self):
        for error in (GONE, FULL):
            self.assertIsNone(state().pause_after(error))

    def test_without_retries_everything_ends_it(self):
        for error in (GONE, FULL, OTHER):
            watch = state(["known"], retries=False)
            watch.begin()
            given(watch, True, (1, "a"))
            self.assertIsNone(watch.pause_after(error))

    def test_other_errors_end_it(self):
        watch = state()
        watch.begin()
        given(watch, True, (1, "a"))
        self.assertIsNone(watch.pause_after(counter.Internal("fault", 13)))

    def test_pauses_double_to_a_second_and_no_further_and_wait_for_what_the_server_says(self):
        watch = state()
        watch.begin()
        given(watch, True, (1, "a"))
        pauses = [watch.pause_after(GONE) for _ in range(8)]
        for pause, wanted in zip(pauses, (0.05, 0.1, 0.2, 0.4, 0.8, 1, 1, 1)):
            self.assertAlmostEqual(pause, wanted, delta=wanted * 0.21)
        full = counter.Overloaded("full", 8)
        full.retry_after = 7.5
        self.assertEqual(watch.pause_after(full), 7.5)
        given(watch, False, (1, "b"))
        self.assertLess(watch.pause_after(GONE), 0.07)

    def test_no_pause_is_longer_than_its_deadline(self):
        watch = state(deadline=0.0)
        watch.begin()
        given(watch, True, (1, "a"))
        self.assertEqual(watch.pause_after(GONE), 0.0)
        self.assertEqual(watch.timeout(), 0.0)

    def test_it_goes_on_with_no_more_tokens_than_a_request_may_carry(self):
        watch = state(["t%d" % i for i in range(TOKENS_MAX)])
        self.assertEqual(len(tokens(watch)), TOKENS_MAX)
        given(watch, True, (1, "a"))
        self.assertEqual((len(tokens(watch)), tokens(watch)[0]), (TOKENS_MAX, "a"))


if __name__ == "__main__":
    unittest.main()
