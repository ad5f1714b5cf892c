// The queue, one pod, and the run of a simulation.

const podLink = (name) => {
  const at = name.indexOf("/");
  return h("a", { href: address("pod", [name.slice(0, at), name.slice(at + 1)]), "data-key": "p-" + name }, name);
};
const nodeLink = (name) => h("a", { href: address("node", [name]), "data-key": "n-" + name }, name);

// ---- the queue

function queueGroups(queue) {
  const groups = new Map();
  for (const pod of queue) {
    const reasons = pod.message !== undefined || !pod.rejectedBy.length
      ? pod.message === undefined && pod.attempts === 0 ? ["not tried yet"] : reasonsOf(pod.message)
      : [...pod.rejectedBy].sort();
    const key = [...new Set(reasons)].sort().join("\n");
    if (!groups.has(key)) groups.set(key, { reasons: key.split("\n"), pods: [] });
    groups.get(key).pods.push(pod);
  }
  return [...groups.values()].sort((a, b) => b.pods.length - a.pods.length || (a.reasons[0] < b.reasons[0] ? -1 : 1));
}

function showQueue(main, state) {
  const all = state.simulation ? simulatedQueue(state.simulation, momentOf(state) ?? state.simulation.simulatedSeconds) : state.queue;
  if (!all) return main.replaceChildren(h("h2", {}, "Queue"), h("p", { class: "empty" }, "Asking the scheduler …"));
  const words = (state.params.get("q") || "").split(/\s+/).filter(Boolean);
  const queue = all.filter((pod) => words.every((word) => pod.pod.includes(word) || (pod.message || "").includes(word) || pod.rejectedBy.some((plugin) => plugin.includes(word))));
  const groups = queueGroups(queue);
  const live = !state.simulation;
  const shown = 200;
  const before = [...main.querySelectorAll("details[data-group]")];
  const open = new Set(before.filter((element) => element.open).map((element) => element.dataset.group));
  showBelow(main, "page", h("h2", {}, "Queue"),
    h("form", { class: "controls", role: "search", "aria-label": "Which pods are shown", onsubmit: (event) => event.preventDefault() },
      input("Filter", "q", state.params, { type: "search", placeholder: "pod, plugin, reason" })),
    state.simulation && timeline(state),
    h("p", { role: "status", class: "quiet" }, `${queue.length} pods wait` + (groups.length > 1 ? `, for ${groups.length} sets of reasons` : "")),
    !queue.length && h("p", { class: "empty" }, "No pod waits."),
    groups.map((group, i) => {
      const longest = group.pods.reduce((most, pod) => Math.max(most, pod.secondsWaiting), 0);
      const name = group.reasons.join("\n");
      return h("details", { "data-group": name, open: before.length ? open.has(name) : i === 0 },
        h("summary", { "data-key": "g-" + name }, h("strong", {}, `${group.pods.length}`), h("span", { class: "reasons" }, group.reasons.map((reason) => h("span", {}, reason))),
          h("span", { class: "quiet" }, "longest " + duration(longest))),
        table(live ? "Pods that these plugins rejected" : "Pods that wait for these reasons", ["Pod", "Place", "#tries", "#waited", ...(live ? ["#last try", "#backoff", "Nominated"] : [])],
          group.pods.slice(0, shown).map((pod) => [podLink(pod.pod), pod.place, pod.attempts, duration(pod.secondsWaiting),
            ...(live ? [pod.attempts ? duration(pod.secondsQueued) + " ago" : "–", pod.backoffSecondsLeft > 0 ? duration(pod.backoffSecondsLeft) : "–", pod.nominatedNode || "–"] : [])])),
        group.pods.length > shown && h("p", { class: "quiet" }, `and ${group.pods.length - shown} more: the filter finds them`));
    }));
  return null;
}

// ---- one pod

function refusals(refused) {
  const groups = new Map();
  for (const node of refused) {
    const key = node.plugin + "\n" + node.reason;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(node);
  }
  const shown = 100;
  return [...groups.values()].sort((a, b) => b.length - a.length).map((nodes, i) => h("details", { open: i === 0 },
    h("summary", { "data-key": "r-" + nodes[0].plugin + nodes[0].reason }, h("strong", {}, `${nodes.length}`),
      h("span", { class: "reasons" }, h("span", {}, nodes[0].plugin || "left out by PreFilter"), h("span", {}, nodes[0].reason))),
    table("Nodes, the closest first", ["Node", "Need and have", "Code"], nodes.slice(0, shown).map((node) => [
      nodeLink(node.node), h("span", { class: "text" }, (node.text || "–") + (node.keptFor ? " (room is kept for " + node.keptFor.join(", ") + ")" : "")), node.code])),
    nodes.length > shown && h("p", { class: "quiet" }, `and ${nodes.length - shown} more`)));
}

function scoreTable(fitting) {
  const plugins = [...new Set(fitting.flatMap((node) => (node.scores || []).map((score) => score.plugin)))];
  const most = Math.max(1, ...fitting.map((node) => node.total || 0));
  const bar = (node) => h("span", { class: "score", role: "img", "aria-label": (node.scores || []).map((score) => `${score.plugin} ${score.weighted}`).join(", ") || "not scored" },
    (node.scores || []).map((score) => h("i", { class: "part" + plugins.indexOf(score.plugin) % 8, share: Math.max(0, score.weighted) / most,
      title: `${score.plugin}: ${score.score} × weight ${score.weight} = ${score.weighted} (raw ${score.raw})` })));
  return [
    h("ul", { class: "legend", "aria-label": "Plugins" }, plugins.map((plugin, i) => h("li", {}, h("i", { class: "device part" + i % 8, share: 1 }), plugin))),
    table("Nodes that fit, best first", ["Node", "Scores", "#total", ...plugins.map((plugin) => "#" + plugin)], fitting.map((node) => [
      nodeLink(node.node), bar(node), node.total === undefined ? "not scored" : node.total,
      ...plugins.map((plugin) => (node.scores || []).find((score) => score.plugin === plugin)?.weighted ?? "–")])),
    fitting.flatMap((node) => (node.remarks || []).map((remark) => h("p", { class: "text" }, h("strong", {}, `${node.node}, ${remark.plugin}: `), remark.text))),
  ];
}

function explained(said) {
  const queue = said.queue, placement = said.placement;
  return [
    h("dl", { class: "facts" },
      fact("State", (said.state === "whatIf" ? "not there" : said.state) + (said.pod.terminating ? ", terminating" : "")), said.node && fact("Node", nodeLink(said.node)),
      said.nominatedNode && fact("Nominated", nodeLink(said.nominatedNode)), fact("Profile", said.profile), fact("Priority", said.pod.priority),
      queue && fact("Queue", queue.place), queue && fact("Waits for", duration(queue.secondsWaiting)), queue && fact("Tries", queue.attempts),
      queue && queue.backoffSecondsLeft > 0 && fact("Backoff", duration(queue.backoffSecondsLeft))),
    said.standby && h("p", { class: "notes" }, "This replica stands by: another one leads, and only that one decides."),
    (said.waitsForKinds || []).map((loss) => h("p", { class: "notes" }, `Waits until ${loss.kind} are followed again${loss.why ? ": " + loss.why : ""}`)),
    queue && queue.rejectedBy.length > 0 && table("Rejected at the last try by", ["Plugin", "What may wake the pod"],
      queue.rejectedBy.map((by) => [by.plugin, (by.text ? by.text + "; " : "") + by.waitsFor.join(", ")])),
    placement && placement.message && h("p", {}, placement.message),
    placement && placement.error && h("p", { class: "notes" }, placement.error),
    placement && placement.preFilter?.rejection && h("p", {}, `${placement.preFilter.rejection.plugin}: ${placement.preFilter.rejection.reason}`),
    placement && placement.fitting.length > 0 && [h("h3", {}, `${placement.feasible} of ${placement.nodes} nodes fit`), scoreTable(placement.fitting)],
    placement && placement.refused.length > 0 && [h("h3", {}, `${placement.refused.length} nodes are refused`), refusals(placement.refused)],
  ];
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function showPod(main, state) {
  const name = state.path.slice(0, 2).join("/");
  const answer = state.explanations.get(name);
  const placed = state.simulation && state.simulation.pods.find((pod) => pod.pod === name);
  const runs = state.simulation ? state.simulation.runs.filter((run) => run.pod === name) : [];
  main.replaceChildren(h("div", { class: "page" },
    h("h2", {}, "Pod ", name),
    placed && h("dl", { class: "facts" }, placed.node ? fact("Node", nodeLink(placed.node)) : fact("Node", "no place"), fact("Phase", placed.failure || placed.phase),
      fact("Came at", duration(placed.created)), fact("Waited", placed.bound === undefined ? "until the end" : duration(placed.bound - placed.created)), fact("Tries", placed.tries),
      placed.devices && fact("Devices", Object.entries(placed.devices).map(([type, minors]) => `${type} ${minors.join(",")}`).join("; ")),
      placed.zones && fact("Zones", Object.entries(placed.zones).map(([container, zones]) => `${container}: ${zones.join(",")}`).join("; "))),
    placed && placed.message && !(answer && answer.result) && h("p", {}, placed.message),
    runs.length > 0 && table("Its stays on nodes", ["Node", "#from", "#to", "Requests"], runs.map((run) => [nodeLink(run.node), duration(Math.max(0, run.from)), run.to === undefined ? "the end" : duration(run.to), amounts(run.requests)])),
    answer && answer.result && explained(answer.result),
    answer && answer.error && h("p", { class: "notes" }, answer.error),
    !answer && !placed && !runs.length && h("p", { class: "empty" }, state.live ? "Asking the scheduler …" : "Nothing is known of this pod."),
    !state.live && !answer && placed && h("p", { class: "quiet" }, "simulate --explain " + name + " adds what the scheduler says of it.")));
  return null;
}

// ---- a pod that is not there

function showWhatIf(main, state) {
  const asked = state.whatIf;
  const form = h("form", { class: "whatif", onsubmit: (event) => { event.preventDefault(); askWhatIf(event.target.elements[0].value); } },
    h("label", {}, "Pod, YAML or JSON; or a Deployment or the like that makes pods",
      h("textarea", { "data-key": "c-pod", rows: 14, spellcheck: "false", autocomplete: "off", disabled: !state.live,
        oninput: (event) => { asked.text = event.target.value; } }, asked.text)),
    h("button", { type: "submit", "data-key": "c-ask", disabled: !state.live }, "Where would it go?"));
  main.replaceChildren(h("div", { class: "page" }, h("h2", {}, "What if"), form,
    h("p", { class: "quiet" }, state.live
      ? "The scheduler is asked what it would decide now. Nothing is created, and nothing changes. What admission would add (LimitRanges, priorities, runtime classes) is not known: kubectl create --dry-run=server -o yaml -f FILE prints a pod with it."
      : "A file cannot answer: no scheduler runs behind it. plimsoll ui with --pods FILE, or simulate --html, shows where further pods would go."),
    h("div", { role: "status" }, asked.waits && "Asking the scheduler …", asked.error && h("p", { class: "notes" }, asked.error)),
    asked.result && [h("h3", {}, `Pod ${asked.result.pod.namespace}/${asked.result.pod.name}`), explained(asked.result)]));
  return null;
}

// ---- what a running scheduler was like

const MOST_SAMPLES = 2000; // beyond them, every second one goes

// What the scheduler kept of the time before: once.
function takePast(state, said) {
  const first = state.history.length ? state.history[0].at : Infinity;
  state.history = [...said.samples.filter((one) => one.at < first), ...state.history];
  state.said.past = true;
}

// Of what the view has just been told.
function sample(state) {
  const one = { at: Date.now() };
  const all = state.view === "history";
  if (all || state.view === "queue") {
    one.waiting = state.queue.length;
    one.refusedBy = {};
    for (const pod of state.queue) for (const plugin of new Set(pod.rejectedBy)) one.refusedBy[plugin] = (one.refusedBy[plugin] || 0) + 1;
    one.longest = state.queue.reduce((most, pod) => Math.max(most, pod.secondsWaiting), 0);
  }
  if (all || state.view === "nodes") one.totals = Object.fromEntries(resourcesOf(state.nodes).map((by) => [by, totalsOf(state.nodes, by)]));
  state.history.push(one);
  if (state.history.length > MOST_SAMPLES) state.history = state.history.filter((_, i) => i % 2 === 0);
}

// `of`: the value of a sample, or undefined.
function lineOver(samples, caption, of, text) {
  const points = samples.map((one) => [one.at, of(one)]).filter(([, y]) => y !== undefined);
  if (!points.length) return null;
  const [from, to] = [samples[0].at, samples[samples.length - 1].at];
  const values = points.map(([, y]) => y);
  const most = values.reduce((a, b) => Math.max(a, b), 0), least = values.reduce((a, b) => Math.min(a, b), Infinity);
  const now = values[values.length - 1];
  const drawn = points.map(([x, y]) => `${(1000 * (x - from) / Math.max(1, to - from)).toFixed(1)},${(100 - 96 * y / Math.max(most, 1e-9)).toFixed(1)}`);
  if (drawn.length === 1) drawn.push(drawn[0].replace(/^[^,]*/, (x) => Number(x) + 8)); // one point is no line
  const said = `${caption}: now ${text(now)}, at least ${text(least)}, at most ${text(most)}`;
  return h("figure", { class: "small" }, svg("svg", { viewBox: "0 0 1000 102", preserveAspectRatio: "none", role: "img", "aria-label": said },
    svg("polyline", { class: "line on", fill: "none", "vector-effect": "non-scaling-stroke", points: drawn.join(" ") })), h("figcaption", {}, said));
}

function showHistory(main, state) {
  const samples = state.history;
  const resources = Object.keys(samples.findLast((one) => one.totals)?.totals || {});
  const by = resources.includes(state.params.get("by")) ? state.params.get("by") : resources[0];
  const plugins = [...new Set(samples.flatMap((one) => Object.keys(one.refusedBy || {})))].sort();
  const percent = (share) => `${Math.round(100 * share)} %`;
  const total = (one) => one.totals && one.totals[by];
  showBelow(main, "page", h("h2", {}, "History"),
    h("form", { class: "controls", onsubmit: (event) => event.preventDefault() }, by && select("Resource", "by", by, resources.map((name) => [name, name]), state.params)),
    h("p", { class: "quiet" }, samples.length ? `${samples.length} samples in ${duration((samples[samples.length - 1].at - samples[0].at) / 1000)}: what the scheduler kept of each minute of its last day, and what this page was told since it was opened. Metrics keep it for longer.` : "Asking the scheduler …"),
    lineOver(samples, "Pods that wait", (one) => one.waiting, String),
    lineOver(samples, "The longest wait", (one) => one.longest, duration),
    plugins.map((plugin) => lineOver(samples, `Pods that ${plugin} refused at their last try`, (one) => one.refusedBy && (one.refusedBy[plugin] || 0), String)),
    by && [lineOver(samples, `${by}, used`, (one) => total(one) && total(one).allocatable > 0 ? total(one).used / total(one).allocatable : undefined, percent),
      lineOver(samples, `${by}, of what is free: outside the best zone of its node`, (one) => total(one) && total(one).free > 0 ? 1 - total(one).inOneZone / total(one).free : undefined, percent)]);
  return null;
}

// ---- the run of a simulation

const BUCKETS = [[0.001, "at once"], [1, "under 1 s"], [10, "under 10 s"], [60, "under 1 min"], [600, "under 10 min"], [3600, "under 1 h"], [Infinity, "longer"]];

// How many pods were on nodes and how many waited, over time.
function runChart(simulation) {
  const changes = new Map();
  const change = (t, of, by) => {
    const at = Math.max(0, t);
    if (!changes.has(at)) changes.set(at, { on: 0, waiting: 0 });
    changes.get(at)[of] += by;
  };
  for (const run of simulation.runs) { change(run.from, "on", 1); if (run.to !== undefined) change(run.to, "on", -1); }
  for (const pod of simulation.pods) { change(pod.created, "waiting", 1); if (pod.bound !== undefined) change(pod.bound, "waiting", -1); }
  const end = Math.max(simulation.simulatedSeconds, 1e-9);
  const now = { on: 0, waiting: 0 }, points = { on: [[0, 0]], waiting: [[0, 0]] };
  for (const t of [...changes.keys()].sort((a, b) => a - b))
    for (const of of ["on", "waiting"]) {
      points[of].push([t, now[of]]);
      now[of] += changes.get(t)[of];
      points[of].push([t, now[of]]);
    }
  let most = 1;
  for (const of of ["on", "waiting"]) { points[of].push([end, now[of]]); for (const [, y] of points[of]) most = Math.max(most, y); }
  const line = (of) => svg("polyline", { class: "line " + of, fill: "none", "vector-effect": "non-scaling-stroke",
    points: points[of].map(([t, y]) => `${(1000 * t / end).toFixed(1)},${(100 - 96 * y / most).toFixed(1)}`).join(" ") });
  return h("figure", {}, svg("svg", { viewBox: "0 0 1000 102", preserveAspectRatio: "none", role: "img", "aria-label": `Pods over time: at most ${most}; at the end ${now.on} on nodes and ${now.waiting} waiting` }, line("on"), line("waiting")),
    h("figcaption", {}, h("i", { class: "key on" }), "on nodes ", h("i", { class: "key waiting" }), `waiting; 0 to ${duration(end)}, up to ${most} pods`));
}

const waitsOf = (simulation) => simulation.pods.filter((pod) => pod.bound !== undefined).map((pod) => pod.bound - pod.created).sort((a, b) => a - b);
const quantileOf = (waits, share) => waits.length ? waits[Math.min(waits.length - 1, Math.floor(share * waits.length))] : undefined;

// ---- two simulations

// What a file of a simulation says: the page that `simulate --html` wrote, or what `simulate -o json` printed.
function readSimulation(text) {
  const block = text.match(/<script type="application\/json" id="data">([^<]*)</); // never read as markup
  const data = JSON.parse(block ? block[1] : text);
  const simulation = data.simulation || data;
  if (!Array.isArray(simulation.pods) || !Array.isArray(simulation.runs)) throw new Error("no simulation");
  return simulation;
}

async function takeOther(state, file) {
  try {
    state.other = { name: file.name, simulation: readSimulation(await file.text()) };
  } catch {
    state.other = { name: file.name, error: "is no page of simulate --html, and nothing that simulate -o json printed" };
  }
  draw();
}

function figuresOf(simulation) {
  const waits = waitsOf(simulation), evicted = simulation.evicted.length;
  const figures = [["Pods", simulation.pods.length], ["Bound", simulation.bound], ["Refused by kubelets", simulation.kubelets.rejected], ["Evicted", evicted]];
  for (const [text, share] of [["Half waited at most", .5], ["Nine of ten", .9], ["99 of 100", .99]]) figures.push([text, quantileOf(waits, share), duration]);
  for (const [resource, hours] of Object.entries(simulation.report ? simulation.report.hours : {})) figures.push([`${resource} hours`, hours.used, (value) => value.toFixed(2)]);
  return new Map(figures.map(([name, value, text]) => [name, value === undefined ? "–" : text ? text(value) : String(value)]));
}

// As simulate --report -o csv prints it.
function figuresCsv(simulation) {
  const waits = waitsOf(simulation), rows = [["figure", "value"], ["pods", simulation.pods.length], ["bound", simulation.bound],
    ["refusedByKubelets", simulation.kubelets.rejected], ["evicted", simulation.evicted.length]];
  for (const percent of [50, 90, 99]) rows.push(["waitedSeconds" + percent, waits.length ? quantileOf(waits, percent / 100).toFixed(6) : ""]);
  for (const [resource, hours] of Object.entries(simulation.report ? simulation.report.hours : {}))
    rows.push(["hours " + resource, hours.used.toFixed(6)], ["hoursThere " + resource, hours.allocatable.toFixed(6)]);
  const field = (text) => /[",\r\n]/.test(text) ? `"${String(text).replaceAll('"', '""')}"` : text;
  return rows.map((row) => row.map(field).join(",") + "\n").join("");
}

function comparison(state) {
  const here = state.simulation, there = state.other.simulation;
  const ours = figuresOf(here), theirs = figuresOf(there), others = new Map(there.pods.map((pod) => [pod.pod, pod]));
  const wait = (pod) => pod && pod.bound !== undefined ? pod.bound - pod.created : null;
  const names = new Set([...here.pods.map((pod) => pod.pod), ...others.keys()]), mine = new Map(here.pods.map((pod) => [pod.pod, pod]));
  const differ = [...names].map((name) => [name, mine.get(name), others.get(name)]).filter(([, a, b]) =>
    !a || !b || a.node !== b.node || JSON.stringify([a.devices, a.zones]) !== JSON.stringify([b.devices, b.zones]) || Math.abs((wait(a) || 0) - (wait(b) || 0)) > 1e-6);
  const place = (pod) => !pod ? "not there" : !pod.node ? "no place" : [pod.node, ...Object.entries(pod.devices || {}).map(([type, minors]) => `${type} ${minors.join(",")}`)].join(", ");
  const shown = 500;
  return [
    table(`Beside ${state.other.name}`, ["Figure", "#this", "#other"], [...new Set([...ours.keys(), ...theirs.keys()])].map((name) => [name, ours.get(name) || "–", theirs.get(name) || "–"])),
    differ.length ? table(`${differ.length} of ${names.size} pods differ`, ["Pod", "Here", "There", "#waited here", "#waited there"], differ.slice(0, shown).map(([name, a, b]) => [podLink(name), place(a), place(b), duration(wait(a)), duration(wait(b))]))
      : h("p", {}, "Every pod is in the same place, and waited as long."),
    differ.length > shown && h("p", { class: "quiet" }, `and ${differ.length - shown} more`),
  ];
}

function showRun(main, state) {
  const simulation = state.simulation, report = simulation.report, bound = waitsOf(simulation);
  const quantile = (share) => duration(quantileOf(bound, share));
  const counts = BUCKETS.map(() => 0);
  for (const wait of bound) ++counts[BUCKETS.findIndex(([below]) => wait < below)];
  const most = Math.max(1, ...counts);
  const words = (state.params.get("q") || "").split(/\s+/).filter(Boolean);
  const pods = simulation.pods.filter((pod) => words.every((word) => pod.pod.includes(word) || pod.node.includes(word)));
  const box = h("div", { class: "rows table", role: "table", "aria-label": "Pods" });
  main.replaceChildren(h("div", { class: "page" },
    h("h2", {}, "Run"),
    h("dl", { class: "facts" }, fact("Bound", `${simulation.bound} of ${simulation.pods.length} pods`), fact("Refused by kubelets", simulation.kubelets.rejected),
      fact("Evicted", simulation.evicted.length), fact("Simulated time", duration(simulation.simulatedSeconds)), fact("Seed", simulation.seed)),
    runChart(simulation),
    h("label", { class: "compare" }, "Compare with another simulation (a page, or -o json)",
      h("input", { type: "file", "data-key": "c-other", accept: ".html,.json", onchange: (event) => takeOther(state, event.target.files[0]) })),
    state.other && (state.other.error ? h("p", { class: "notes", role: "alert" }, `${state.other.name} ${state.other.error}`) : comparison(state)),
    table("How long pods waited, from their creation to their binding", ["Waited", "Share", "#pods"],
      BUCKETS.map(([, text], i) => [text, h("span", { class: "zone wide", "aria-hidden": "true" }, h("i", { class: "bound", share: counts[i] / most })), counts[i]])
        .concat([["never bound", "", simulation.pods.length - bound.length]])),
    h("p", {}, h("a", { download: "figures.csv", href: "data:text/csv;charset=utf-8," + encodeURIComponent(figuresCsv(simulation)), "data-key": "csv" }, "The figures as CSV")),
    h("p", { class: "quiet" }, `Half waited at most ${quantile(.5)}, nine of ten ${quantile(.9)}, 99 of 100 ${quantile(.99)}.`),
    report && Object.keys(report.hours).length > 0 && table("Hours that pods had, of what there was", ["Resource", "Use", "#used", "#of"],
      Object.entries(report.hours).map(([resource, hours]) => [resource, useBar({ used: hours.used, allocatable: hours.allocatable || 1 }, `${Math.round(100 * hours.used / (hours.allocatable || 1))} %`), hours.used.toFixed(2), hours.allocatable.toFixed(2)])),
    simulation.evicted.length > 0 && table("Evicted", ["Pod", "Node", "#at"], simulation.evicted.map((pod) => [podLink(pod.pod), nodeLink(pod.node), duration(pod.ended)])),
    simulation.notes.length > 0 && h("ul", { class: "notes" }, simulation.notes.map((note) => h("li", {}, note))),
    table("What was run", ["Input", "File", "SHA-256"], Object.entries(simulation.inputs).map(([name, file]) => [name, file.file, h("code", {}, file.sha256 || "–")])),
    h("h3", {}, "Pods"),
    h("form", { class: "controls", role: "search", "aria-label": "Which pods are shown", onsubmit: (event) => event.preventDefault() }, input("Filter", "q", state.params, { type: "search", placeholder: "pod, node" })),
    h("p", { role: "status", class: "quiet" }, `${pods.length} pods`), box));
  const cells = (role, list) => list.map((cell, i) => h("span", { role: i === 0 && role === "cell" ? "rowheader" : role }, cell));
  const list = new Rows(box, main);
  list.set([{ height: 34, make: () => h("div", { class: "row head", role: "row" }, cells("columnheader", ["Pod", "Node", "Came", "Waited", "Tries"])) },
    ...pods.map((pod) => ({ height: 34, make: () => h("div", { class: "row", role: "row" }, cells("cell", [podLink(pod.pod), pod.node ? nodeLink(pod.node) : "no place",
      duration(pod.created), pod.bound === undefined ? "–" : duration(pod.bound - pod.created), pod.tries])) }))]);
  return () => list.later();
}
