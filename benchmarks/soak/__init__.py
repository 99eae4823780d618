"""The soak test: the service under load while its processes, database and model fail in turn (``make soak``)."""
