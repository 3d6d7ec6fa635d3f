"""``python -m sash_experiments``: benchmarks, two checkouts compared, the tables and plots of README and site."""

from __future__ import annotations

import sys

from sash_experiments import benchmark, benchmarks, compare, figures

USAGE = f"""usage: python -m sash_experiments bench {{{",".join(benchmarks.NAMES)}}} [--help]
       python -m sash_experiments compare CHECKOUT BENCHMARK ... [--help]
       python -m sash_experiments figures"""


def main() -> None:
    """Run a command."""
    match sys.argv[1:]:
        case ["bench", name, *arguments] if name in benchmarks.NAMES:
            benchmark.run(benchmarks.find(name), arguments)
        case ["compare", *arguments]:
            compare.main(arguments)
        case ["figures"]:
            figures.main()
        case _:
            sys.exit(USAGE)


if __name__ == "__main__":
    main()
