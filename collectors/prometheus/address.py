"""Which addresses we talk to: HTTP(S) URLs without credentials in them, never link-local or cloud metadata services.

A Prometheus normally stands in a private network, so private and loopback addresses are fine. The check runs on the URL
and again on the address actually connected to, before a byte is sent (collectors.prometheus.connections), so that a
name cannot resolve its way around it.
"""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from collectors.errors import InvalidAddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA_HOSTS = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
# Metadata services outside the link-local range: AWS and its pod identities over IPv6, Google Cloud over IPv6, Alibaba
# Cloud, Oracle Cloud, and the host of an Azure machine.
METADATA_ADDRESSES = frozenset(
    {"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"}
)
LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
"""RFC 8215: translated to IPv4 by a network's own rules, so that nobody else knows to which address."""
HOLDING_IPV4 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
"""Whose last four bytes are an IPv4 address: of a gateway (RFC 6052), IPv4-compatible (RFC 4291, 2.5.5.1) and
IPv4-translated (RFC 2765, 2.1)."""

_CREDENTIALS = re.compile(r"//[^/]*@")


def check_url(url: str, *, allow_link_local: bool = False) -> SplitResult:
    """The parts of ``url``. Raises InvalidAddress with what to write instead."""
    shown = _CREDENTIALS.sub("//***@", url)[:120]
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise InvalidAddress(f"“{shown}” is not a URL: write http://host:port.") from None
    if parts.username is not None or parts.password is not None:
        raise InvalidAddress("The URL holds credentials: write them under auth instead.")
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidAddress(f"“{shown}” is not an HTTP address: write http://host:port.")
    if any(c.isspace() or ord(c) < 32 for c in url.strip()):
        raise InvalidAddress(f"“{shown}” holds a space or control character.")
    if parts.query or parts.fragment:
        raise InvalidAddress(f"“{shown}” holds a query or fragment: write parameters under params instead.")
    if not allow_link_local:
        check_host(host)
    return parts


def check_host(host: str) -> None:
    """Raises InvalidAddress when ``host`` is a link-local or metadata name or address."""
    refused = InvalidAddress(f"{host[:80]} is a link-local or cloud metadata address: it is never read.")
    if host.rstrip(".").lower() in METADATA_HOSTS:
        raise refused
    try:
        address = ipaddress.ip_address(host.split("%")[0].strip("[]"))
    except ValueError:
        return
    if any(map(_is_refused, _meant(address))):
        raise refused


def _meant(address: Address) -> Iterator[Address]:
    """An address, and every IPv4 address that it stands for."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        yield from filter(None, (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())))
        if any(address in network for network in HOLDING_IPV4):
            yield ipaddress.IPv4Address(address.packed[-4:])


def _is_refused(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address in LOCAL_NAT64:
        return True
    return address.is_link_local or address.is_multicast or str(address) in METADATA_ADDRESSES
