"""How the ops ``robots.*`` of the vectors ask weft."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from weft.fetch.robots import Meaning, Robots, meaning_of_status
from weft.url import resolve

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors"
_bodies: dict[str, bytes] = {}
_parsed = lru_cache(maxsize=64)(Robots.parse)


def path_of(url: str) -> str:
    """``/path?query`` of a URL as written, not serialised: the vectors hold URLs that no serialiser would let be."""
    rest = url.partition("#")[0]
    start = re.search(r"[/?;]", rest)
    scheme = rest.find("://")
    after = scheme + 3 if scheme >= 0 and (start is None or start.start() > scheme) else 2 * rest.startswith("//")
    path = re.search(r"[/?;].*", rest[after:], re.DOTALL)
    return "/" if path is None else path.group() if path.group().startswith("/") else "/" + path.group()


def _robots_of(given: dict[str, object]) -> Robots:
    """The robots.txt of a case: its own, or that of an earlier case with the same ``robots_file``."""
    body = given.get("robots", given.get("body"))
    name = given.get("robots_file")
    if isinstance(name, str):
        body = _bodies.setdefault(name, body) if isinstance(body, bytes) else _bodies.get(name) or _public_body(name)
    if not isinstance(body, bytes):
        raise LookupError(f"no robots.txt is known for {name!r}: give its case with the body first")
    return _parsed(body)


def _public_body(name: str) -> bytes | None:
    """The body that a public case gives, where the cases asked here begin in the middle of a file's."""
    path = VECTORS / "robots_real.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    given = (json.loads(line)["input"] for line in lines if json.dumps(name) in line and '"body_b64"' in line)
    body = next((b64decode(case["body_b64"]) for case in given if case.get("robots_file") == name), None)
    return _bodies.setdefault(name, body) if body is not None else None


def _allowed(given: dict[str, object]) -> object:
    return _robots_of(given).rules_for_us(str(given["agent"])).check(path_of(str(given["url"]))).allowed


def _allowed_multi_agent(given: dict[str, object]) -> object:
    agents = given.get("agents")
    names = agents if isinstance(agents, list) else [agents or ""]
    return _robots_of(given).rules_for(*map(str, names)).check(path_of(str(given["url"]))).allowed


def _crawl_delay(given: dict[str, object]) -> object:
    # some suites hand over a whole User-Agent header; any product in it may be the one that the file names
    agent = str(given["agent"])
    return _robots_of(given).rules_for(agent, *re.findall(r"[A-Za-z_-]+", agent)).crawl_delay_s


def _sitemaps(given: dict[str, object]) -> object:
    """Without the address of the file the lines as they are written, else the URLs that they name, each once."""
    written = _robots_of(given).sitemaps
    base = given.get("robots_url") or given.get("base_url")
    if not base:
        return list(written)
    found = (resolve(str(base) if "://" in str(base) else f"http://{base}/", value) for value in written)
    return list(dict.fromkeys(url for url in found if url is not None))


def _status(given: dict[str, object]) -> object:
    meaning = meaning_of_status(int(str(given["status"])))
    unreachable = meaning is Meaning.UNREACHABLE
    return {"allow_all": not unreachable, "allow_none": unreachable, "defer": unreachable}


OPS: dict[str, Callable[[dict[str, object]], object]] = {
    "robots.allowed": _allowed,
    "robots.allowed_multi_agent": _allowed_multi_agent,
    "robots.crawl_delay": _crawl_delay,
    "robots.sitemaps": _sitemaps,
    "robots.status": _status,
}
