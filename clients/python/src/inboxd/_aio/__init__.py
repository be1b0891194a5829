"""The client with await. generate.py generates _sync from it, the same client without await."""
