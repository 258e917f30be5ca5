"""Options: how the web is reached."""

from __future__ import annotations

from weft.options import checks
from weft.options.option import Option, Section
from weft.options.table.groups import NETWORK
from weft.options.values import file, optional, several, switch, text


def network_options() -> list[Option]:
    network = Section(NETWORK, "network").changeable
    return [
        network(
            "proxy",
            "proxy",
            optional(text("URL", checks.proxy, "the URL of a proxy")),
            "through this proxy (http, https, socks4, socks4a, socks5, socks5h)",
            "@proxy.txt",
            secret=True,
        ),
        network(
            "auth",
            "auth",
            several("USER:PASSWORD@HOST", checks.credentials, "USER:PASSWORD@HOST"),
            "credentials for HOST or HOST:PORT; without a port, for its usual ones and those of its seeds;"
            " may be given many times",
            "@passwords.txt",
            secret=True,
        ),
        network(
            "cookies",
            "cookies",
            file(checks.text_file),
            "begin with the cookies of a Netscape cookie file",
            "cookies.txt",
        ),
        network("no-cookies", "keep_cookies", switch(means=False), "keep and send no cookies"),
        network(
            "ca",
            "ca",
            file(checks.certificates),
            "trust the certificates of this PEM file instead of the usual ones",
            "ca.pem",
        ),
        network("cert", "cert", file(checks.certificate_with_key), "a client certificate with its key (PEM)", "me.pem"),
        network(
            "insecure",
            "insecure",
            several("HOST", checks.host_with_port, "a host, or host:port"),
            "do not verify the certificate of HOST; may be given many times",
            "old.example.org",
        ),
        network(
            "allow-net",
            "allow_net",
            several("CIDR", checks.network, "a network such as 10.0.0.0/8"),
            "a private network that may be connected to; may be given many times",
            "10.0.0.0/8",
        ),
        network(
            "resolve",
            "resolve",
            several("HOST=ADDRESS", checks.resolution, "HOST=ADDRESS"),
            "HOST is at ADDRESS, without asking DNS; *.test=127.0.0.1 for all below; may be given many times",
            "example.test=127.0.0.1",
        ),
        network(
            "nameserver",
            "nameserver",
            several("ADDRESS", checks.nameserver, "the address of a name server"),
            "ask this name server instead of the system's; may be given many times",
            "192.0.2.53",
        ),
        network("no-http2", "http2", switch(means=False), "HTTP/1.1 only"),
    ]
