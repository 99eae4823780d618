"""The built-in observer, reflector and extractor, which need no model (memory-rules.md section 4, Providers)."""
