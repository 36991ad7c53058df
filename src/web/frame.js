// Runs beside a stranger's page, in a frame that has no origin: it outlines rows and says where a person has clicked or dragged.
// The page's own scripts are not there, and could not run: only this one has the nonce. Whoever hears it believes numbers and texts,
// and nothing else.
"use strict";
(() => {
  const { parent } = window;
  const say = (what, more) => parent.postMessage({ pieme: what, ...more }, "*");
  const MOST_TEXT = 2000;

  // Above everything, out of reach of the page's sheets.
  const host = document.createElement("div");
  host.style.cssText = "all:initial!important;position:absolute!important;left:0!important;top:0!important;width:0!important;height:0!important;z-index:2147483647!important;pointer-events:none!important;display:block!important";
  const layer = host.attachShadow({ mode: "closed" });
  const sheet = document.createElement("style");
  sheet.textContent =
    "div{position:absolute;box-sizing:border-box;border:2px solid #0b57d0;background:#0b57d018;border-radius:3px;pointer-events:none}" +
    "div.at{border-width:4px;background:#0b57d030}";
  let rows = [];

  // Every element that was written, by its node and, in a listing, its line.
  const key = (element) => [Number(element.dataset.n), Number(element.dataset.o ?? 0)];
  const before = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] <= b[1]);
  let marked = [];
  function first(at) {
    let low = 0, high = marked.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (before(at, marked[middle].key)) high = middle; else low = middle + 1;
    }
    return low;
  }

  function box([from, to]) {
    const all = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (let i = first(from); i < marked.length && before(marked[i].key, to); i++) {
      const rect = marked[i].element.getBoundingClientRect();
      if (rect.width === 0 && rect.height === 0) continue;
      all.left = Math.min(all.left, rect.left + scrollX);
      all.top = Math.min(all.top, rect.top + scrollY);
      all.right = Math.max(all.right, rect.right + scrollX);
      all.bottom = Math.max(all.bottom, rect.bottom + scrollY);
    }
    return all.left < all.right ? all : null;
  }

  let shown = -1;
  function draw() {
    layer.replaceChildren(sheet);
    rows.forEach((row, index) => {
      const place = box(row);
      if (!place) return;
      const outline = document.createElement("div");
      if (index === shown) outline.className = "at";
      outline.style.left = `${place.left - 2}px`;
      outline.style.top = `${place.top - 2}px`;
      outline.style.width = `${place.right - place.left + 4}px`;
      outline.style.height = `${place.bottom - place.top + 4}px`;
      layer.append(outline);
    });
  }

  function show(index, smooth) {
    shown = index;
    draw();
    const place = rows[index] && box(rows[index]);
    if (!place) return;
    const isThere = place.top >= scrollY && place.top < scrollY + innerHeight * 0.8;
    if (!isThere) scrollTo({ top: Math.max(0, place.top - 40), behavior: smooth ? "smooth" : "auto" });
  }

  addEventListener("message", (event) => {
    if (event.source !== parent) return;
    const { pieme, rows: given, row } = event.data ?? {};
    if (pieme === "rows" && Array.isArray(given)) {
      rows = given;
      shown = -1;
      draw();
      if (rows.length > 0) show(0, false);
      shown = -1;
      draw();
      say("outlined", { count: layer.querySelectorAll("div").length });
    }
    if (pieme === "show") show(Number(row), true);
  });

  const cut = (text) => text.replace(/\s+/g, " ").trim().slice(0, MOST_TEXT);
  const around = (node) => (node?.nodeType === Node.ELEMENT_NODE ? node : node?.parentElement)?.closest("[data-n]");

  // By one of its texts a record is known in the likeliest list that has it.
  function firstText(element) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) if (texts.currentNode.data.trim()) return texts.currentNode.data;
    return "";
  }

  // The text under the pointer, if it is on one; beside all text a click means the element, and on the bare page nothing.
  function hit(event) {
    const element = around(event.target);
    if (!element || element === document.body) return;
    const n = Number(element.dataset.n);
    const caret = document.caretRangeFromPoint?.(event.clientX, event.clientY)?.startContainer;
    const range = document.createRange();
    if (caret?.nodeType === Node.TEXT_NODE && element.contains(caret)) range.selectNodeContents(caret);
    const isIn = ({ left, right, top, bottom }) =>
      event.clientX >= left - 3 && event.clientX <= right + 3 && event.clientY >= top - 3 && event.clientY <= bottom + 3;
    if (!range.collapsed && [...range.getClientRects()].some(isIn)) say("value", { n, text: cut(caret.data) });
    else say("block", { first: n, last: n, text: cut(firstText(element)) });
  }

  // A stretch over several elements is a block; says whether there is one.
  function dragged() {
    const selection = getSelection();
    const range = selection.isCollapsed || selection.rangeCount === 0 ? null : selection.getRangeAt(0);
    const [from, to] = range ? [around(range.startContainer), around(range.endContainer)] : [];
    if (!from || !to || from === to) return false;
    say("block", { first: Number(from.dataset.n), last: Number(to.dataset.n), text: cut(selection.toString()) });
    selection.removeAllRanges();
    return true;
  }

  addEventListener("click", (event) => {
    event.preventDefault();
    if (!dragged()) hit(event);
    getSelection().removeAllRanges();
  }, true);

  // By touch a text is selected with a long press, and its ends are moved: when they rest, it is a block.
  let touched = false;
  let resting;
  addEventListener("pointerdown", (event) => { touched = event.pointerType === "touch"; }, true);
  document.addEventListener("selectionchange", () => {
    clearTimeout(resting);
    if (touched) resting = setTimeout(dragged, 1200);
  });
  for (const type of ["submit", "auxclick", "dragstart"]) addEventListener(type, (event) => event.preventDefault(), true);

  addEventListener("DOMContentLoaded", () => {
    marked = [...document.querySelectorAll("[data-n]")].map((element) => ({ element, key: key(element) }));
    document.documentElement.append(host);
    let later;
    new ResizeObserver(() => {
      clearTimeout(later);
      later = setTimeout(draw, 30);
    }).observe(document.body);
    say("ready");
  });
})();
