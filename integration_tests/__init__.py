"""Tests across runtimes and on clusters."""
