// The labelling page, for existing and new tasks: the proposed lists, the page with their rows outlined, the rows as a
// spreadsheet. Every key has a button. The supervision (`said`) is kept as the server receives it, so that each step can
// be undone.
import { say } from "./app.js";

const bench = document.getElementById("bench");
const base = bench.dataset.base;
const token = document.querySelector("meta[name=pieme-token]").content;
const frame = document.getElementById("page");
const sheet = document.getElementById("sheet");
const began = performance.now();

// The server's last answer, the index of the shown list, the names that the person gave, and the undo history.
let shown = null;
let pick = 0;
let renamed = new Map();
// Name of each split column: its parts are named after it.
const wholes = new Map();
let steps = [];
let busy = false;
let allColumns = false;
let frameIsReady = false;
// The list whose lost columns were named: Enter uses it then.
let warned = null;

const MOST_TEXT = 2000;
const FIRST_ROWS = 12;

async function ask(path, body) {
  const answer = await fetch(base + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-pieme-token": token },
    body: JSON.stringify(body),
  });
  if (answer.ok) return answer.json();
  const text = await answer.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  throw new Error((page.querySelector("#said-alone") ?? page.body).textContent.trim() || `Error ${answer.status}`);
}

// Runs one request at a time and shows its error; on an error nothing else changes.
async function doing(word, work) {
  if (busy) return;
  busy = true;
  bench.setAttribute("aria-busy", "true");
  if (word) say(word);
  try {
    await work();
  } catch (error) {
    say(error instanceof TypeError ? "The daemon does not answer." : error.message);
  }
  busy = false;
  bench.removeAttribute("aria-busy");
}

const copy = (value) => structuredClone(value);
const list = () => shown.lists[pick];
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// Requests the lists for this supervision. `at`: the list to show then; `names`: the column names then.
function propose(said, at, word, names) {
  return doing("Searching …", async () => {
    const fresh = await ask("/lists", { help: said });
    if (shown) steps.push({ said: copy(shown.said), pick, renamed: new Map(renamed) });
    renamed = names ?? renamed;
    shown = fresh;
    pick = Math.min(at, shown.lists.length - 1);
    show(word);
  });
}

function show(word) {
  outline();
  const { rows, names } = list();
  const kept = names.filter((name) => name !== null).length;
  const doubt = pick === 0 && shown.doubt ? ` Check carefully: ${shown.doubt}.` : "";
  const size = `${counted(rows, "row")}, ${counted(kept, "column")}`;
  say(`${word ?? ""}${word ? " " : ""}List ${pick + 1} of ${shown.lists.length}: ${size}.${doubt}`);
  drawLists();
  drawSheet();
  bench.dataset.ready = String(Number(bench.dataset.ready ?? 0) + 1);
}

function choose(at) {
  if (!shown || busy) return;
  if (at >= shown.lists.length) return say(`The page has ${counted(shown.lists.length, "list")} to choose from.`);
  pick = at;
  show();
}

function drawLists() {
  const buttons = shown.lists.map((it, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(at === pick));
    button.append(`${at + 1}`, Object.assign(document.createElement("span"), { textContent: ` ${counted(it.rows, "row")}` }));
    button.addEventListener("click", () => choose(at));
    return button;
  });
  document.getElementById("lists").replaceChildren(...buttons);
}

// The frame with the page.

function outline() {
  if (frameIsReady && shown) frame.contentWindow.postMessage({ pieme: "rows", rows: list().places }, "*");
}

const isNode = (n) => Number.isInteger(n) && n >= 0 && n < 2 ** 32;
const isText = (text) => typeof text === "string" && text.length <= MOST_TEXT;

addEventListener("message", (event) => {
  // The frame has no origin and is recognised by its window. All other messages are ignored.
  if (event.source !== frame.contentWindow || event.origin !== "null") return;
  const { pieme, n, text, first, last, count } = event.data ?? {};
  if (pieme === "ready") {
    frameIsReady = true;
    bench.dataset.frame = "ready";
    outline();
  } else if (pieme === "outlined" && isNode(count)) {
    bench.dataset.outlined = String(count);
  } else if (pieme === "held") {
    say("Lift the finger to enclose this record, or move it to enclose more.");
  } else if (pieme === "value" && isNode(n) && isText(text)) {
    clicked(text);
  } else if (pieme === "block" && isNode(first) && isNode(last) && isText(text)) {
    // The click moved the keyboard focus into the frame; the keys work on this page only.
    document.getElementById("main").focus({ preventScroll: true });
    enclose(text, first, last);
  }
});

// Asks which column a clicked text belongs to, or whether it only identifies a record.
function clicked(text) {
  if (!shown || busy || !text) return;
  const dialog = document.getElementById("value");
  dialog.querySelector("q").textContent = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  const names = new Set([...bench.dataset.columns.split("\n").filter(Boolean), ...kept().flatMap(({ name }) => name)]);
  const buttons = [...names].map((name) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
    button.addEventListener("click", () => done(() => label(name, text)));
    return button;
  });
  const done = (then) => { dialog.close(); then(); };
  dialog.querySelector(".names").replaceChildren(...buttons);
  const fresh = dialog.querySelector("input");
  fresh.value = "";
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    const name = fresh.value.trim();
    if (name) done(() => label(name, text)); else fresh.focus();
  };
  dialog.querySelector(".record").onclick = () => done(() => record(text));
  dialog.querySelector(".leave").onclick = () => dialog.close();
  dialog.showModal();
  (buttons[0] ?? fresh).focus();
}

// The supervision without the adjustments of one list: they are lost when the lists are ranked anew.
const without = (said) => ({ ...copy(said), finish: { candidate: 0, adjust: [], columns: [], sheet: [] } });

function label(name, text) {
  const said = without(shown.said);
  said.labels.push({ meaning: { variable: name }, text });
  propose(said, 0, `“${name}” is labelled.`);
}

function record(text) {
  const said = without(shown.said);
  said.records.push(text);
  propose(said, 0, "Lists with this record come first.");
}

async function enclose(text, first, last) {
  if (!shown || busy) return;
  const word = "Everything like the enclosed block is a row.";
  // A block is recorded by its text, so that it can be found again after a redesign; without text, by its nodes.
  const by = (block) => ({ ...without(shown.said), enclosed: [...shown.said.enclosed, block] });
  const before = shown;
  if (text) await propose(by({ text }), 0, word);
  if (shown === before) await propose(by({ nodes: [first, last] }), 0, word);
}

// Adjusting the extent of the rows, and the columns.

function finishing() {
  const said = copy(shown.said);
  if (said.finish.candidate !== pick) said.finish = { candidate: pick, adjust: [], columns: [], sheet: [] };
  return said;
}

function adjust(step) {
  if (!shown || busy) return;
  const said = finishing();
  said.finish.adjust.push(step);
  propose(said, pick, { widen: "Wider.", narrow: "Narrower.", rotate: "Shifted by one." }[step]);
}

// Split and joined columns are replaced, so the names that the person gave them are dropped.
function change(step, word, gone) {
  const said = finishing();
  said.finish.sheet.push(step);
  propose(said, pick, word, new Map([...renamed].filter(([column]) => !gone.includes(column))));
}

function undo() {
  if (busy) return;
  const last = steps.pop();
  if (!last) return undoTask();
  doing("Undoing …", async () => {
    shown = await ask("/lists", { help: last.said });
    ({ pick, renamed } = last);
    show("Undone.");
  });
}

// The name of a column: the person's, or the split column's with the part's number, or the proposed one.
function nameOf(column, proposed) {
  if (renamed.has(column)) return renamed.get(column);
  const [, whole, piece] = /^(.*)(\.\d+)$/.exec(column) ?? [];
  if (proposed !== null && wholes.has(whole)) return wholes.get(whole) + piece;
  return proposed ?? "";
}

function kept() {
  const { columns, names } = list();
  return columns.map((column, at) => ({ column, at, name: nameOf(column, names[at]) })).filter(({ name }) => name !== "");
}

function drawSheet() {
  const { columns, names, records, rows } = list();
  const all = columns.map((column, at) => ({ column, at, name: nameOf(column, names[at]) }));
  const cells = allColumns ? all : all.filter(({ column, name }) => name !== "" || renamed.has(column));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  cells.forEach((cell, place) => head.append(header(cell, cells[place + 1], place)));
  const body = table.createTBody();
  records.slice(0, Number(sheet.dataset.rows ?? FIRST_ROWS)).forEach((record, index) => {
    const row = body.insertRow();
    for (const { at } of cells) row.insertCell().textContent = record[at] ?? "";
    row.addEventListener("click", () => frameIsReady && frame.contentWindow.postMessage({ pieme: "show", row: index }, "*"));
  });
  const hidden = all.length - cells.length;
  const more = Object.assign(document.createElement("button"), {
    type: "button",
    className: "quiet",
    textContent: allColumns ? "Show kept columns only" : `Show ${counted(hidden, "more column")}`,
    hidden: hidden === 0 && !allColumns,
  });
  more.addEventListener("click", () => { allColumns = !allColumns; drawSheet(); });
  const caption = table.createCaption();
  const first = rows > FIRST_ROWS ? `, the first ${Math.min(FIRST_ROWS, records.length)} shown` : "";
  const { key } = list();
  const recognised = key.length > 0 ? `; records are recognised by ${key.join(", ")}` : "";
  caption.textContent = `List ${pick + 1}: ${counted(rows, "row")}${first}${recognised}`;
  const scroller = Object.assign(document.createElement("div"), { className: "scroller", tabIndex: 0 });
  scroller.setAttribute("role", "region");
  scroller.setAttribute("aria-label", "Rows of the list");
  scroller.append(table);
  const pattern = document.getElementById("pattern");
  pattern.textContent = list().template;
  sheet.replaceChildren(scroller, more);
}

function header({ column, name }, next, place) {
  const cell = document.createElement("th");
  cell.scope = "col";
  const input = Object.assign(document.createElement("input"), { type: "text", value: name, placeholder: "left out", maxLength: 100 });
  input.setAttribute("aria-label", `Name of column ${place + 1}; empty leaves it out`);
  input.addEventListener("change", () => {
    renamed.set(column, input.value.trim());
    say(input.value.trim() ? `Column ${place + 1} is called ${input.value.trim()}.` : `Column ${place + 1} is left out.`);
  });
  const tools = Object.assign(document.createElement("span"), { className: "tools" });
  const tool = (word, title, act) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: word, title });
    button.setAttribute("aria-label", `${word} ${name || column}: ${title}`);
    button.addEventListener("click", act);
    tools.append(button);
  };
  tool("Split", "Split this column", () => split(column, name || column));
  if (next) {
    tool("Join →", "Join with the next column", () => {
      const joined = [name, next.name].filter(Boolean).join(" ");
      const columns = [column, next.column];
      change({ join: { columns, name: joined || null, with: " " } }, "Joined.", columns);
    });
  }
  cell.append(input, tools);
  return cell;
}

function split(column, name) {
  const dialog = document.getElementById("split");
  dialog.querySelector("q").textContent = name;
  const input = dialog.querySelector("input");
  input.value = "";
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    dialog.close();
    const at = input.value === "" ? "words" : { text: input.value };
    wholes.set(column, name);
    change({ split: { column, at } }, "Split.", [column]);
  };
  dialog.querySelector(".leave").onclick = () => dialog.close();
  dialog.showModal();
  input.focus();
}

function byText() {
  if (!shown || busy) return;
  const dialog = document.getElementById("record");
  const input = dialog.querySelector("input");
  input.value = "";
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    dialog.close();
    if (input.value.trim()) record(input.value.trim());
  };
  dialog.querySelector(".leave").onclick = () => dialog.close();
  dialog.showModal();
  input.focus();
}

// Finishing the session.

function take() {
  if (!shown) return say("Still searching. Wait a moment.");
  const { lost } = list();
  if (lost.length > 0 && warned !== list()) {
    warned = list();
    const names = lost.map((name) => `“${name}”`).join(", ");
    const noun = lost.length === 1 ? "column" : "columns";
    const verb = lost.length === 1 ? "stays" : "stay";
    return say(`This list has no value for the ${noun} ${names}, which ${verb} in the table, empty. Press Enter again to use it.`);
  }
  doing("Saving …", async () => {
    const { columns, names } = list();
    const given = columns.map((column, at) => nameOf(column, names[at]) || null);
    const choice = { pick, names: given, seconds: Math.round((performance.now() - began) / 100) / 10 };
    const taken = await ask("/take", { run: shown.run, help: shown.said, choice });
    await leave(taken, "taken");
  });
}

async function leave({ task, next }, what) {
  sessionStorage.setItem("pieme-last", JSON.stringify({ task, what, run: bench.dataset.run }));
  if (next) return location.assign(next);
  bench.dataset.done = "yes";
  await outcome(task, bench.dataset.run, document.getElementById("state"), say);
}

// Waits for the run that the label started and shows its result; `before` is the last run before it.
async function outcome(task, before, state, tell) {
  for (let goes = 0; goes < 1200; goes++) {
    const answer = await fetch(`/label/${encodeURIComponent(task)}/state`);
    if (!answer.ok) return;
    const now = await answer.json();
    const isOver = now.run !== before && !now.going;
    state.textContent = isOver ? now.state : "running";
    state.dataset.tone = isOver ? now.tone : "going";
    tell(isOver ? `${task}: ${now.state}. ${now.sentence}` : `${task} is running …`);
    if (isOver) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function empty() {
  if (!bench.dataset.empty) return;
  doing("Saving …", async () => leave(await ask("/empty", {}), "empty"));
}

function skip() {
  location.assign(bench.dataset.next || "/label");
}

// Undoes the previously labelled task, if there is no step to undo on this page.
function undoTask() {
  const last = JSON.parse(sessionStorage.getItem("pieme-last") ?? "null");
  if (!last || last.what !== "taken") return say("There is nothing to undo.");
  doing(`Undoing ${last.task} …`, async () => {
    const answer = await fetch(`/label/${encodeURIComponent(last.task)}/undo`, { method: "POST", headers: { "x-pieme-token": token } });
    if (!answer.ok) throw new Error(`The last label of ${last.task} could not be undone. See the task's page.`);
    sessionStorage.removeItem("pieme-last");
    location.assign(`/label/${encodeURIComponent(last.task)}`);
  });
}

const KEYS = {
  Enter: take, ArrowRight: () => adjust("widen"), ArrowLeft: () => adjust("narrow"), w: () => adjust("widen"),
  n: () => adjust("narrow"), r: () => adjust("rotate"), t: byText, x: empty, u: undo, s: skip,
};

addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  const isPressing = event.key === "Enter" && event.target.closest?.("a, button, summary");
  if (isTyping || isPressing || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const act = /^[1-9]$/.test(key) ? () => choose(Number(key) - 1) : KEYS[key];
  if (!act || (bench.dataset.done && key !== "u")) return;
  event.preventDefault();
  act();
});
for (const [id, act] of Object.entries({ take, wider: KEYS.w, narrower: KEYS.n, rotate: KEYS.r, "by-text": byText, empty, undo, skip })) {
  document.getElementById(id)?.addEventListener("click", act);
}
// Enter in a name field finishes the name and does not accept the list.
sheet.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("input")) event.target.blur();
});

// Shows the result of the previously labelled task while this one is already open.
const last = JSON.parse(sessionStorage.getItem("pieme-last") ?? "null");
const before = document.getElementById("before-this");
if (before && last && last.task !== bench.dataset.task) {
  before.hidden = false;
  before.querySelector("b").textContent = last.task;
  outcome(last.task, last.run, before.querySelector(".state"), () => {});
}
frame.src = `${base}/page`;
propose({}, 0);
