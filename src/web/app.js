// Shared by all pages, which also work without it: formats times and numbers in the reader's language, submits forms
// without leaving the page, and renews the live parts of the page.

const languages = navigator.languages;
const ago = new Intl.RelativeTimeFormat(languages, { numeric: "auto", style: "short" });
const whole = new Intl.DateTimeFormat(languages, { dateStyle: "medium", timeStyle: "medium" });
const UNITS = [["second", 1, 100], ["minute", 60, 100], ["hour", 3600, 48], ["day", 86400, Infinity]];

export function fromNow(at, now = Date.now()) {
  const seconds = (at - now) / 1000;
  const [unit, size] = UNITS.find(([, size, most]) => Math.abs(seconds) / size < most);
  return ago.format(Math.round(seconds / size), unit);
}

// Cached per number of digits: creating a formatter takes longer than formatting a hundred numbers.
const formats = new Map();

function numbers(digits) {
  if (!formats.has(digits)) {
    const options = { minimumFractionDigits: digits, maximumFractionDigits: digits || 20 };
    formats.set(digits, new Intl.NumberFormat(languages, options));
  }
  return formats.get(digits);
}

function speak(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = Date.parse(time.dateTime);
    time.title = whole.format(at);
    time.textContent = time.dataset.style === "whole" ? whole.format(at) : fromNow(at);
  }
  for (const data of root.querySelectorAll("data[value]")) {
    data.textContent = numbers(Number(data.dataset.digits ?? 0)).format(Number(data.value));
  }
}

const said = document.getElementById("said");

// Shows a sentence in the message area. `tone`: "good" for a success.
export function say(sentence, tone = "") {
  said.textContent = sentence;
  said.dataset.tone = tone;
}

// Moves the server's message to the message area and removes it from the address, so that a reload does not repeat it.
const word = document.querySelector("[data-said]");
if (word) {
  say(word.textContent, "good");
  word.remove();
  history.replaceState(null, "", location.pathname);
}

// Replaces the live parts of the page that differ from what the server sent before. Unchanged parts are not touched, so
// that focus and scroll position stay.
const served = new WeakMap();

function remember(root) {
  for (const part of root.querySelectorAll("[data-live], [data-keyed] > [id]")) served.set(part, part.outerHTML);
}

function swap(old, fresh) {
  const text = fresh.outerHTML;
  if (served.get(old) === text) return;
  const focus = old.contains(document.activeElement) ? describe(document.activeElement) : null;
  const keyed = old.querySelector("[data-keyed]");
  const keyedFresh = fresh.querySelector("[data-keyed]");
  const kept = new Map();
  if (keyed && keyedFresh) {
    for (const child of keyed.children) kept.set(child.id, child);
    for (const child of [...keyedFresh.children]) {
      const before = kept.get(child.id);
      if (before && served.get(before) === child.outerHTML) child.replaceWith(before);
    }
  }
  const changed = fresh;
  old.replaceWith(changed);
  for (const part of [changed, ...changed.querySelectorAll("[data-keyed] > [id]")]) {
    if (!served.has(part)) served.set(part, part.outerHTML);
  }
  served.set(changed, text);
  speak(changed);
  if (focus) document.querySelector(focus)?.focus();
}

function describe(element) {
  if (element.id) return "#" + CSS.escape(element.id);
  const form = element.closest("form[action]");
  return form ? `form[action="${CSS.escape(form.getAttribute("action"))}"] ${element.localName}` : null;
}

let asked = 0;

// Renews the live parts. Returns whether the daemon answered. If the session has ended, goes to the login page.
export async function refresh(address = location.href) {
  const number = ++asked;
  let answer, text;
  try {
    answer = await fetch(address, { headers: { accept: "text/html" } });
    if (answer.redirected && new URL(answer.url).pathname === "/log-in") {
      location.assign(answer.url);
      return true;
    }
    text = await answer.text();
  } catch {
    return false;
  }
  // A newer request has been sent meanwhile.
  if (number !== asked || !answer.ok) return answer.ok;
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(old.id);
    if (fresh) swap(old, document.adoptNode(fresh));
  }
  return true;
}

// Submits POST forms without leaving the page and shows the server's message.
addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post" || event.defaultPrevented) return;
  event.preventDefault();
  const button = event.submitter;
  const fields = new URLSearchParams(new FormData(form, button));
  if (button) button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: fields });
    const stays = answer.redirected && new URL(answer.url).pathname === location.pathname;
    if (answer.ok && stays && !("reload" in form.dataset)) {
      say("");
      await refresh();
    } else if (answer.ok) {
      location.assign(answer.url);
    } else {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      say((page.querySelector("#said-alone, #wrong") ?? page.body).textContent.trim());
    }
  } catch {
    say("The daemon does not answer.");
  }
  if (button) button.disabled = false;
});

// Applies a filter shortly after the last key.
let typing;
addEventListener("input", (event) => {
  const form = event.target.closest("form[data-filter]");
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(() => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const address = new URL(form.action, location.href);
    address.search = query;
    history.replaceState(null, "", address);
    refresh();
  }, 150);
});
addEventListener("submit", (event) => {
  if (event.target.matches("form[data-filter]")) event.preventDefault();
});

// A browser opens at most six connections to a server, so only a visible page holds one for events. The daemon sends a
// keep-alive event every five seconds; after 20 s of silence it counts as gone, whatever the connection says.
const SILENCE = 20_000;
const LONGEST_PAUSE = 15_000;
const LOST = "The daemon does not answer. This page may be out of date; it reconnects by itself.";

function live() {
  const banner = document.getElementById("lost");
  let news, later, silence, again;
  let pause = 1000;

  const isLive = (yes) => {
    document.documentElement.dataset.live = yes ? "yes" : "no";
    banner.textContent = yes ? "" : LOST;
  };
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(lose, SILENCE);
  };
  const leave = () => {
    [later, silence, again].forEach(clearTimeout);
    news?.close();
    news = null;
  };
  // The daemon is gone, hangs, or requires a login: requests the page itself, which also leads to the login.
  const lose = () => {
    leave();
    isLive(false);
    again = setTimeout(async () => {
      pause = Math.min(2 * pause, LONGEST_PAUSE);
      if (document.hidden) return;
      if (await refresh()) listen();
      else lose();
    }, pause);
  };
  const listen = () => {
    if (news) return;
    news = new EventSource("/events");
    heard();
    news.addEventListener("changed", () => {
      heard();
      clearTimeout(later);
      later = setTimeout(() => refresh(), 50);
    });
    news.addEventListener("alive", heard);
    news.addEventListener("open", () => {
      heard();
      // Events during the interruption were lost.
      if (document.documentElement.dataset.live === "no") refresh();
      pause = 1000;
      isLive(true);
    });
    news.addEventListener("error", lose);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return leave();
    listen();
    refresh();
  });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", listen);
  if (!document.hidden) listen();
  setInterval(() => speak(document), 15000);
}

remember(document);
speak(document);
if (document.querySelector("[data-live]")) live();

// The editor of a task's files: checks them while you type and shows the first mistake, with a button that goes to it.
const editor = document.getElementById("editor");

function showProblem(problem) {
  const place = document.getElementById("problem");
  place.replaceChildren();
  for (const area of editor.querySelectorAll("textarea")) area.removeAttribute("aria-invalid");
  if (!problem) return;
  const area = document.getElementById(problem.file === "robot.toml" ? "robot" : "task");
  area.setAttribute("aria-invalid", "true");
  const line = document.createElement("p");
  line.className = "off";
  const where = problem.line ? `, line ${problem.line}` : "";
  line.textContent = `${problem.file}${where}: ${problem.message}${problem.hint ? ". " + problem.hint : ""} `;
  place.append(line);
  if (problem.line) {
    const go = document.createElement("button");
    go.type = "button";
    go.textContent = `Go to line ${problem.line}`;
    go.addEventListener("click", () => goTo(area, problem.line, problem.column ?? 1));
    line.append(go);
  }
  if (problem.snippet) {
    const snippet = document.createElement("pre");
    snippet.className = "exact";
    snippet.tabIndex = 0;
    snippet.textContent = problem.snippet;
    place.append(snippet);
  }
}

function goTo(area, line, column) {
  const before = area.value.split("\n").slice(0, line - 1).reduce((sum, it) => sum + it.length + 1, 0);
  area.focus();
  area.setSelectionRange(before + column - 1, before + column - 1);
}

if (editor) {
  let later;
  let number = 0;
  editor.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(async () => {
      const mine = ++number;
      const answer = await fetch(editor.dataset.check, { method: "POST", body: new URLSearchParams(new FormData(editor)) });
      if (answer.ok && mine === number) showProblem((await answer.json()).problem);
    }, 250);
  });
}
