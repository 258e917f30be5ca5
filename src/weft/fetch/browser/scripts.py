"""What weft runs inside a page, in a world of its own: the page's scripts can neither see nor change it."""

from __future__ import annotations

WORLD = "weft"

QUIET = """
(quietMs) => new Promise((done) => {
  let timer;
  const again = () => { clearTimeout(timer); timer = setTimeout(end, quietMs); };
  const watch = new MutationObserver(again);
  const end = () => { watch.disconnect(); done(true); };
  watch.observe(document, {subtree: true, childList: true, characterData: true,
    attributes: true, attributeFilter: ["href", "src", "onclick"]});
  again();
})
"""
"""Waits until the tree has not changed for so long."""

PRESENT = """
(selector) => new Promise((done) => {
  const found = () => document.querySelector(selector) !== null;
  if (found()) { done(true); return; }
  const watch = new MutationObserver(() => { if (found()) { watch.disconnect(); done(true); } });
  watch.observe(document, {subtree: true, childList: true, attributes: true});
})
"""
"""Waits for an element."""

SCROLL = """
() => {
  const place = document.scrollingElement || document.documentElement;
  const before = place.scrollTop;
  window.scrollTo(0, place.scrollHeight);
  return place.scrollTop > before;
}
"""
"""Scrolls to the end; whether there was anywhere to go."""

CLICK = """
async (most) => {
  const wanted = 'button, summary, [role="button"], [role="tab"], [role="link"], [onclick],'
    + ' a:not([href]), a[href="#"], a[href^="javascript:" i]';
  const pause = () => new Promise((done) => setTimeout(done, 30));
  let clicked = 0;
  for (const element of document.querySelectorAll(wanted)) {
    if (clicked >= most) break;
    const submits = element.form && element.type !== "button";
    if (submits || element.disabled || !element.getClientRects().length) continue;
    clicked += 1;
    element.click();
    await pause();
  }
  return clicked;
}
"""
"""Clicks what is there to be clicked, one after the other, but for what sends forms."""

READ = """
(most) => {
  const parts = [];
  let left = most;
  const take = (text) => { const kept = text.slice(0, left); left -= kept.length; return kept; };
  const roots = (place) => {
    for (const element of place.querySelectorAll("*")) {
      if (left <= 0) return;
      const root = element.shadowRoot;
      if (root) { parts.push(take(root.innerHTML)); roots(root); }
    }
  };
  const kind = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\\n" : "";
  const html = take(kind + (document.documentElement ? document.documentElement.outerHTML : ""));
  roots(document);
  return {base: document.baseURI, html, parts};
}
"""
"""The tree as HTML, and what lies in its open shadow roots."""
