"""Frontends: source code to core IR."""
