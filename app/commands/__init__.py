"""What the commands of ``app/cli.py`` do, each imported when it is called."""
