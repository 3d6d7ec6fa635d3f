"""Who a Redis server lets in, and what errors show of the credentials: never the password."""

from __future__ import annotations

import subprocess
import traceback
from collections.abc import Iterator

import pytest

from redis_server import RedisServer
from sash.stores import RedisStore, StoreAway, StoreDenied, StoreError

SECRET = "sesame-7f3a"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server with a password, for plain connections and for encrypted ones."""
    folder = tmp_path_factory.mktemp("guarded")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *subject], check=True, capture_output=True)
    tls = ["--tls-port", str(port := RedisServer.free_port()), "--tls-cert-file", str(certificate), "--tls-key-file"]
    no_clients = ["--tls-ca-cert-file", str(certificate), "--tls-auth-clients", "no"]
    server = RedisServer(folder, True, "--requirepass", SECRET, *tls, str(key), *no_clients)
    server.tls_port, server.certificate = port, certificate
    yield server
    server.stop()


def text_of(error: BaseException) -> str:
    """All that a user would see of it, its causes included."""
    return "".join(traceback.format_exception(error))


def test_the_right_password(guarded: RedisServer) -> None:
    store = RedisStore(f"redis://:{SECRET}@127.0.0.1:{guarded.port}/0", "right")
    assert store.get([b"page"]) == [None]
    assert store.name == f"the Redis store 'right' at redis://127.0.0.1:{guarded.port}/0"
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "redis://:wrong-{secret}@127.0.0.1:{port}/0",
        "redis://somebody:{secret}@127.0.0.1:{port}",
        "redis://127.0.0.1:{port}/0?password=wrong-{secret}",
    ],
)
def test_a_wrong_password_is_an_error_of_its_own_and_not_shown(guarded: RedisServer, url: str) -> None:
    with pytest.raises(
        StoreDenied, match=r"the Redis store 'k' at redis://127.* refuses the user name or the"
    ) as error:
        RedisStore(url.format(secret=SECRET, port=guarded.port), "k")
    assert SECRET not in text_of(error.value)


def test_no_password_where_one_is_needed(guarded: RedisServer) -> None:
    with pytest.raises(StoreDenied, match="refuses the user name or the password"):
        RedisStore(guarded.url, "k")


@pytest.mark.parametrize("password", ["se/{secret}", "a#b/{secret}", "[{secret}"])
def test_a_password_that_breaks_the_url_is_not_shown(password: str) -> None:
    with pytest.raises(StoreError, match="percent-encoded") as error:
        RedisStore(f"redis://:{password.format(secret=SECRET)}@127.0.0.1:1/0", "k")
    assert SECRET not in text_of(error.value)


def test_a_server_that_is_not_there_does_not_show_the_password() -> None:
    with pytest.raises(StoreAway, match="does not answer") as error:
        RedisStore(f"redis://:{SECRET}@127.0.0.1:{RedisServer.free_port()}", "k", timeout=0.2)
    assert SECRET not in text_of(error.value)


def test_certificates(guarded: RedisServer) -> None:
    url = f"rediss://:{SECRET}@127.0.0.1:{guarded.tls_port}/0"
    with pytest.raises(StoreDenied, match=r"at rediss://127.* cannot be trusted: .*certificate verify failed") as error:
        RedisStore(url, "k")
    assert SECRET not in text_of(error.value)
    store = RedisStore(f"{url}?ssl_ca_certs={guarded.certificate}", "trusted")
    assert store.get([b"page"]) == [None] and str(guarded.certificate) not in store.name
    store.close()
