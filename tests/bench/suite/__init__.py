"""The pieces of tests/bench/run."""
