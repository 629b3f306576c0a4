"""Tapeflow: loop code to its gradient, with the gradient tape a first-class thing in the IR."""
