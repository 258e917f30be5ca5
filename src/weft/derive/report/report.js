"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (name, words, kind) => {
    const element = document.createElement(name);
    if (words !== undefined) element.textContent = words;
    if (kind) element.className = kind;
    return element;
  };
  const repaint = [];

  // ---- theme: as the system has it, or as the reader wants it

  const theme = $("theme");
  const THEMES = ["auto", "light", "dark"];
  let chosen = 0;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    chosen = (chosen + 1) % THEMES.length;
    if (chosen) document.documentElement.dataset.theme = THEMES[chosen];
    else delete document.documentElement.dataset.theme;
    theme.textContent = "theme: " + THEMES[chosen];
    repaint.forEach((paint) => paint());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint.forEach((paint) => paint()));

  // ---- tables: a click on a heading sorts

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.textContent.trim().toLowerCase();
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const sort = (table, column, heading) => {
    const numeric = heading.classList.contains("n");
    const now = heading.getAttribute("aria-sort");
    const descending = now ? now === "ascending" : numeric;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    rows.sort((a, b) => (descending ? compare(b[0], a[0]) : compare(a[0], b[0])));
    body.append(...rows.map((entry) => entry[1]));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = make("button", heading.textContent);
      button.type = "button";
      heading.replaceChildren(button);
      button.addEventListener("click", () => sort(table, column, heading));
    });
  }
  for (const input of document.querySelectorAll("input.filter")) {
    const rows = [...input.closest("section").querySelectorAll("table.sortable tbody tr")];
    input.hidden = rows.length < 8;
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(words);
    });
  }

  // ---- which part is being read; everything open on paper

  const anchors = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const anchor = anchors.get(entry.target.id);
      if (anchor && entry.isIntersecting) {
        for (const other of anchors.values()) other.removeAttribute("aria-current");
        anchor.setAttribute("aria-current", "true");
      }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("section.part").forEach((part) => watcher.observe(part));
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
    repaint.forEach((paint) => paint()); // paper is white, whatever the screen is
  });
  addEventListener("afterprint", () => repaint.forEach((paint) => paint()));

  // ---- domains: what one of them links to, and what links to it

  for (const circle of document.querySelectorAll("svg.circle")) {
    const ties = [...circle.querySelectorAll(".tie")];
    const domains = [...circle.querySelectorAll(".domain")];
    const show = (number) => {
      const near = new Set([number]);
      for (const tie of ties) {
        const on = tie.dataset.s === number || tie.dataset.t === number;
        tie.classList.toggle("on", on);
        if (on) near.add(tie.dataset.s).add(tie.dataset.t);
      }
      for (const domain of domains) domain.classList.toggle("on", near.has(domain.dataset.n));
      circle.classList.toggle("one", number !== null);
    };
    for (const domain of domains) {
      domain.setAttribute("tabindex", "0");
      for (const event of ["pointerenter", "focus"]) domain.addEventListener(event, () => show(domain.dataset.n));
      for (const event of ["pointerleave", "blur"]) domain.addEventListener(event, () => show(null));
    }
  }

  // ---- the map

  const canvas = $("map");
  const data = JSON.parse($("map-data").textContent);
  if (!canvas || !data.x.length) return;
  const pen = canvas.getContext("2d");
  const count = data.x.length;
  const tip = $("map-tip");
  const panel = $("map-page");
  const radius = data.size.map((links) => 1.5 + Math.min(3.2, Math.log10(1 + links)));
  const into = Array.from({ length: count }, () => []);
  data.out.forEach((goals, source) => goals.forEach((goal) => into[goal].push(source)));
  const view = { x: 0, y: 0, scale: 1 };
  let width = 0, height = 0, ratio = 1, hovered = -1, selected = -1, found = [], foundAt = -1, waiting = false;
  let colours = {}, kinds = [];
  const state = { nodes: count, frames: 0, slowest_ms: 0, total_ms: 0 };
  window.weftMap = state;

  const nameOf = (n) => data.title[n] || data.path[n];
  const bucket = (value, edges) => { let n = 0; while (n < edges.length && value >= edges[n]) n += 1; return n; };
  const SCHEMES = {
    depth: { of: (n) => "d" + Math.min(7, data.depth[n]), words: (k) => (k === "d7" ? "depth 7 and more" : "depth " + k[1]) },
    status: {
      of: (n) => "s" + Math.floor(data.status[n] / 100),
      words: (k) => ({ s0: "no answer", s1: "1xx", s2: "2xx answered", s3: "3xx redirect", s4: "4xx client error", s5: "5xx server error" })[k],
    },
    site: { of: (n) => "h" + (data.site[n] % 8), words: (k) => data.sites.filter((_, n) => "h" + (n % 8) === k).slice(0, 2).join(", ") + (data.sites.length > 16 ? " \u2026" : "") },
    in: {
      of: (n) => "d" + (7 - bucket(data.size[n], [2, 5, 10, 30, 100, 300, 1000])),
      words: (k) => ["1,000 and more", "300", "100", "30", "10", "5", "2", "0"][Number(k[1])] + (k === "d0" ? "" : " and more") + " links",
    },
  };

  const recolour = () => {
    const style = getComputedStyle(document.documentElement);
    colours = { paper: style.getPropertyValue("--card"), ink: style.getPropertyValue("--ink"), edge: style.getPropertyValue("--edge"),
      focus: style.getPropertyValue("--focus"), soft: style.getPropertyValue("--soft"), wash: style.getPropertyValue("--wash"),
      out: style.getPropertyValue("--s4"), into: style.getPropertyValue("--s2") };
    const scheme = SCHEMES[$("map-colour").value];
    const groups = new Map();
    for (let n = 0; n < count; n += 1) {
      const kind = scheme.of(n);
      if (!groups.has(kind)) groups.set(kind, []);
      groups.get(kind).push(n);
    }
    kinds = [...groups.keys()].sort().map((kind) => [style.getPropertyValue("--" + kind), groups.get(kind)]);
    $("map-key").replaceChildren(...[...groups.keys()].sort().map((kind) => make("span", scheme.words(kind), "key " + kind)));
    family.forget();
    links.forget();
    if (width) draw();
  };
  repaint.push(recolour);

  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };

  // Many lines in one path are slow to paint, and so is a path for each: a few hundred at a time are quick.
  const lines = (ink) => {
    let number = 0;
    ink.beginPath();
    return {
      add: (a, b) => {
        ink.moveTo(data.x[a], data.y[a]);
        ink.lineTo(data.x[b], data.y[b]);
        number += 1;
        if (number % 300 === 0) { ink.stroke(); ink.beginPath(); }
      },
      end: () => ink.stroke(),
    };
  };

  // Lines are drawn once, on sheets that move and grow with the map, and drawn anew when it rests.
  const sheetOf = (paint) => {
    const sheet = { canvas: document.createElement("canvas"), x: 0, y: 0, scale: 0, timer: 0 };
    const renew = () => {
      Object.assign(sheet, view);
      [sheet.canvas.width, sheet.canvas.height] = [canvas.width, canvas.height];
      const ink = sheet.canvas.getContext("2d");
      ink.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
      ink.lineWidth = 0.8 / view.scale;
      paint(ink);
    };
    const show = (alpha) => {
      if (!sheet.scale) renew();
      else if (sheet.x !== view.x || sheet.y !== view.y || sheet.scale !== view.scale) {
        clearTimeout(sheet.timer);
        sheet.timer = setTimeout(() => { renew(); later(); }, 160);
      }
      const grown = view.scale / sheet.scale;
      pen.save();
      pen.globalAlpha = alpha;
      pen.setTransform(grown, 0, 0, grown, ratio * (view.x - sheet.x * grown), ratio * (view.y - sheet.y * grown));
      pen.drawImage(sheet.canvas, 0, 0);
      pen.restore();
    };
    return { show, forget: () => { sheet.scale = 0; } };
  };
  const family = sheetOf((ink) => {
    ink.strokeStyle = colours.edge;
    const all = lines(ink);
    data.parent.forEach((parent, n) => { if (parent >= 0 && data.site[parent] === data.site[n]) all.add(n, parent); });
    all.end();
  });
  const links = sheetOf((ink) => {
    ink.strokeStyle = colours.soft;
    ink.globalAlpha = 0.16;
    const all = lines(ink);
    data.out.forEach((goals, n) => { for (const goal of goals) all.add(n, goal); });
    all.end();
  });

  const draw = () => {
    const began = performance.now();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
    const thin = 1 / view.scale;
    const west = -view.x / view.scale - 12, east = (width - view.x) / view.scale + 12;
    const north = -view.y / view.scale - 12, south = (height - view.y) / view.scale + 12;
    const inside = (n) => data.x[n] > west && data.x[n] < east && data.y[n] > north && data.y[n] < south;
    pen.fillStyle = colours.wash;
    pen.beginPath();
    for (const [x, y, r] of data.circles) { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 7); }
    pen.globalAlpha = 0.55;
    pen.fill();
    pen.globalAlpha = 1;
    const line = (a, b) => { pen.moveTo(data.x[a], data.y[a]); pen.lineTo(data.x[b], data.y[b]); };
    if ($("map-links").checked) links.show(1);
    family.show(hovered < 0 && selected < 0 ? 0.6 : 0.25);
    const grown = Math.max(0.35, Math.min(1, thin * 1.6));
    const faint = found.length ? 0.18 : 1;
    for (const [colour, members] of kinds) {
      pen.fillStyle = colour;
      pen.globalAlpha = faint;
      pen.beginPath();
      for (const n of members) {
        if (!inside(n)) continue;
        const r = Math.max(radius[n] * grown, 1.1 * thin);
        if (r * view.scale < 2) pen.rect(data.x[n] - r, data.y[n] - r, 2 * r, 2 * r);
        else { pen.moveTo(data.x[n] + r, data.y[n]); pen.arc(data.x[n], data.y[n], r, 0, 7); }
      }
      pen.fill();
    }
    pen.globalAlpha = 1;
    const ring = (n, colour, wide) => {
      pen.strokeStyle = colour; pen.lineWidth = wide * thin; pen.beginPath();
      pen.arc(data.x[n], data.y[n], Math.max(radius[n] * grown, 2 * thin) + 2.5 * thin, 0, 7); pen.stroke();
    };
    for (const n of found) if (inside(n)) ring(n, colours.focus, 1.6);
    const about = hovered >= 0 ? hovered : selected;
    if (about >= 0) {
      for (const [colour, others] of [[colours.out, data.out[about]], [colours.into, into[about]]]) {
        pen.strokeStyle = colour; pen.lineWidth = 1.1 * thin; pen.globalAlpha = 0.7; pen.beginPath();
        for (const other of others) line(about, other);
        pen.stroke();
      }
      pen.globalAlpha = 1;
      ring(about, colours.ink, 2);
    }
    if (selected >= 0) ring(selected, colours.focus, 2.5);
    names();
    const spent = performance.now() - began;
    state.frames += 1; state.total_ms += spent; state.slowest_ms = Math.max(state.slowest_ms, spent);
  };

  const names = () => {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colours.ink;
    pen.strokeStyle = colours.paper;
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "center";
    data.circles.forEach(([x, y, r], n) => {
      if (r * view.scale < 26) return;
      const at = [data.sites[n].slice(0, 60), x * view.scale + view.x, (y + r) * view.scale + view.y + 4];
      pen.strokeText(...at);
      pen.fillText(...at);
    });
  };

  let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
  for (const [x, y, r] of data.circles) {
    left = Math.min(left, x - r); right = Math.max(right, x + r); top = Math.min(top, y - r); bottom = Math.max(bottom, y + r);
  }
  const keep = () => { // some of the map stays in sight
    const room = 80;
    view.x = Math.min(width - room - left * view.scale, Math.max(room - right * view.scale, view.x));
    view.y = Math.min(height - room - top * view.scale, Math.max(room - bottom * view.scale, view.y));
    later();
  };
  const whole = () => {
    view.scale = Math.min(4, 0.94 * Math.min(width / (right - left), (height - 24) / (bottom - top)));
    view.x = width / 2 - view.scale * (left + right) / 2;
    view.y = (height - 14) / 2 - view.scale * (top + bottom) / 2;
    later();
  };
  const zoom = (factor, x = width / 2, y = height / 2) => {
    const scale = Math.min(30, Math.max(0.02, view.scale * factor));
    view.x = x - (x - view.x) * scale / view.scale;
    view.y = y - (y - view.y) * scale / view.scale;
    view.scale = scale;
    keep();
  };
  const move = (x, y) => { view.x += x; view.y += y; keep(); };
  const centre = (n, least = 1.5) => {
    view.scale = Math.max(view.scale, least);
    view.x = width / 2 - data.x[n] * view.scale;
    view.y = height / 2 - data.y[n] * view.scale;
    later();
  };
  const nearest = (x, y) => {
    const at = (x - view.x) / view.scale, down = (y - view.y) / view.scale;
    let best = -1, least = (9 / view.scale) ** 2;
    for (let n = 0; n < count; n += 1) {
      const far = Math.max(0, Math.hypot(data.x[n] - at, data.y[n] - down) - radius[n] / 2) ** 2;
      if (far < least) { least = far; best = n; }
    }
    return best;
  };
  const point = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

  const hover = (n, x, y) => {
    if (n !== hovered) {
      hovered = n;
      later();
      if (n >= 0) tip.replaceChildren(make("b", nameOf(n)), document.createElement("br"), `${data.path[n]} \u00b7 ${data.status[n] || "no answer"} \u00b7 depth ${data.depth[n]} \u00b7 ${data.size[n].toLocaleString("en")} links to it`);
    }
    tip.hidden = n < 0;
    if (n >= 0) {
      tip.style.left = Math.min(x + 14, Math.max(0, width - 260)) + "px";
      tip.style.top = Math.min(y + 16, height - 60) + "px";
    }
  };

  const listed = (title, pages) => {
    const box = make("div");
    box.append(make("b", `${title}: ${pages.length.toLocaleString("en")}${data.cut ? " drawn" : ""}`));
    const list = make("ul");
    for (const n of pages.slice(0, 200)) {
      const item = make("li"), button = make("button", nameOf(n));
      button.type = "button";
      button.title = data.path[n];
      button.addEventListener("click", () => { select(n); centre(n); });
      item.append(button);
      list.append(item);
    }
    box.append(list);
    return box;
  };
  const select = (n) => {
    selected = n;
    later();
    if (n < 0) { panel.replaceChildren(); return; }
    const link = make("a", data.path[n]);
    if (/^https?:\/\//.test(data.path[n])) { link.href = data.path[n]; link.target = "_blank"; link.rel = "noopener noreferrer nofollow"; }
    const place = make("p");
    place.append(link);
    const facts = `${data.status[n] || "no answer"} \u00b7 depth ${data.depth[n]} \u00b7 ${data.size[n].toLocaleString("en")} links lead to it`;
    const lists = make("div", undefined, "lists");
    lists.append(listed("links to", data.out[n]), listed("linked from", into[n]));
    panel.replaceChildren(make("h4", nameOf(n)), place, make("p", facts), lists);
  };

  // ---- hands: mouse, fingers, keys

  const fingers = new Map();
  let dragged = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, point(event));
    dragged = 0;
    canvas.classList.add("moving");
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = point(event), before = fingers.get(event.pointerId);
    if (!before) { hover(nearest(x, y), x, y); return; }
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const now = Math.hypot(x - other[0], y - other[1]), was = Math.hypot(before[0] - other[0], before[1] - other[1]);
      zoom(now / Math.max(1, was), (x + other[0]) / 2, (y + other[1]) / 2);
    }
    move((x - before[0]) / fingers.size, (y - before[1]) / fingers.size);
    dragged += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    fingers.set(event.pointerId, [x, y]);
  });
  const lift = (event) => {
    fingers.delete(event.pointerId);
    canvas.classList.remove("moving");
    if (event.type === "pointerup" && dragged < 6) { const [x, y] = point(event); select(nearest(x, y)); }
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    const [x, y] = point(event);
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), x, y);
  }, { passive: false });
  const step = (by) => {
    const pages = found.length ? found : data.x.map((_, n) => n);
    foundAt = (foundAt + by + pages.length) % pages.length;
    select(pages[foundAt]);
    centre(pages[foundAt]);
  };
  const KEYS = {
    ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: whole, n: () => step(1), p: () => step(-1),
    Escape: () => select(-1),
    Enter: () => { const link = panel.querySelector("a[href]"); if (link) link.click(); },
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  $("map-in").addEventListener("click", () => zoom(1.4));
  $("map-out").addEventListener("click", () => zoom(1 / 1.4));
  $("map-all").addEventListener("click", whole);
  $("map-colour").addEventListener("change", recolour);
  $("map-links").addEventListener("change", later);
  const lower = data.path.map((path, n) => (path + "\n" + data.title[n]).toLowerCase());
  const find = (words) => {
    found = words ? lower.flatMap((text, n) => (text.includes(words) ? [n] : [])) : [];
    foundAt = -1;
    if (words) panel.replaceChildren(listed("found", found));
    else select(selected);
    if (words && found.length) whole();
    later();
  };
  $("map-find").addEventListener("input", (event) => find(event.target.value.trim().toLowerCase()));
  $("map-find").addEventListener("keydown", (event) => { if (event.key === "Enter" && found.length) step(event.shiftKey ? -1 : 1); });

  const fit = () => {
    const box = canvas.getBoundingClientRect(), first = !width;
    if (!box.width) return;
    ratio = Math.min(2, devicePixelRatio || 1);
    [width, height] = [box.width, box.height];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    family.forget();
    links.forget();
    if (first) whole(); else later();
  };
  new ResizeObserver(fit).observe(canvas);
  recolour();
  fit();
  draw();
})();
