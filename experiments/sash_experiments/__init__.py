"""The experiments of the five papers behind Sash: declared, run at three scales, and reported beside the papers."""
