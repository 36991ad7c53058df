// Runs inside the sandboxed frame with the untrusted page, which has no origin: outlines rows and reports where a person
// clicked or dragged. The page's own scripts are removed and could not run, since only this one has the nonce. label.js
// accepts only numbers and texts from it.
"use strict";
(() => {
  const { parent } = window;
  const say = (what, more) => parent.postMessage({ pieme: what, ...more }, "*");
  const MOST_TEXT = 2000;

  // The outlines are in a closed shadow tree above everything, out of reach of the page's styles.
  const host = document.createElement("div");
  host.style.cssText = "all:initial!important;position:absolute!important;left:0!important;top:0!important;width:0!important;height:0!important;z-index:2147483647!important;pointer-events:none!important;display:block!important";
  const layer = host.attachShadow({ mode: "closed" });
  const sheet = document.createElement("style");
  sheet.textContent =
    "div{position:absolute;box-sizing:border-box;border:2px solid #0b57d0;background:#0b57d018;border-radius:3px;pointer-events:none}" +
    "div.at{border-width:4px;background:#0b57d030}div.held{border:4px dashed #7a4a00;background:#7a4a0030}";
  let rows = [];
  // The touch in progress.
  let held = null;

  // Position of an element: the number of its node and, in preformatted text, its line.
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
    rows.forEach((row, index) => outline(box(row), index === shown ? "at" : ""));
    if (held?.isHeld) outline(box(stretch().map(key)), "held");
  }

  function outline(place, name) {
    if (!place) return;
    const line = document.createElement("div");
    line.className = name;
    line.style.left = `${place.left - 2}px`;
    line.style.top = `${place.top - 2}px`;
    line.style.width = `${place.right - place.left + 4}px`;
    line.style.height = `${place.bottom - place.top + 4}px`;
    layer.append(line);
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

  // The first text of an element; the learner finds the record by it.
  function firstText(element) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) if (texts.currentNode.data.trim()) return texts.currentNode.data;
    return "";
  }

  // The element at a point and the text there, if any; null on the bare page.
  function under(x, y) {
    const element = around(document.elementFromPoint(x, y));
    if (!element || element === document.body) return null;
    const caret = document.caretRangeFromPoint?.(x, y)?.startContainer;
    const range = document.createRange();
    if (caret?.nodeType === Node.TEXT_NODE && element.contains(caret)) range.selectNodeContents(caret);
    const isIn = ({ left, right, top, bottom }) => x >= left - 3 && x <= right + 3 && y >= top - 3 && y <= bottom + 3;
    return { element, text: !range.collapsed && [...range.getClientRects()].some(isIn) ? caret.data : null };
  }

  // A click on a text reports a value; a click beside all texts reports the element.
  function hit(event) {
    const found = under(event.clientX, event.clientY);
    if (!found) return;
    const n = Number(found.element.dataset.n);
    if (found.text !== null) say("value", { n, text: cut(found.text) });
    else say("block", { first: n, last: n, text: cut(firstText(found.element)) });
  }

  // Reports a selection over several elements as a block. Returns whether there is one.
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

  // A long press encloses the record under the finger; moving the finger extends the block to where it is lifted. Text
  // selection by touch is disabled: it starts with one word, which encloses nothing, and differs between systems.
  const REST_MS = 500;
  const SLACK_PX = 10;

  // First and last element of the block, in document order.
  function stretch() {
    const { from, to } = held;
    const isBefore = from.element.compareDocumentPosition(to.element) & Node.DOCUMENT_POSITION_PRECEDING;
    return isBefore ? [to.element, from.element] : [from.element, to.element];
  }

  // All texts from one element to another, separated by spaces.
  function textOf([first, last]) {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const all = [];
    texts.currentNode = first;
    while (texts.nextNode()) {
      const { currentNode } = texts;
      if (!last.contains(currentNode) && last.compareDocumentPosition(currentNode) & Node.DOCUMENT_POSITION_FOLLOWING) break;
      all.push(currentNode.data);
    }
    return all.join(" ");
  }

  function letGo() {
    clearTimeout(held?.timer);
    held = null;
    draw();
  }

  function hold() {
    held.isHeld = true;
    draw();
    say("held");
  }

  const selecting = (word) => document.documentElement.style.setProperty("user-select", word, "important");
  addEventListener("touchstart", (event) => {
    letGo();
    selecting("none");
    const [{ clientX: x, clientY: y }] = event.touches;
    const from = event.touches.length === 1 && under(x, y);
    if (from) held = { x, y, from, to: from, isHeld: false, timer: setTimeout(hold, REST_MS) };
  }, { capture: true, passive: true });
  addEventListener("touchmove", (event) => {
    if (!held) return;
    const [{ clientX: x, clientY: y }] = event.touches;
    if (!held.isHeld) {
      if (Math.hypot(x - held.x, y - held.y) > SLACK_PX) letGo();
      return;
    }
    event.preventDefault();
    held.to = under(x, y) ?? held.to;
    draw();
  }, { capture: true, passive: false });
  addEventListener("touchend", (event) => {
    if (held?.isHeld) {
      // Suppresses the click that would follow.
      event.preventDefault();
      const [first, last] = stretch();
      const text = first === last ? (held.from.text ?? firstText(first)) : textOf([first, last]);
      say("block", { first: Number(first.dataset.n), last: Number(last.dataset.n), text: cut(text) });
    }
    letGo();
  }, { capture: true, passive: false });
  addEventListener("touchcancel", letGo, true);
  addEventListener("contextmenu", (event) => held && event.preventDefault(), true);
  addEventListener("pointerdown", (event) => event.pointerType === "mouse" && selecting("auto"), true);
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
