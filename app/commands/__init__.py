"""The implementations of the commands of ``app/cli.py``, each imported when it is called."""
