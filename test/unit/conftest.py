"""Puts this folder on the path, so that the tests below it share its helpers (`parsing`, `mirrored_nests`, ...)."""
