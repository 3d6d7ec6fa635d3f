"""State: what is kept of a stream, and how it is written as bytes."""
