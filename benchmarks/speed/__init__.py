"""Measures the speed of the service beside a floor, a minimal service on the same stack (docs/benchmarks/speed.md)."""
