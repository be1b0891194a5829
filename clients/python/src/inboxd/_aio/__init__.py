"""The client with await; _sync is the same without, made by generate.py."""
