"""The kernel suite and what is measured on it."""
