"""Who may do what: hosts and origins that are answered, the token that controls need."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def new_token() -> str:
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Access:
    """Answers requests for this address alone, so that no name somebody else owns can lead a browser here."""

    host: str
    port: int
    token: str

    def refusal(self, headers: Mapping[str, str]) -> str | None:
        """Why a request is not answered, None where it is."""
        if not self._is_own(headers.get("host", "")):
            return "this dashboard does not answer to that Host; open the link that it printed"
        origin = headers.get("origin")
        if origin is not None and not self._is_own_origin(origin):
            return "requests of other sites are refused"
        return None

    def has_token(self, headers: Mapping[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def _is_own_origin(self, origin: str) -> bool:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and self._is_own(parts.netloc)

    def _is_own(self, netloc: str) -> bool:
        try:
            parts = urlsplit(f"//{netloc}")
            name, port = parts.hostname or "", parts.port
        except ValueError:
            return False
        if port is not None and port != self.port:
            return False
        if name in LOOPBACK or name == self.host:
            return True
        if is_loopback(self.host):
            return False
        return _is_address(name) or name in (socket.gethostname(), socket.getfqdn())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
