"""Core IR and the Tapeflow dialects to C, and C to running code."""
