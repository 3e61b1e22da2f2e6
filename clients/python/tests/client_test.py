import unittest

import counter_client as counter
from counter_client._calls import Calls, Tokens
from counter_client.types import Item


def calls(**options):
    defaults = dict(deadline=2.0, retries=True, user_agent="", tls=None, bearer_token=None, read_your_writes=False)
    return Calls(**{**defaults, **options})


class ServiceConfigTest(unittest.TestCase):
    def test_says_what_the_documentation_says(self):
        config = counter.service_config()
        (method,) = config["methodConfig"]
        self.assertEqual(method["name"], [{"service": "counter.v1.CounterService"}])
        self.assertIs(method["waitForReady"], True)
        self.assertEqual(method["retryPolicy"], {
            "maxAttempts": 4, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"]})
        self.assertEqual(config["loadBalancingConfig"], [{"round_robin": {}}])
        self.assertEqual(config["retryThrottling"], {"maxTokens": 100, "tokenRatio": 0.1})

    def test_has_no_retries_where_they_are_turned_off(self):
        config = dict(calls(retries=False).options)["grpc.service_config"]
        self.assertNotIn("retryPolicy", config)
        self.assertNotIn("waitForReady", config)


class TokensTest(unittest.TestCase):
    def test_those_of_the_items_written_longest_ago_make_room(self):
        tokens = Tokens(items_max=2)
        for id_, token in ((1, "a"), (2, "b"), (1, "c"), (3, "d")):
            tokens.keep(Item("post", id_), token)
        self.assertEqual(tokens.of(Item("post", id_) for id_ in (3, 1, 2, 3)), ["d", "c"])

    def test_the_callers_own_win(self):
        ours = calls(read_your_writes=True)
        ours._tokens.keep(Item("post", 1), "kept")
        self.assertEqual(ours.counts([("post", 1)], counter.Consistency.CACHED, [], {}).request.consistency_tokens,
                         ["kept"])
        self.assertEqual(ours.counts([("post", 1)], counter.Consistency.CACHED, ["mine"], {})
                         .request.consistency_tokens, ["mine"])


class OptionsTest(unittest.TestCase):
    def test_a_token_without_tls_is_refused(self):
        with self.assertRaisesRegex(ValueError, "tls"):
            counter.Client("127.0.0.1:1", bearer_token="secret")

    def test_an_unknown_option_of_a_call_is_refused(self):
        with counter.Client("127.0.0.1:1") as client, self.assertRaisesRegex(TypeError, "dead_line"):
            client.like(1, ("post", 1), dead_line=1)


class ReplyTest(unittest.TestCase):
    def test_another_number_of_answers_than_asked_for_is_an_error_and_not_a_guess(self):
        call = calls().counts([("post", 1)], counter.Consistency.CACHED, [], {})
        from counter_client.v1 import counter_pb2
        with self.assertRaises(counter.Internal):
            call.decode(counter_pb2.BatchGetCountsResponse(), "id")


class ErrorTest(unittest.TestCase):
    def test_every_kind_says_its_name_and_the_request(self):
        error = counter.RateLimited("100 a minute", 8, "r-1")
        error.retry_after = 2.5
        self.assertEqual(str(error), "RateLimited: 100 a minute; retry after 2.5s (request r-1)")


if __name__ == "__main__":
    unittest.main()
