"""The columnar engine: a batch of rows of all keys at once."""
