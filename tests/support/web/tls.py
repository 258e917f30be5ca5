"""Certificates good and bad, made with the openssl command."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from web.kinds import ANSWER, Expectation
from web.server import Site, Tls

# TLS: a small authority of our own, by the openssl command.

TLS_KINDS: dict[str, Expectation] = {
    "good": Expectation("tls", frozenset({ANSWER}), "a certificate of the test authority", 200),
    "expired": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "over since yesterday"),
    "wrong_host": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "made out to another name"),
    "self_signed": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "signed by itself"),
    "unknown_authority": Expectation("tls", frozenset({"TLS_CERTIFICATE"}), "signed by an authority nobody trusts"),
    "client_certificate": Expectation("tls", frozenset({"TLS_CLIENT_CERTIFICATE"}), "asks for ours (G11)"),
}
"""Kinds of servers that `Authority.site` makes, with what is right for a crawl that trusts the authority."""


class Authority:
    """A certificate authority in a folder; needs the ``openssl`` command (`Authority.available`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "ca.pem"
        self._root("ca")

    @staticmethod
    def available() -> bool:
        return shutil.which("openssl") is not None

    def issue(self, name: str, hosts: Sequence[str], *, days: int = 30, authority: str = "ca") -> Tls:
        """A certificate for hosts and addresses; ``days=-1`` is over already."""
        key, request, certificate = (self.folder / f"{name}.{end}" for end in ("key", "csr", "pem"))
        self._request(key, request, name, hosts)
        self._openssl(
            "x509",
            "-req",
            "-in",
            str(request),
            "-CA",
            f"{authority}.pem",
            "-CAkey",
            f"{authority}.key",
            "-CAcreateserial",
            "-days",
            str(days),
            "-copy_extensions",
            "copy",
            "-out",
            str(certificate),
        )
        return Tls(certificate, key)

    def client(self, name: str = "client") -> Tls:
        """A certificate for a client; ``bundle`` of it is what `--cert` takes."""
        return self.issue(name, [f"{name}.test"])

    def bundle(self, tls: Tls) -> Path:
        """One file with certificate and key."""
        place = tls.certificate.with_suffix(".both.pem")
        place.write_bytes(tls.certificate.read_bytes() + tls.key.read_bytes())
        return place

    def site(self, kind: str, host: str = "secure.test") -> Site:
        """A site of one of the `TLS_KINDS`, not started."""
        names = [host, "127.0.0.1", "::1"]
        if kind == "expired":
            tls = self.issue("expired", names, days=-1)
        elif kind == "wrong_host":
            tls = self.issue("wrong", ["other.invalid"])
        elif kind == "self_signed":
            tls = self._root("self", names)
        elif kind == "unknown_authority":
            self._root("unknown")
            tls = self.issue("stranger", names, authority="unknown")
        else:
            tls = self.issue("good", names)
            if kind == "client_certificate":
                tls = Tls(tls.certificate, tls.key, self.certificate)
        return Site(host=host, tls=tls)

    def _root(self, name: str, hosts: Sequence[str] = ()) -> Tls:
        key, certificate = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        self._request(key, certificate, f"weft test {name}", hosts, "-x509", "-days", "30")
        return Tls(certificate, key)

    def _request(self, key: Path, out: Path, name: str, hosts: Sequence[str], *more: str) -> None:
        """A new key, and what asks for a certificate for it or is one."""
        names = ",".join(f"{'IP' if re.fullmatch(r'[0-9.]+|.*:.*', host) else 'DNS'}:{host}" for host in hosts)
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        for_hosts = ("-addext", f"subjectAltName={names}") if names else ()
        self._openssl("req", *more, *curve, "-keyout", str(key), "-out", str(out), "-subj", f"/CN={name}", *for_hosts)

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=300)
