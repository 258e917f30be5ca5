"""The groups of options, in the order in which they are shown."""

from __future__ import annotations

SCOPE, LIMITS, PACE, IDENTITY = "Scope", "Limits", "Pace", "Identity"
NETWORK, URLS, DUPLICATES, TRAPS, STORE = "Network", "URLs", "Duplicates", "Traps", "Store"
PARTS, RUN = "Parts", "Run"

GROUPS = {
    SCOPE: "which URLs belong to the crawl",
    LIMITS: "where the crawl, and one request, end",
    PACE: "how gently sites are asked",
    IDENTITY: "who we say we are",
    NETWORK: "how the web is reached",
    URLS: "which URLs are the same page",
    DUPLICATES: "which pages have the same content",
    TRAPS: "budgets against endless sites; 0 switches a rule off",
    STORE: "what is kept",
    PARTS: "parts of your own",
    RUN: "this run",
}
