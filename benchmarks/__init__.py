"""The benchmarks: programs that measure the running service, and are no part of it."""
