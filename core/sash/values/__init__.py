"""Times, durations, arrays and columns of partials: what every other part computes with."""
