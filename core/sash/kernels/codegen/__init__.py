"""The code generator: from lift, combine and lower to compiled functions."""
