// Shows what /live says once a second. Counts come as strings, which hold more digits than numbers.
"use strict";
const byId = (id) => document.getElementById(id);
const history = [];
let last = 0;

const rate = (x) => (x >= 100 ? Math.round(x).toLocaleString("en") : x.toFixed(x > 0 && x < 10 ? 1 : 0));
// A number and its unit stay in one line.
const time = (ms) => (ms === null ? "–" : ms < 1 ? ms.toFixed(2) + "\u00a0ms" : ms < 1000 ? ms.toPrecision(3) + "\u00a0ms" : (ms / 1000).toFixed(1) + "\u00a0s");
const share = (x) => (x === null ? "–" : (100 * x).toFixed(1) + "\u00a0%");
const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f");

function set(id, text, style) {
  const element = byId(id);
  element.textContent = text;
  if (style !== undefined) element.className = style;
}

function rows(id, lines) {
  byId(id).replaceChildren(...lines.map((cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const column = row.insertCell();
      column.textContent = cell.text ?? cell;
      if (cell.style) column.className = cell.style;
    }
    return row;
  }));
}

function curve(value) {
  history.push(value);
  if (history.length > 120) history.shift();
  const peak = Math.max(1, ...history);
  const from = 120 - history.length;
  // To the edge: one value alone would be a point, which nobody sees.
  byId("curve").setAttribute("d", history.map((y, x) =>
    (x ? "L" : "M") + (from + x) + " " + (62 - 60 * y / peak).toFixed(1)).join("") + "H120");
  set("peak", "(peak " + rate(peak) + ")");
}

function dependency(id, part) {
  set(id, part.ok ? "up" : "down", "big " + (part.ok ? "good" : "bad"));
  set(id + "-note", part.latency_ms === null ? "\u00a0" : "answers in " + time(part.latency_ms));
}

function show(now) {
  const total = now.total;
  set("rate", rate(total.rate));
  set("errors", rate(total.errors) + " errors/s", "note" + (total.errors > 0 ? " warn" : ""));
  set("p99", time(total.p99_ms));
  set("p50", "P50\u00a0" + time(total.p50_ms) + ", P95\u00a0" + time(total.p95_ms));
  set("hits", share(now.cache.counts));
  set("recent", "recent likes " + share(now.cache.recent_likes));
  set("flight", String(now.calls_in_flight));
  set("queue", now.write_queue + " writes wait");
  set("store-name", now.store.name);
  dependency("store", now.store);
  if (now.redis === null) {
    set("redis", "not used", "big");
    set("redis-note", "caches are in the process");
  } else {
    dependency("redis", now.redis);
  }
  curve(total.rate);
  rows("methods", now.methods.map((m) => [m.name, rate(m.rate), {text: rate(m.errors), style: m.errors > 0 ? "warn" : ""},
    time(m.p50_ms), {text: time(m.p95_ms), style: "p95"}, time(m.p99_ms)]));
  rows("top", now.top.length ? now.top.map((t) => [t.item, rate(t.rate), t.count === null ? "–" : grouped(t.count)])
                             : [["nothing yet", "", ""]]);
  set("state", now.version + ", up " + now.uptime, "");
}

const source = new EventSource("/live");
source.onmessage = (event) => {
  last = Date.now();
  show(JSON.parse(event.data));
};
setInterval(() => {
  if (last && Date.now() - last > 4000) set("state", "no answer for " + Math.round((Date.now() - last) / 1000) + " s", "lost");
}, 1000);
