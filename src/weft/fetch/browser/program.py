"""Which Chromium is started, and with which flags: without a network of its own, and inside its sandbox."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from weft.errors import SpecError

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

NO_NETWORK = (
    # No page is reached but by weft: this proxy has a name that nobody has, and no name is ever looked up.
    "--proxy-server=http://proxy.invalid:9",
    "--proxy-bypass-list=<-loopback>",  # else Chromium goes to this machine without its proxy
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # else STUN leaves by UDP
    "--disable-quic",
    "--dns-prefetch-disable",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-client-side-phishing-detection",
    "--no-pings",
)

_PLAIN = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-notifications",
    "--disable-popup-blocking",  # where a pop-up leads is a link
    "--deny-permission-prompts",
    "--disable-search-engine-choice-screen",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    "--mute-audio",
    "--hide-scrollbars",
    # A page is rendered at its full pace, whether or not somebody would see it.
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--disable-hang-monitor",
    # What is left behind is not kept alive; nothing is fetched before somebody asks for it.
    "--disable-features=BackForwardCache,Prerender2,Translate,OptimizationHints,MediaRouter,InterestFeedContentSuggestions",
)

HEAP_MB = 512
"""What the scripts of a page may allocate before V8 ends the page."""

_INSTALL = "install it (Debian, Ubuntu: apt install chromium) or name another with --browser PATH"


def find_browser(wanted: str | None = None) -> str:
    """The path of a Chromium, or ``SpecError``."""
    for name in (wanted,) if wanted else NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    if wanted:
        raise SpecError(f"--browser {wanted}: there is no such program; {_INSTALL}")
    raise SpecError(f"pages are rendered by Chromium, and there is none on this machine: {_INSTALL}")


def check_sandbox(sandbox: bool) -> None:
    """Raises ``SpecError`` where the browser would have to run without its sandbox and the user has not said so."""
    if sandbox and os.geteuid() == 0:
        raise SpecError(
            "Chromium's sandbox does not work for root: crawl as another user,"
            " or say --browser-sandbox no to run the scripts of pages without it"
        )


def command_of(
    program: str,
    profile: str,
    *,
    sandbox: bool = True,
    images: bool = False,
    user_agent: str | None = None,
    network: Sequence[str] = NO_NETWORK,
) -> list[str]:
    """The command line of a browser that keeps all it writes in the folder ``profile``."""
    command = [program, *_PLAIN, *network, f"--user-data-dir={profile}", f"--js-flags=--max-old-space-size={HEAP_MB}"]
    if not sandbox:
        command.append("--no-sandbox")
    if not images:
        command.append("--blink-settings=imagesEnabled=false")
    if user_agent is not None:
        command.append(f"--user-agent={user_agent}")
    return [*command, "about:blank"]
