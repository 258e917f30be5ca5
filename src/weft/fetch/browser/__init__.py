"""A real headless Chromium without a network: weft answers every request that a page makes."""
