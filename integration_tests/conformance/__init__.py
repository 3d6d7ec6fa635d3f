"""One suite for all runtimes: the same query over the same stream gives the same rows everywhere.

A case (:mod:`.cases`) is a query, a stream and, from the brute-force evaluator, its rows. A runtime (:mod:`.runtimes`,
and a module for each engine) takes a case and gives rows. What a runtime cannot do is an expected failure with its
reason. ``pytest integration_tests/conformance --runtimes=local-rows,spark-streaming`` chooses.
"""
