"""libcurl's handles as every request wants them, and the caches of TLS sessions that they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pycurl

from weft.fetch.http.headers import proxy_lines, user_agent_of
from weft.spec import Identity, Network

BUFFER_B = 65_536
SESSION_CACHES = 40  # libcurl's cache holds 25 hosts, and its size cannot be set: so there are several

# Options that libcurl has and pycurl does not name (curl.h).
_SUPPRESS_CONNECT_HEADERS = 265
_DISALLOW_USERNAME_IN_URL = 278

_CA_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/etc/openssl/cert.pem",
)


class Handles:
    """See the module. Handles outlive requests: whoever has one gives it back to libcurl with ``close``."""

    def __init__(self, network: Network, identity: Identity) -> None:
        self._network = network
        self._user_agent = user_agent_of(identity).encode()
        self._proxy_lines = proxy_lines(identity)
        self._ca = network.ca or next((path for path in _CA_FILES if Path(path).exists()), None)
        self._session_caches: dict[int, Any] = {}

    def new(self, certified: bool) -> Any:
        """A libcurl handle with everything that no request changes; ``certified``: with the user's certificate."""
        curl = pycurl.Curl()
        network = self._network
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(_DISALLOW_USERNAME_IN_URL, 1)
        curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
        curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_NONE)
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.BUFFERSIZE, BUFFER_B)
        curl.setopt(pycurl.PROXY, _proxy_that_resolves(network.proxy) if network.proxy else "")
        curl.setopt(pycurl.NOPROXY, "")
        if network.proxy:
            curl.setopt(pycurl.USERAGENT, self._user_agent)  # for CONNECT: libcurl would name itself and its parts
            curl.setopt(pycurl.PROXYHEADER, self._proxy_lines)
        if certified:
            curl.setopt(pycurl.SSLCERT, network.cert)
            curl.setopt(pycurl.SSLKEY, network.cert)
        if self._ca is not None:
            curl.setopt(pycurl.CAINFO, self._ca)
            curl.unsetopt(pycurl.CAPATH)  # with a folder libcurl would read the certificates anew for each host
        return curl

    def session_cache(self, host: str) -> Any:
        """Where the TLS sessions of a host are kept, for when its connection is closed between two requests."""
        number = hash(host) % SESSION_CACHES
        if number not in self._session_caches:
            self._session_caches[number] = pycurl.CurlShare()
            self._session_caches[number].setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
        return self._session_caches[number]

    def close(self) -> None:
        """Gives the caches back, once no handle uses them any more."""
        self._session_caches.clear()


def _proxy_that_resolves(proxy: str) -> str:
    """The proxy's URL in the form that leaves names to the proxy: libcurl's own resolver is never to be asked."""
    for plain, resolving in (("socks5://", "socks5h://"), ("socks4://", "socks4a://")):
        if proxy.startswith(plain):
            return resolving + proxy[len(plain) :]
    return proxy
