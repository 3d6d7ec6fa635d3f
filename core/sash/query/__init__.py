"""Queries: what is computed over which windows, and queries as files."""

from sash.query.query import Query

__all__ = ["Query"]
