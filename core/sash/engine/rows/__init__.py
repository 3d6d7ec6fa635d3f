"""The row engine: one tuple at a time, with all kinds of windows, disorder and corrections."""
