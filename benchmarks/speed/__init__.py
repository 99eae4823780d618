"""How fast the service is, beside a floor that does the least such a service could do (docs/benchmarks/speed.md)."""
