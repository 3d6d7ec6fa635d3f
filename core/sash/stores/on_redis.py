"""Redis: a store in a server, which other machines can reach too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ssl import SSLError
from typing import Any
from urllib.parse import urlsplit

from sash.stores.base import HEADER, Batch, StoreAway, StoreDenied, StoreError, import_library, is_committed

__all__ = ["RedisStore"]

_ATTEMPTS = 3


class RedisStore:
    """A hash of a Redis server, under ``key``. No call takes much longer than ``timeout`` seconds.

    Calls raise :class:`~sash.stores.StoreAway` while the server does not answer, and
    :class:`~sash.stores.StoreDenied` if it refuses the password of the URL or has a certificate that cannot be trusted.
    No error shows the password. After ``sync``, and so after
    ``flush``, nothing is lost when the server stops. For that the server must write a log before it answers:
    ``appendonly yes`` with ``appendfsync always``, or any ``appendfsync`` from Redis 7.2 on. ``durable=False`` drops
    this guarantee and its check.
    """

    def __init__(
        self,
        url: str = "redis://127.0.0.1:6379",
        key: str = "sash:window",
        *,
        timeout: float = 5.0,
        durable: bool = True,
    ) -> None:
        redis = import_library("redis")
        backoff = redis.backoff.ExponentialBackoff(cap=timeout / 8, base=timeout / 64)
        self.name = f"the Redis store {key!r} at {_address(url)}"
        self._key, self._durable = key, durable
        self._redis = redis
        self._wait = int(timeout * 1000)
        self._client: Any = redis.Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=redis.retry.Retry(backoff, _ATTEMPTS),
            retry_on_error=[redis.exceptions.ConnectionError],  # not a timeout, which has taken long enough
        )
        if durable:
            self._check_durable()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Raise the library's errors as a :class:`StoreError` that names the store."""
        errors = self._redis.exceptions
        try:
            yield
        except errors.AuthenticationError as error:  # which is a connection error, too
            raise StoreDenied(f"{self.name} refuses the user name or the password of the URL: {error}") from error
        except (errors.AuthorizationError, errors.NoPermissionError) as error:
            raise StoreDenied(f"{self.name} does not allow it: {error}") from error
        except (errors.ConnectionError, errors.TimeoutError) as error:
            if isinstance(error.__context__, SSLError):
                raise StoreDenied(f"{self.name} cannot be trusted: {error}") from error
            raise StoreAway(f"{self.name} does not answer: {error}. What was flushed is safe") from error
        except errors.RedisError as error:
            raise StoreError(f"{self.name} cannot be used: {error}") from error

    def _check_durable(self) -> None:
        """Raise if the server may lose confirmed writes."""
        with self._naming():
            self._waits = "WAITAOF" in {str(name).upper() for name in self._client.command_list()}
            persistence = self._client.info("persistence")
            if persistence.get("loading"):  # while it loads, the server reports that it keeps no log
                raise self._redis.exceptions.BusyLoadingError("it is loading what it has kept")
            enabled = persistence.get("aof_enabled")
            always = self._waits or self._client.config_get("appendfsync").get("appendfsync") == "always"
        if not enabled or not always:
            raise StoreError(
                f"{self.name} would lose what it has confirmed when the server stops: set «appendonly yes» and "
                "«appendfsync always» (from Redis 7.2 on, any appendfsync does), or say durable=False"
            )

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._naming():
            values: list[bytes | None] = self._client.hmget(self._key, list(keys)) if keys else []
        return values

    def commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        with self._naming():
            for _ in range(_ATTEMPTS):
                try:
                    self._commit(batch, header, before)
                    return
                except self._redis.exceptions.WatchError:
                    continue  # the connection was lost, or another process has written: the header shows which
        raise StoreAway(f"{self.name} was interrupted in each of {_ATTEMPTS} attempts to write")

    def _commit(self, batch: Batch, header: bytes, before: bytes | None) -> None:
        with self._client.pipeline(transaction=True) as pipe:
            pipe.watch(self._key)
            if is_committed(pipe.hget(self._key, HEADER), header, before, self.name):
                return
            pipe.multi()
            values = {key: value for key, value in batch.items() if value is not None}
            pipe.hset(self._key, mapping=values | {HEADER: header})
            if deleted := batch.keys() - values.keys():
                pipe.hdel(self._key, *deleted)
            pipe.execute()

    def keys(self) -> Iterator[bytes]:
        with self._naming():
            return iter(sorted(key for key in self._client.hkeys(self._key) if key != HEADER))

    def sync(self) -> None:
        if self._durable and self._waits:
            with self._naming():
                written = self._client.execute_command("WAITAOF", 1, 0, self._wait)
            if not written[0]:
                raise StoreAway(f"{self.name} has not written its log within {self._wait / 1000:g} seconds")

    def close(self) -> None:
        self._client.close()


def _address(url: str) -> str:
    """Where a server is, without the user name, the password and the options of its URL.

    >>> _address("rediss://user:secret@db:6380/1?password=secret")
    'rediss://db:6380/1'
    """
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:  # whose text may quote a part of the password
        raise StoreError(
            "the URL of the Redis store cannot be read: expected redis://[user:password@]host[:port][/database], with "
            "characters such as / # @ of the password percent-encoded"
        ) from None
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
