// What the answers of a scheduler say, in the form in which it is drawn. docs/ui.md describes the answers.

const GI = 1024 ** 3;
const inBytes = (resource) => /^(memory|ephemeral-storage|hugepages-.*)$|gpu-memory$/.test(resource);
const unitOf = (resource) => resource === "cpu" ? 1000 : inBytes(resource) ? GI : 1;

const NATURAL = new Intl.Collator("en", { numeric: true }).compare;
const NUMBERS = new Intl.NumberFormat("en"); // toLocaleString makes one each time

// In CPUs, GiB or pieces.
function amount(resource, value) {
  const inUnits = value / unitOf(resource);
  const rounded = inUnits >= 100 ? Math.floor(inUnits) : Math.floor(inUnits * 10) / 10;
  return NUMBERS.format(rounded) + (inBytes(resource) ? " GiB" : "");
}
const freeOf = (use) => use ? Math.max(0, use.allocatable - use.used) : 0;
const usedShare = (use) => use && use.allocatable > 0 ? Math.min(1, Math.max(0, use.used / use.allocatable)) : 0;

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return Math.round(seconds * 1000) + " ms";
  if (seconds < 120) return NUMBERS.format(Math.round(seconds * 10) / 10) + " s";
  if (seconds < 7200) return Math.round(seconds / 60) + " min";
  return NUMBERS.format(Math.round(seconds / 360) / 10) + " h";
}

// How parts of zones and devices are held: class of the style sheet, name, what it means.
const HELD = [
  ["bound", "bound", "held by a pod that is bound, or counted by the node's report"],
  ["promised", "promised", "given to a pod; no report of the node counts it yet"],
  ["foreign", "foreign", "held by a pod of another scheduler"],
  ["uncertain", "uncertain", "used, and it is not known by whom or where"],
  ["unhealthy", "unhealthy", "unhealthy, gone, or set aside: nobody gets it"],
  ["free", "free", "free"],
];

function deviceOf(type, minor, said) {
  let share = 0;
  for (const [resource, total] of Object.entries(said.total || {}))
    if (total > 0) share = Math.max(share, 1 - ((said.free || {})[resource] || 0) / total);
  const pods = said.pods || [];
  const states = pods.map((pod) => pod.state);
  const held = said.state !== "healthy" ? "unhealthy"
    : states.length ? ["promised", "uncertain", "foreign", "bound"].find((state) => states.includes(state)) || "bound"
    : share > 0 ? "uncertain" : "free";
  return { type, minor, share, held, pods, said };
}

// Of a driver's, which claims get.
function claimDeviceOf(driver, pool, name, said) {
  const pods = said.claims.flatMap((claim) => claim.pods.map((pod) => ({ pod, state: claim.state })));
  const held = said.claims.length ? said.claims.some((claim) => claim.state === "promised") ? "promised" : "bound"
    : said.elsewhere ? "bound" : said.taints ? "unhealthy" : "free";
  const note = [said.claims.map((claim) => claim.claim && "claim " + claim.claim).filter(Boolean).join(", "),
    said.elsewhere && "given away by NodeDevice", said.taints && "tainted: " + said.taints.join(", ")].filter(Boolean).join("; ");
  return { type: driver, minor: name, pool, note, share: held === "free" ? 0 : 1, held, pods, said: { state: "tainted" } };
}

function nodeOf(said) {
  const node = {
    name: said.node, res: said.resources || {}, labels: said.labels || {}, taints: said.taints || [],
    unschedulable: said.unschedulable === true, report: said.report, uncertain: said.uncertain, pods: said.pods,
    policy: said.policy, scope: said.scope, leaving: said.leaving || 0,
    zones: Object.entries(said.zones || {}).map(([name, res]) => ({ id: Number(name.replace("node-", "")), res }))
      .sort((a, b) => a.id - b.id),
    devices: [],
  };
  for (const [type, minors] of Object.entries(said.devices || {}))
    for (const [minor, device] of Object.entries(minors)) node.devices.push(deviceOf(type, minor, device));
  for (const [driver, pools] of Object.entries(said.claimDevices || {}))
    for (const [pool, devices] of Object.entries(pools))
      for (const [name, device] of Object.entries(devices)) node.devices.push(claimDeviceOf(driver, pool, name, device));
  node.devices.sort((a, b) => a.type < b.type ? -1 : a.type > b.type ? 1 : NATURAL(a.minor, b.minor));
  return node;
}

// Resources that nodes have, those first that people look for.
function resourcesOf(nodes) {
  const names = new Set();
  for (const node of nodes)
    for (const [name, use] of Object.entries(node.res)) if (use.allocatable > 0) names.add(name);
  names.delete("pods");
  const place = (name) => name === "cpu" ? 0 : name === "memory" ? 1 : name.includes("/") ? 2 : 3;
  return [...names].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

// Labels by which nodes can be grouped: those with fewer values than nodes.
function groupKeys(nodes) {
  const values = new Map();
  for (const node of nodes)
    for (const [key, value] of Object.entries(node.labels)) {
      if (!values.has(key)) values.set(key, new Set());
      values.get(key).add(value);
    }
  return [...values].filter(([, set]) => set.size < Math.max(2, nodes.length)).map(([key]) => key).sort();
}

// Of the resources that zones have: what is free, and how much of it lies in each node's best zone.
const mostInAZone = (node, by) => node.zones.reduce((most, zone) => Math.max(most, freeOf(zone.res[by])), 0);
function totalsOf(nodes, by) {
  const total = { used: 0, allocatable: 0, free: 0, inOneZone: 0 };
  for (const node of nodes) {
    const use = node.res[by];
    if (!use) continue;
    total.used += use.used;
    total.allocatable += use.allocatable;
    total.free += freeOf(use);
    total.inOneZone += node.zones.some((zone) => zone.res[by]) ? Math.min(freeOf(use), mostInAZone(node, by)) : freeOf(use);
  }
  return total;
}

// ---- a simulation at a moment of its run

const running = (run, t) => run.from <= t && (run.to === undefined || run.to > t);

// The nodes with what pods on them requested at that moment. Of zones it is known which pods had something there, not
// how much.
function nodesAt(nodes, simulation, t) {
  const placements = new Map(simulation.pods.map((pod) => [pod.pod, pod]));
  const runs = new Map();
  for (const run of simulation.runs)
    if (running(run, t)) runs.set(run.node, [...(runs.get(run.node) || []), run]);
  return nodes.map((node) => {
    const here = runs.get(node.name) || [];
    const res = {};
    for (const [name, use] of Object.entries(node.res)) {
      let used = name === "pods" ? here.length : 0;
      for (const run of here) used += run.requests[name] || 0;
      res[name] = { used, allocatable: use.allocatable };
    }
    const holders = new Map(), zonePods = new Map();
    for (const run of here) {
      for (const zone of new Set(Object.values(run.zones || {}).flat())) zonePods.set(zone, (zonePods.get(zone) || 0) + 1);
      const placement = placements.get(run.pod);
      if (!placement || placement.node !== node.name) continue;
      for (const [type, minors] of Object.entries(placement.devices || {}))
        for (const minor of minors) {
          const key = type + " " + minor;
          holders.set(key, [...(holders.get(key) || []), { pod: run.pod, state: "bound" }]);
        }
    }
    return {
      ...node, res, pods: here.map((run) => ({ pod: run.pod, state: "bound" })),
      zones: node.zones.map((zone) => ({ ...zone, pods: zonePods.get(zone.id) || 0 })),
      // Which devices claims had, no simulation records.
      devices: node.devices.filter((device) => device.pool === undefined).map((device) => {
        const pods = holders.get(device.type + " " + device.minor) || [];
        return { ...device, pods, share: pods.length ? 1 : 0,
          held: device.held === "unhealthy" ? "unhealthy" : pods.length ? "bound" : "free" };
      }),
    };
  });
}

// The moment that the address names; null: the end, or there is no simulation.
function momentOf(state) {
  const t = state.simulation ? parseFloat(state.params.get("t")) : NaN;
  return Number.isNaN(t) ? null : t;
}

// The moments at which something happened, in order.
function momentsOf(simulation) {
  const moments = new Set([0, simulation.simulatedSeconds]);
  for (const pod of simulation.pods) {
    moments.add(Math.max(0, pod.created));
    if (pod.bound !== undefined) moments.add(pod.bound);
  }
  for (const run of simulation.runs) if (run.to !== undefined) moments.add(run.to);
  return [...moments].filter((t) => t >= 0 && t <= simulation.simulatedSeconds).sort((a, b) => a - b);
}

const waitsAt = (pod, t) => pod.created <= t && (pod.bound === undefined || pod.bound > t);

// The pods of a simulation that wait, in the form of the answer `queue`, with why.
function simulatedQueue(simulation, t) {
  return simulation.pods.filter((pod) => waitsAt(pod, t)).map((pod) => ({
    pod: pod.pod, place: pod.bound === undefined ? "unschedulable" : "waiting", attempts: pod.tries,
    secondsWaiting: t - pod.created, rejectedBy: [], message: pod.message,
  }));
}

// "0/12 nodes are available: 3 Insufficient cpu, 9 node(s) were unschedulable. preemption: ..." as its reasons.
function reasonsOf(message) {
  const text = (message || "").split(" preemption: ")[0].replace(/\.$/, "");
  const at = text.indexOf(" nodes are available: ");
  if (at < 0) return [text || "no decision yet"];
  const parts = text.slice(at + 22).split(/, (?=\d+ )/);
  return parts.map((part) => part.replace(/^\d+ /, ""));
}
