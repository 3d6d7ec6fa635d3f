"""Makes the servers that Python workers talk to listen on the loopback interface only.

For each Python operator the JVM starts half a dozen servers. Flink's copy of Beam picks a loopback address for them,
sends it to the workers, and then binds only its port, on all interfaces. No setting changes that. So Sash defines the
class from changed bytes before the JVM loads it: ``forPort(address.getPort())`` becomes ``forAddress(address)``.
"""

from __future__ import annotations

import struct
import warnings
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyflink.java_gateway import get_gateway

__all__ = ["bind_to_address", "keep_local"]

CLASS = "org.apache.beam.sdk.fn.server.ServerFactory$InetSocketAddressServerFactory"
_UTF8, _LONG, _DOUBLE, _METHOD, _NAME_AND_TYPE = 1, 5, 6, 10, 12
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Bytes of a constant, by its tag."""
_INVOKE_VIRTUAL, _INVOKE_STATIC, _NOP = b"\xb6", b"\xb8", b"\x00"
_U2 = struct.Struct(">H")
_kept: set[int] = set()
"""The gateways whose JVM has the class from here."""


def keep_local() -> None:
    """Define the class in the JVM of this process's gateway, once; warn if it cannot be done."""
    gateway = get_gateway()
    if id(gateway) in _kept:
        return
    loader = gateway.jvm.java.lang.ClassLoader.getSystemClassLoader()
    try:
        resource = loader.getResourceAsStream(CLASS.replace(".", "/") + ".class")
        _define(gateway, loader, bind_to_address(bytes(resource.readAllBytes())))
    except (ValueError, Py4JJavaError) as error:
        warnings.warn(
            f"Flink's servers for Python workers listen on all interfaces, so put them behind a firewall: {error}",
            stacklevel=4,
        )
    _kept.add(id(gateway))


def _define(gateway: Any, loader: Any, content: bytes) -> None:
    lang = gateway.jvm.java.lang
    j_int = lang.Integer.TYPE
    kinds = [lang.Class.forName("java.lang.String"), lang.Class.forName("[B"), j_int, j_int]
    j_kinds, j_values = gateway.new_array(lang.Class, len(kinds)), gateway.new_array(lang.Object, len(kinds))
    for place, (kind, value) in enumerate(zip(kinds, (CLASS, content, 0, len(content)), strict=True)):
        j_kinds[place], j_values[place] = kind, value
    define = lang.Class.forName("java.lang.ClassLoader").getDeclaredMethod("defineClass", j_kinds)
    define.setAccessible(True)
    define.invoke(loader, j_values)


def bind_to_address(content: bytes) -> bytes:
    """The class with ``forAddress(address)`` for ``forPort(address.getPort())``; a ValueError if that is not in it."""
    constants, end = _constants(content)
    methods = {_method(constants, index): index for index, (tag, _) in constants.items() if tag == _METHOD}
    by_port = next((name for name in methods if name[1] == "forPort" and name[2].startswith("(I)")), None)
    port = next((name for name in methods if name[:2] == ("java/net/InetSocketAddress", "getPort")), None)
    call = b""
    if by_port is not None and port is not None:
        call = _INVOKE_VIRTUAL + _U2.pack(methods[port]) + _INVOKE_STATIC + _U2.pack(methods[by_port])
    if by_port is None or content.count(call) != 1:
        raise ValueError("it does not bind a port as expected")
    (count,) = _U2.unpack_from(content, 8)
    builder, _ = struct.unpack(">HH", constants[methods[by_port]][1])
    added = (
        _text("forAddress")
        + _text(by_port[2].replace("(I)", "(Ljava/net/SocketAddress;)"))
        + struct.pack(">BHH", _NAME_AND_TYPE, count, count + 1)
        + struct.pack(">BHH", _METHOD, builder, count + 2)
    )
    new_call = _INVOKE_STATIC + _U2.pack(count + 3) + 3 * _NOP
    return content[:8] + _U2.pack(count + 4) + content[10:end] + added + content[end:].replace(call, new_call)


def _text(text: str) -> bytes:
    return struct.pack(">BH", _UTF8, len(text)) + text.encode()


def _constants(content: bytes) -> tuple[dict[int, tuple[int, bytes]], int]:
    """The tags and bytes of the constants of a class file by their numbers, and where they end."""
    (count,) = _U2.unpack_from(content, 8)
    constants, at, index = {}, 10, 1
    while index < count:
        tag = content[at]
        size = 2 + _U2.unpack_from(content, at + 1)[0] if tag == _UTF8 else _SIZES[tag]
        constants[index] = (tag, content[at + 1 : at + 1 + size])
        at += 1 + size
        index += 2 if tag in (_LONG, _DOUBLE) else 1
    return constants, at


def _method(constants: dict[int, tuple[int, bytes]], index: int) -> tuple[str, ...]:
    """The class, name and type of a method."""
    owner, description = struct.unpack(">HH", constants[index][1])
    names = (*_U2.unpack(constants[owner][1]), *struct.unpack(">HH", constants[description][1]))
    return tuple(constants[number][1][2:].decode() for number in names)
