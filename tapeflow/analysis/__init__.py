"""Pure questions about IR; nothing here rewrites."""
