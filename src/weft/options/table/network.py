"""Options: how the web is reached."""

from __future__ import annotations

from weft.options import checks
from weft.options.option import Option
from weft.options.table.groups import NETWORK
from weft.options.values import file, optional, several, switch, text


def network_options() -> list[Option]:
    return [
        Option(
            "proxy",
            "network.proxy",
            optional(text("URL", checks.proxy, "the URL of a proxy")),
            NETWORK,
            "through this proxy (http, https, socks4, socks4a, socks5, socks5h)",
            "@proxy.txt",
            may_change=True,
            secret=True,
        ),
        Option(
            "auth",
            "network.auth",
            several("USER:PASSWORD@HOST", checks.credentials, "USER:PASSWORD@HOST"),
            NETWORK,
            "credentials for HOST or HOST:PORT; without a port, for its usual ones and those of its seeds;"
            " may be given many times",
            "@passwords.txt",
            may_change=True,
            secret=True,
        ),
        Option(
            "cookies",
            "network.cookies",
            file(checks.text_file),
            NETWORK,
            "begin with the cookies of a Netscape cookie file",
            "cookies.txt",
            may_change=True,
        ),
        Option(
            "no-cookies",
            "network.keep_cookies",
            switch(means=False),
            NETWORK,
            "keep and send no cookies",
            may_change=True,
        ),
        Option(
            "ca",
            "network.ca",
            file(checks.certificates),
            NETWORK,
            "trust the certificates of this PEM file instead of the usual ones",
            "ca.pem",
            may_change=True,
        ),
        Option(
            "cert",
            "network.cert",
            file(checks.certificate_with_key),
            NETWORK,
            "a client certificate with its key (PEM)",
            "me.pem",
            may_change=True,
        ),
        Option(
            "insecure",
            "network.insecure",
            several("HOST", checks.host_with_port, "a host, or host:port"),
            NETWORK,
            "do not verify the certificate of HOST; may be given many times",
            "old.example.org",
            may_change=True,
        ),
        Option(
            "allow-net",
            "network.allow_net",
            several("CIDR", checks.network, "a network such as 10.0.0.0/8"),
            NETWORK,
            "a private network that may be connected to; may be given many times",
            "10.0.0.0/8",
            may_change=True,
        ),
        Option(
            "resolve",
            "network.resolve",
            several("HOST=ADDRESS", checks.resolution, "HOST=ADDRESS"),
            NETWORK,
            "HOST is at ADDRESS, without asking DNS; *.test=127.0.0.1 for all below; may be given many times",
            "example.test=127.0.0.1",
            may_change=True,
        ),
        Option(
            "nameserver",
            "network.nameserver",
            several("ADDRESS", checks.nameserver, "the address of a name server"),
            NETWORK,
            "ask this name server instead of the system's; may be given many times",
            "192.0.2.53",
            may_change=True,
        ),
        Option("no-http2", "network.http2", switch(means=False), NETWORK, "HTTP/1.1 only", may_change=True),
    ]
