// Which view is shown, and where its data comes from: the data block of a saved simulation, or a scheduler that is
// asked again and again. The address behind '#' says what is shown: VIEW/NAME...?PARAMETERS.

const VIEWS = { nodes: ["Nodes", showNodes], queue: ["Queue", showQueue], whatif: ["What if", showWhatIf], history: ["History", showHistory], run: ["Run", showRun], node: [null, showNode], pod: [null, showPod] };
const SHARED = ["by", "sort", "group", "look", "t", "min"]; // parameters that links to other views keep

const state = { live: true, loaded: false, said: {}, nodes: [], one: [], queue: null, explanations: new Map(), whatIf: { text: "" }, history: [], simulation: null, path: [], params: new URLSearchParams(), view: "nodes", focus: "" };
const main = document.getElementById("main");
let onResize = null;

function address(view, path = [], params = null) {
  const kept = params || new URLSearchParams([...state.params].filter(([name]) => SHARED.includes(name)));
  const query = kept.toString();
  return "#" + [view, ...path.map(encodeURIComponent)].join("/") + (query ? "?" + query : "");
}

// Changes parameters of the address. `typing`: the history does not get an entry for every letter.
function go(changes, typing = false) {
  const params = new URLSearchParams(state.params);
  for (const [name, value] of Object.entries(changes)) if (value === "") params.delete(name); else params.set(name, value);
  history[typing ? "replaceState" : "pushState"](null, "", address(state.view, state.path, params));
  route();
}

const isThere = (view) => view === "run" ? state.simulation : view === "history" ? state.live : true;

function readAddress() {
  const [path, query] = location.hash.slice(1).split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  state.view = own(VIEWS, parts[0]) && isThere(parts[0]) ? parts[0] : "nodes";
  state.path = parts.slice(1);
  state.params = new URLSearchParams(query || "");
}

function draw() {
  const focus = main.contains(document.activeElement) ? document.activeElement : null;
  const key = focus && focus.dataset.key;
  const caret = focus && focus.selectionStart !== undefined ? [focus, focus.type === "search" && focus.selectionStart] : null;
  const scrolled = main.scrollTop;
  onResize = VIEWS[state.view][1](main, state) || null;
  main.scrollTop = scrolled;
  if (onResize) onResize();
  if (key) {
    const again = main.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (again) again.focus({ preventScroll: true });
    if (again && caret && caret[1] !== false) again.setSelectionRange(caret[1], caret[1]);
  }
}

function route() {
  const before = state.view + "/" + state.path.join("/");
  readAddress();
  const moved = before !== state.view + "/" + state.path.join("/");
  const title = state.path.length ? state.path.join("/") : VIEWS[state.view][0] || "";
  document.title = title + " – Plimsoll";
  document.getElementById("views").replaceChildren(...Object.entries(VIEWS)
    .filter(([view, [name]]) => name && isThere(view))
    .map(([view, [name]]) => h("a", { href: address(view), "aria-current": view === state.view && "page" }, name)));
  if (moved) main.scrollTop = 0;
  draw();
  if (moved && state.routed) main.focus({ preventScroll: true });
  state.routed = true;
  if (state.live) ask();
}

// ---- a scheduler that is asked

const SOONEST_MS = 2000, LATEST_MS = 60000;
// Of the loop's time an answer takes this part at most; of all nodes, none of the page's own (docs/ui.md). So three
// pages stay below 1 ms a second.
const LOOP_SHARE = 18000;
let asking = null, timer = 0, failures = 0, lastAnswer = null;

async function answerTo(path, more) {
  const response = await fetch("../" + path, { credentials: "same-origin", cache: "no-store", ...more });
  const text = await response.text();
  if (!response.ok) throw Object.assign(new Error(text.trim() || `status ${response.status}`), { status: response.status });
  return JSON.parse(text);
}

function banner(text) {
  const place = document.getElementById("banner");
  if (place.textContent !== text) place.textContent = text;
}

// All nodes, or those that changed since the answer that had the mark.
function takeNodes(said) {
  const fresh = said.nodes.map(nodeOf);
  state.mark = said.state;
  if (!said.changes) return void (state.nodes = fresh);
  const known = new Map(state.nodes.map((node) => [node.name, node]));
  for (const node of fresh) known.set(node.name, node);
  const there = said.names && new Set(said.names);
  state.nodes = [...known.values()].filter((node) => !there || there.has(node.name));
}

// The nodes in view, of which the scheduler tells before others; none if they are too many for an address.
const MOST_FIRST = 200, LONGEST_FIRST = 8000;
function inView() {
  const names = state.view === "nodes" ? [...main.querySelectorAll("a[data-key]")].map((link) => link.dataset.key) : [];
  const text = names.map(encodeURIComponent).join(",");
  return names.length && names.length <= MOST_FIRST && text.length <= LONGEST_FIRST ? "&first=" + text : "";
}

// Of what time the picture is, and of which part an older one is shown.
function freshness(said, now) {
  const { behind = 0, age = 0, drawn = 0 } = said;
  const asOf = new Date(now - 1000 * drawn).toLocaleTimeString("en-GB");
  return `live, as of ${asOf}` + (behind ? `; ${NUMBERS.format(behind)} ${behind === 1 ? "node" : "nodes"} up to ${duration(Math.ceil(age))} old` : "");
}

const QUESTIONS = {
  nodes: async (signal) => {
    const said = await answerTo("top?since=" + encodeURIComponent(state.mark || "") + inView(), { signal });
    takeNodes(said);
    return said;
  },
  queue: async (signal) => {
    const said = await answerTo("queue", { signal });
    state.queue = said.queue;
    return said;
  },
  history: async (signal) => {
    if (!state.said.past) takePast(state, await answerTo("top?history", { signal }));
    const queue = await QUESTIONS.queue(signal), nodes = await QUESTIONS.nodes(signal);
    state.said.nodes = true;
    return { ...nodes, loopMilliseconds: queue.loopMilliseconds };
  },
  node: async (signal) => {
    const name = state.path[0] || "";
    const said = await answerTo("top?pods&node=" + encodeURIComponent(name), { signal });
    const fresh = said.nodes.map(nodeOf);
    state.one = fresh;
    return said;
  },
  pod: async (signal) => {
    const name = state.path.slice(0, 2).join("/");
    try {
      const said = await answerTo(`explain?pod=${encodeURIComponent(name)}&nodes=20&texts=20`, { signal });
      state.explanations.set(name, { result: said });
      return said;
    } catch (error) {
      if (error.status !== 404 && error.status !== 400) throw error;
      state.explanations.set(name, { error: error.message });
      return {};
    }
  },
};

async function askWhatIf(text) {
  const asked = state.whatIf = { text, waits: true };
  draw();
  try {
    asked.result = await answerTo("explain?nodes=20&texts=20", { method: "POST", body: text, headers: { "Content-Type": "text/plain" } });
  } catch (error) {
    asked.error = error.status ? error.message : "The connection is lost.";
  }
  asked.waits = false;
  if (state.view === "whatif" && asked === state.whatIf) draw();
}

async function ask() {
  clearTimeout(timer);
  if (asking) asking.abort();
  if (!QUESTIONS[state.view]) return;
  const mine = asking = new AbortController();
  if (document.hidden) return;
  let pause = SOONEST_MS;
  try {
    const said = await QUESTIONS[state.view](mine.signal);
    if (mine.signal.aborted) return;
    failures = 0;
    lastAnswer = new Date();
    state.loaded = true;
    state.said[state.view] = state.path[0] || true;
    if (["nodes", "queue", "history"].includes(state.view)) sample(state);
    pause = Math.max(SOONEST_MS, LOOP_SHARE * (said.loopMilliseconds || 0));
    banner(said.standby ? "This replica stands by: another one leads, and only that one decides." : "");
    document.getElementById("source").textContent = freshness(said, lastAnswer.getTime());
    draw();
    if (state.view === "pod") return; // an explanation is work for the loop: on demand
  } catch (error) {
    if (mine.signal.aborted) return;
    pause = Math.min(LATEST_MS, SOONEST_MS * 2 ** failures++);
    banner(`${error.status ? "The scheduler says: " + error.message : "The connection is lost."} ` +
      (lastAnswer ? `This is the state of ${lastAnswer.toLocaleTimeString("en-GB")}. ` : "") + "Trying again.");
    if (!state.loaded) draw();
  }
  timer = setTimeout(ask, pause);
}

// ---- the begin

const VERSION = "plimsoll.io/view/v1";
function takeData(data) {
  if (data.apiVersion !== VERSION) throw new Error(`this page reads ${VERSION}, not ${data.apiVersion}`);
  state.loaded = true;
  state.nodes = data.top.nodes.map(nodeOf);
  state.queue = data.queue.queue;
  state.simulation = data.simulation;
  for (const answer of data.explanations) state.explanations.set(answer.pod, answer);
}

function start() {
  const block = document.getElementById("data");
  if (block) {
    state.live = false;
    try {
      takeData(JSON.parse(block.textContent));
    } catch (error) {
      return main.replaceChildren(h("p", { class: "empty" }, "This file cannot be read: " + error.message));
    }
    document.getElementById("source").textContent = `simulation, plimsoll ${state.simulation.version}`;
  } else {
    document.getElementById("again").hidden = false;
    document.getElementById("again").onclick = ask;
  }
  document.getElementById("skip").onclick = (event) => { event.preventDefault(); main.focus(); };
  addEventListener("hashchange", route);
  addEventListener("popstate", route);
  addEventListener("resize", () => { if (state.view === "nodes") draw(); else if (onResize) onResize(); });
  document.addEventListener("visibilitychange", () => { if (state.live && !document.hidden && state.view !== "pod") ask(); });
  route();
}
start();
