"""The passes, one a file, named as the pass."""
