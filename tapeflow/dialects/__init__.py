"""The dialects ad, tape, spad and stream: the words of the IR."""
