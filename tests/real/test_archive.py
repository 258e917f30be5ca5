"""The archive on a disk that is full, and replayed by pywb."""

from __future__ import annotations

import gzip
import http.client
import json
import random
import shutil
import socket
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import brotli  # type: ignore[import-untyped, unused-ignore]
import pytest
import zstandard
from archives import HTML, NOW, REQUEST, head, verified, write, writer
from command import call
from web import Site, free_port

from weft.errors import StoreError
from weft.store.warc.cdxj import REVISIT_MIME, CdxRow, write_cdxj
from weft.store.warc.writer import Exchange, RevisitOf

NOW_MS = int(NOW.timestamp() * 1000)


def test_disk_full(tmp_path: Path) -> None:
    """The same on a disk that is really full, where we may mount one."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        one = writer(tmp_path)
        with pytest.raises(StoreError, match="no space left on device"):
            for n in range(100):
                write(one, body=random.Random(n).randbytes(5_000))
                one.flush()
        one.close()
        (path,) = tmp_path.iterdir()
        assert one.positions() == {path.name: (path.stat().st_size, True)}
        assert len(verified(path)) > 10
        rows = [(f"http://example.org/{n}", NOW_MS, "text/html", 200, "x", 1, 1, "x") for n in range(2000)]
        with pytest.raises(StoreError, match=r"index\.cdxj: no space left on device"):
            write_cdxj(rows, tmp_path / "index.cdxj")
        assert [path.name] == [entry.name for entry in tmp_path.iterdir()]
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


PYWB = Path(__file__).resolve().parents[2] / ".venv-pywb" / "bin" / "python"


def wayback() -> list[str] | None:
    """The command of pywb's server: in the environment that ./test makes for it, or on the path."""
    if PYWB.exists():
        return [str(PYWB), "-c", "from pywb.apps.cli import wayback; wayback()"]
    program = shutil.which("wayback")
    return None if program is None else [program]


ZIPPED = gzip.compress(HTML)
REPLAYED: dict[str, tuple[list[bytes], bytes]] = {
    "plain": ([b"Content-Length: %d" % len(HTML)], HTML),
    "chunked": ([b"Transfer-Encoding: chunked"], HTML),
    "chunk-like": ([b"Transfer-Encoding: chunked"], b"5\r\nhello\r\n0\r\n\r\n"),
    "gzip": ([b"Content-Encoding: gzip", b"Content-Length: %d" % len(ZIPPED)], ZIPPED),
    "gzip-chunked": ([b"Content-Encoding: gzip", b"Transfer-Encoding: chunked"], ZIPPED),
    "br": ([b"Content-Encoding: br"], brotli.compress(HTML)),
    "zstd": ([b"Content-Encoding: zstd"], zstandard.compress(HTML)),
    "cut": ([b"Content-Length: 99999999"], HTML[:9_000]),
    "false-gzip": ([b"Content-Encoding: gzip"], HTML),
    "empty": ([b"Content-Length: 0"], b""),
    "binary?b=2&a=%20": ([], random.Random(1).randbytes(30_000)),
}


@pytest.fixture
def replay(tmp_path: Path) -> Iterator[Callable[[datetime, str], tuple[int, bytes]]]:
    """Asks a running pywb for the bytes of a capture, of the collection in ``tmp_path``."""
    program = wayback()
    if program is None:
        pytest.skip("pywb is not installed (./test installs it)")
    port = free_port()
    command = [*program, "-b", "127.0.0.1", "-p", str(port), "-d", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(900):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.1)

            def ask(when: datetime, url: str) -> tuple[int, bytes]:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
                try:
                    accepted = {"Accept-Encoding": "gzip, deflate, br, zstd"}  # else pywb decodes for us
                    connection.request("GET", f"/weft/{when:%Y%m%d%H%M%S}id_/{url}", headers=accepted)
                    answer = connection.getresponse()
                    return answer.status, answer.read()
                finally:
                    connection.close()

            yield ask
        finally:
            server.terminate()


def test_pywb_replays_byte_for_byte(tmp_path: Path, replay: Callable[[datetime, str], tuple[int, bytes]]) -> None:
    """With our own index, from our own files; revisits of the same and of another URL too."""
    archive, indexes = (tmp_path / "collections" / "weft" / name for name in ("archive", "indexes"))
    archive.mkdir(parents=True)
    indexes.mkdir()
    one = writer(archive, max_file_b=40_000)
    index: list[CdxRow] = []
    later = NOW + timedelta(hours=1)
    for name, (lines, body) in REPLAYED.items():
        url = f"http://www.example.org:8080/{name}"
        place = one.write_exchange(Exchange(url, NOW, REQUEST, head(*lines), body))
        index.append((url, NOW_MS, "text/html", 200, place.digest, place.length, place.offset, place.file))
    plain_url, _, _, _, plain_digest, *_ = index[0]
    for url in (plain_url, "http://example.org/copy"):
        where = RevisitOf(plain_url, NOW, plain_digest)
        place = one.write_exchange(
            Exchange(url, later, REQUEST, head(b"Transfer-Encoding: chunked"), HTML), lambda _, where=where: where
        )
        later_ms = NOW_MS + 3_600_000
        index.append((url, later_ms, REVISIT_MIME, 200, place.digest, place.length, place.offset, place.file))
    one.close()
    write_cdxj(index, indexes / "index.cdxj")
    for (url, *_), (_, body) in zip(index, REPLAYED.values(), strict=False):
        assert replay(NOW, url) == (200, body), url
    for url, *_ in index[-2:]:
        assert replay(later, url) == (200, HTML), url
    assert replay(NOW, "http://example.org/never")[0] == 404


def test_pywb_replays_a_wacz(tmp_path: Path, replay: Callable[[datetime, str], tuple[int, bytes]], site: Site) -> None:
    """The archive and the index of a WACZ, as they lie in it: pages, and a body that was stored with another page."""
    body = b"<title>one</title>" + b"<p>long enough to be stored once</p>" * 20
    site.file("/", body + b"<a href=/two>two</a><a href=/three>three</a>", "text/html")
    site.file("/two", body, "text/html")
    site.file("/three", body, "text/html")
    assert call("crawl", site.at("/"), "-o", tmp_path / "c", "--delay", "0", "--workers", "1", "--quiet").code == 0
    assert call("export", tmp_path / "c", "--as", "wacz", "--to", tmp_path / "x.wacz").code == 0
    archive, indexes = (tmp_path / "collections" / "weft" / name for name in ("archive", "indexes"))
    archive.mkdir(parents=True)
    indexes.mkdir()
    with zipfile.ZipFile(tmp_path / "x.wacz") as zipped:
        (archive / "data.warc.gz").write_bytes(zipped.read("archive/data.warc.gz"))
        (indexes / "index.cdxj").write_bytes(gzip.decompress(zipped.read("indexes/index.cdx.gz")))
        pages = [json.loads(line) for line in zipped.read("pages/pages.jsonl").splitlines()][1:]
    assert len(pages) == 3
    for page in pages:
        shown = call("show", tmp_path / "c", page["url"], "--body").out
        assert replay(datetime.fromisoformat(page["ts"]), page["url"]) == (200, shown)
