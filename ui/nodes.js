// The nodes: as tiles with their zones and devices, as a map of small squares, or as a table.

const shortLabel = (key) => key.replace(/^.*\//, "");
const heldName = (held) => HELD.find(([name]) => name === held)[1];

function zoneBox(zone, by) {
  if (zone.pods !== undefined)
    return h("span", { class: "zone", title: `zone ${zone.id}: ${zone.pods} pods with something of their own` },
      h("i", { class: zone.pods ? "bound" : "free", share: zone.pods ? 1 : 0 }), h("b", {}, zone.pods || ""));
  const use = zone.res[by];
  if (!use || use.allocatable <= 0) return h("span", { class: "zone none", title: `zone ${zone.id}: no ${by}` });
  const share = (value) => Math.max(0, Math.min(1, value / use.allocatable));
  const promised = use.promised || 0, foreign = use.foreign || 0;
  const bound = Math.max(0, use.used - promised - foreign);
  return h("span", { class: "zone", title: `zone ${zone.id}: ${by} ${amount(by, use.used)} of ${amount(by, use.allocatable)} used` },
    h("i", { class: "bound", share: share(bound) }), h("i", { class: "promised", share: share(promised) }),
    h("i", { class: "foreign", share: share(foreign) }), h("b", {}, amount(by, freeOf(use))));
}

function deviceCell(device) {
  const by = device.pods.map((pod) => pod.pod).join(", ");
  return h("i", { class: "device " + device.held, share: device.held === "free" ? 0 : Math.max(device.share, .15),
    title: `${device.type} ${device.minor}: ${heldName(device.held)}` +
      (device.share > 0 && device.share < 1 ? `, ${Math.round(100 * device.share)} % used` : "") + (by && ` (${by})`) + (device.note ? `; ${device.note}` : "") });
}

function devicesText(node) {
  const types = new Map();
  for (const device of node.devices) {
    const of = types.get(device.type) || { free: 0, all: 0, bad: 0 };
    ++of.all;
    if (device.held === "free") ++of.free;
    if (device.held === "unhealthy") ++of.bad;
    types.set(device.type, of);
  }
  return [...types].map(([type, of]) => `${type} ${of.free} of ${of.all} free` + (of.bad ? `, ${of.bad} unhealthy` : "")).join("; ");
}

const stateText = (node) => [node.unschedulable && "unschedulable", node.uncertain && "uncertain", node.report === "unreadable" && "report unreadable"]
  .filter(Boolean).join(", ");

function nodeLabel(node, by) {
  const use = node.res[by];
  const zones = node.zones.filter((zone) => zone.res[by] && zone.pods === undefined)
    .map((zone) => `zone ${zone.id} ${amount(by, freeOf(zone.res[by]))}`);
  return [node.name, use ? `${by}: ${amount(by, freeOf(use))} of ${amount(by, use.allocatable)} free` : `no ${by}`,
    zones.length && "free in " + zones.join(", "), devicesText(node), stateText(node)].filter(Boolean).join("; ");
}

const SORTS = {
  name: ["name", () => 0],
  free: ["most free", (node, by) => -freeOf(node.res[by])],
  zone: ["most free in one zone", (node, by) => -mostInAZone(node, by)],
  used: ["fullest", (node, by) => node.res[by] ? -usedShare(node.res[by]) : 1],
};

// Words of the filter: `key=value` of a label, or a part of the node's name, of a device's type or of a holder's name.
function matches(node, words) {
  return words.every((word) => {
    const at = word.indexOf("=");
    if (at > 0) {
      const value = Object.entries(node.labels).find(([key]) => key === word.slice(0, at) || shortLabel(key) === word.slice(0, at));
      return value !== undefined && value[1] === word.slice(at + 1);
    }
    return node.name.includes(word) || stateText(node).includes(word) ||
      node.devices.some((device) => device.held === word || device.pods.some((pod) => pod.pod.includes(word))) ||
      (node.pods || []).some((pod) => pod.pod.includes(word));
  });
}

function chosen(nodes, params, by) {
  const words = (params.get("q") || "").split(/\s+/).filter(Boolean);
  const least = (Number(params.get("min")) || 0) * unitOf(by);
  const wanted = params.get("sort") === "zone" ? mostInAZone : (node, name) => freeOf(node.res[name]);
  const [, order] = own(SORTS, params.get("sort")) || SORTS.name;
  const kept = nodes.filter((node) => matches(node, words) && (least <= 0 || wanted(node, by) >= least));
  const keys = new Map(kept.map((node) => [node, order(node, by)]));
  kept.sort((a, b) => keys.get(a) - keys.get(b) || NATURAL(a.name, b.name));
  const group = params.get("group");
  if (!group) return [[null, kept]];
  const groups = new Map();
  for (const node of kept) {
    const value = own(node.labels, group) ?? "(without the label)";
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(node);
  }
  return [...groups].sort(([a], [b]) => NATURAL(a, b));
}

const LOOKS = { tiles: "Tiles", map: "Map", table: "Table" };
const heat = (node, by) => !node.res[by] || node.res[by].allocatable <= 0 ? "none" : Math.min(4, Math.floor(usedShare(node.res[by]) * 5));

function nodeCell(node, by, look, focusable) {
  const attributes = { href: address("node", [node.name]), "data-key": node.name, tabindex: focusable ? "0" : "-1" };
  if (look === "map")
    return h("a", { ...attributes, class: `square heat${heat(node, by)}${node.devices.some((d) => d.held === "unhealthy") || node.unschedulable ? " marked" : ""}`, title: nodeLabel(node, by) });
  const use = node.res[by];
  const zones = node.zones.length ? node.zones : [{ id: 0, res: node.res }];
  const shown = node.devices.length > 26 ? node.devices.slice(0, 25) : node.devices;
  return h("a", { ...attributes, class: "tile" + (node.unschedulable ? " cordoned" : "") },
    h("span", { class: "hidden" }, nodeLabel(node, by)),
    h("span", { class: "top", "aria-hidden": "true" }, h("strong", {}, node.name),
      h("span", {}, use ? `${amount(by, freeOf(use)).replace(" GiB", "")}/${amount(by, use.allocatable)}` : "–")),
    h("span", { class: "zones", "aria-hidden": "true" }, zones.map((zone) => zoneBox(zone, by))),
    h("span", { class: "devices", "aria-hidden": "true" }, shown.map((device, i) => [i > 0 && device.type !== shown[i - 1].type && h("b", {}), deviceCell(device)]),
      node.devices.length > shown.length && h("small", {}, `+${node.devices.length - shown.length}`),
      !node.devices.length && h("small", {}, stateText(node) || (node.zones.length ? "" : "no zones reported"))));
}

function nodeRow(node, by, group, focusable) {
  const use = node.res[by];
  const cell = (role, ...children) => h("span", { role }, ...children);
  return [
    cell("rowheader", h("a", { href: address("node", [node.name]), "data-key": node.name, tabindex: focusable ? "0" : "-1" }, node.name)),
    group && cell("gridcell", own(node.labels, group) || "–"),
    cell("gridcell", use ? `${amount(by, freeOf(use))} of ${amount(by, use.allocatable)}` : "–"),
    cell("gridcell", node.zones.map((zone) => zone.pods !== undefined ? `${zone.id}: ${zone.pods} pods` : `${zone.id}: ${zone.res[by] ? amount(by, freeOf(zone.res[by])) : "–"}`).join("  ") || "–"),
    cell("gridcell", devicesText(node) || "–"),
    cell("gridcell", stateText(node) || "–"),
  ].filter(Boolean);
}

function legend(by, look, past) {
  if (look === "map")
    return h("ul", { class: "legend", "aria-label": "Legend" }, h("li", {}, `${by} used:`),
      ["0–20 %", "20–40 %", "40–60 %", "60–80 %", "80–100 %"].map((text, i) => h("li", {}, h("i", { class: "square heat" + i }), text)),
      h("li", {}, h("i", { class: "square heatnone" }), "has none"), h("li", {}, h("i", { class: "square heat0 marked" }), "unschedulable, or a device is unhealthy"));
  return h("ul", { class: "legend", "aria-label": "Legend" },
    HELD.map(([held, name, text]) => h("li", { title: text }, h("i", { class: "device " + held, share: held === "free" ? 0 : 1 }), name)),
    h("li", { class: "quiet" }, past ? "numbers: pods with something of the zone" : `numbers: ${by} free, of each zone`));
}

function select(label, param, value, options, params) {
  return h("label", {}, label, h("select", { "data-key": "c-" + param, onchange: (event) => go({ [param]: event.target.value }) },
    options.map(([key, text]) => h("option", { value: key, selected: key === value }, text))));
}

function input(label, param, params, more) {
  const given = params.get(param) || "";
  const value = more.type === "number" && Number.isNaN(Number(given)) ? "" : given;
  return h("label", {}, label, h("input", { "data-key": "c-" + param, value, autocomplete: "off", spellcheck: "false",
    oninput: (event) => go({ [param]: event.target.value }, true), ...more }));
}

// The slider of a simulation. Keys move it from one event to the next.
function timeline(state) {
  const { simulation } = state, moments = momentsOf(simulation), t = momentOf(state);
  let at = t === null ? moments.length - 1 : moments.findLastIndex((moment) => moment <= t);
  at = Math.max(0, at);
  const now = t === null ? simulation.simulatedSeconds : moments[at];
  const arrived = simulation.pods.filter((pod) => pod.created <= now).length;
  const waiting = simulation.pods.filter((pod) => waitsAt(pod, now)).length;
  const there = simulation.runs.filter((run) => running(run, now)).length;
  const text = `${duration(now)}${t === null ? " (the end)" : ""}: ${arrived} pods have come, ${there} are on nodes, ${waiting} wait`;
  return h("div", { class: "timeline" },
    h("label", { for: "time" }, "Time"),
    h("input", { type: "range", id: "time", "data-key": "c-t", min: 0, max: Math.max(1, moments.length - 1), step: 1, value: at, "aria-valuetext": text,
      oninput: (event) => go({ t: Number(event.target.value) >= moments.length - 1 ? "" : String(moments[event.target.value]) }, true) }),
    h("output", { for: "time" }, text));
}

function showNodes(main, state) {
  const { params } = state;
  if (state.live && !state.said.nodes) return main.replaceChildren(h("h2", {}, "Nodes"), h("p", { class: "empty" }, "Asking the scheduler …"));
  const t = momentOf(state);
  const nodes = t === null ? state.nodes : nodesAt(state.nodes, state.simulation, t);
  const resources = resourcesOf(nodes);
  const by = resources.includes(params.get("by")) ? params.get("by") : resources[0] || "cpu";
  const look = own(LOOKS, params.get("look")) ? params.get("look") : nodes.length > 300 ? "map" : "tiles";
  const group = params.get("group");
  const groups = chosen(nodes, params, by);
  const count = groups.reduce((sum, [, list]) => sum + list.length, 0);
  const box = h("div", { class: "rows " + look, role: "grid", "aria-label": "Nodes", "aria-rowcount": -1 });
  showBelow(main, "nodes", h("h2", { class: "hidden" }, "Nodes"),
    h("form", { class: "controls", role: "search", "aria-label": "What is shown of nodes", onsubmit: (event) => event.preventDefault() },
      select("Show", "look", look, Object.entries(LOOKS), params),
      select("Resource", "by", by, resources.map((name) => [name, name]), params),
      select("Sort by", "sort", params.get("sort") || "name", Object.entries(SORTS).map(([key, [text]]) => [key, text]), params),
      select("Group by", "group", group || "", [["", "nothing"], ...groupKeys(state.nodes).map((key) => [key, key])], params),
      input("Filter", "q", params, { type: "search", placeholder: "name, label=value, pod" }),
      input("At least free", "min", params, { type: "number", min: 0, step: "any", inputmode: "decimal" })),
    state.simulation && timeline(state),
    h("div", { class: "under" }, legend(by, look, t !== null),
      h("p", { role: "status", class: "quiet" }, count === nodes.length ? `${count} nodes` : `${count} of ${nodes.length} nodes`)),
    box);

  const width = box.clientWidth;
  const [least, height, gap] = look === "map" ? [18, 22, 4] : [Math.min(178, (width - 8) / 2), 98, 8];
  const columns = look === "table" ? 1 : Math.max(1, Math.floor((width + gap) / (least + gap)));
  const order = groups.flatMap(([, list]) => list);
  const rowOf = new Map(); // node → row
  const rows = [];
  let focusable = order.find((node) => node.name === state.focus) || order[0];
  const cells = (list) => list.map((node) => h("span", { role: "gridcell" }, nodeCell(node, by, look, node === focusable)));
  if (look === "table")
    rows.push({ height: 34, make: () => h("div", { class: "row head", role: "row" },
      ["Node", group && shortLabel(group), `${by} free`, "free by zone", "Devices", "State"].filter(Boolean)
        .map((text) => h("span", { role: "columnheader" }, text))) });
  for (const [value, list] of groups) {
    if (value !== null && look !== "table") {
      const total = list.reduce((sum, node) => sum + (node.res[by] ? node.res[by].allocatable : 0), 0);
      const free = list.reduce((sum, node) => sum + freeOf(node.res[by]), 0);
      rows.push({ height: 40, make: () => h("div", { class: "row group", role: "row" },
        h("span", { role: "rowheader" }, value, h("span", { class: "quiet" }, ` ${list.length} nodes, ${amount(by, free)} of ${amount(by, total)} ${by} free`))) });
    }
    for (let i = 0; i < list.length; i += columns) {
      const part = list.slice(i, i + columns);
      for (const node of part) rowOf.set(node, rows.length);
      const index = rows.length + 1;
      rows.push({ height: look === "table" ? 34 : height, make: () => {
        const row = h("div", { class: "row", role: "row", "aria-rowindex": index }, look === "table" ? nodeRow(part[0], by, group, part[0] === focusable) : cells(part));
        row.style.setProperty("--columns", columns);
        return row;
      } });
    }
  }
  if (!order.length) box.append(h("p", { class: "empty" }, nodes.length ? "No node matches the filter." : "There are no nodes."));
  else if (look !== "table") box.setAttribute("aria-label", `Nodes, ${columns} in a row; arrow keys move`);
  const list = new Rows(box, main, () => { // Tab stops at one of the nodes that exist
    if (!box.querySelector('a[tabindex="0"]')) box.querySelector('a[tabindex="-1"]')?.setAttribute("tabindex", "0");
  });
  list.set(rows);
  const focusOn = (node) => {
    focusable = node;
    state.focus = node.name;
    list.show(rowOf.get(node));
    for (const before of box.querySelectorAll('a[tabindex="0"]')) before.setAttribute("tabindex", "-1");
    const link = box.querySelector(`[data-key="${CSS.escape(node.name)}"]`);
    link.setAttribute("tabindex", "0");
    link.focus({ preventScroll: true });
  };
  box.onkeydown = (event) => {
    const at = order.findIndex((node) => node.name === event.target.dataset.key);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: 10 * columns, PageUp: -10 * columns,
      Home: -order.length, End: order.length }[event.key];
    if (at < 0 || step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    focusOn(order[Math.max(0, Math.min(order.length - 1, at + step))]);
  };
  return () => list.later();
}

// ---- one node

function holders(pods) {
  return pods.map((pod, i) => [i ? ", " : "", podLink(pod.pod), pod.state !== "bound" && ` (${pod.state})`]);
}

const amounts = (uses) => Object.entries(uses || {}).map(([resource, value]) => `${resource} ${amount(resource, value)}`).join(", ");

function useBar(use, label) {
  const share = (value) => Math.max(0, Math.min(1, (value || 0) / use.allocatable));
  const bound = Math.max(0, use.used - (use.promised || 0) - (use.foreign || 0));
  return h("span", { class: "zone wide", role: "img", "aria-label": label },
    h("i", { class: "bound", share: share(bound) }), h("i", { class: "promised", share: share(use.promised) }), h("i", { class: "foreign", share: share(use.foreign) }));
}

function useRows(uses) {
  return Object.entries(uses).filter(([, use]) => use.allocatable > 0 || use.used > 0).map(([resource, use]) => [
    resource, useBar(use, `${Math.round(100 * usedShare(use))} % used`), amount(resource, use.used), amount(resource, freeOf(use)), amount(resource, use.allocatable)]);
}

// What a pod can have of the zones that aligns its CPUs, memory and devices there.
function nextOfKubelet(node) {
  if (!node.policy || node.zones.some((zone) => zone.pods !== undefined)) return null;
  const who = node.scope === "pod" ? "pod" : "container";
  const rule = {
    "single-numa-node": `It gives each ${who} one zone, and refuses one that no zone has room for.`,
    "restricted": `It gives each ${who} as few zones as its amounts need, and refuses one that these have no room for.`,
    "best-effort": `It gives each ${who} as few zones as it can, and refuses none because of zones.`,
    "none": "It does not align pods with zones.",
  }[node.policy];
  const names = [...new Set(node.zones.flatMap((zone) => Object.keys(zone.res)))];
  const rows = names.map((name) => {
    const left = node.res[name] ? freeOf(node.res[name]) : Infinity; // zones may not know what pods have of devices
    const most = mostInAZone(node, name);
    const best = node.zones.filter((zone) => zone.res[name] && freeOf(zone.res[name]) === most && most > 0);
    const all = Math.min(left, node.zones.reduce((sum, zone) => sum + freeOf(zone.res[name]), 0));
    return [name, amount(name, Math.min(left, most)), best.map((zone) => zone.id).join(", ") || "–", amount(name, all)];
  });
  const promised = (node.pods || []).filter((pod) => pod.state === "promised").length;
  return [
    h("h3", {}, "What its kubelet would do next"),
    h("p", {}, `Policy ${node.policy}, scope ${node.scope}. ${rule} `,
      promised > 0 && `${promised} of its pods are promised: no report counts them yet. `,
      node.leaving > 0 && `${node.leaving} pods have left, and no report shows what they give back. `,
      state.live && h("a", { href: address("whatif") }, "Ask about a pod")),
    table(`What a ${who} with whole CPUs can have at most`, ["Resource", "#in one zone", "Zone", "#in all"], rows),
  ];
}

function showNode(main, state) {
  const t = momentOf(state);
  const all = t === null ? [...state.one, ...state.nodes] : nodesAt(state.nodes, state.simulation, t);
  const node = all.find((one) => one.name === state.path[0]);
  if (!node)
    return main.replaceChildren(h("h2", {}, state.path[0] || "?"), h("p", { class: "empty" }, !state.live || state.said.node === state.path[0] ? "There is no node of this name." : "Asking the scheduler …"));
  const columns = ["Resource", "Use", "#used", "#free", "#all"];
  const pods = (node.pods || []).map((pod) => [podLink(pod.pod), pod.state,
    Object.entries(pod.zones || {}).map(([zone, uses]) => `${zone.replace("node-", "zone ")}: ${Object.entries(uses).map(([r, v]) => `${r} ${v}`).join(", ")}`).join("; ") || "–",
    [...Object.entries(pod.devices || {}).map(([type, minors]) => `${type} ${minors.join(",")}`),
      ...node.devices.filter((device) => device.pool !== undefined && device.pods.some((holder) => holder.pod === pod.pod)).map((device) => `${device.type} ${device.minor}`)].join("; ") || "–"]);
  main.replaceChildren(h("div", { class: "page" },
    h("h2", {}, "Node ", node.name),
    state.simulation && timeline(state),
    (node.unschedulable || node.uncertain || node.taints.length > 0 || node.report === "unreadable") && h("ul", { class: "notes" },
      node.unschedulable && h("li", {}, "unschedulable (cordoned)"),
      node.uncertain && h("li", {}, "uncertain: " + node.uncertain),
      node.report === "unreadable" && h("li", {}, "its NodeResourceTopology cannot be read; the last good one stays in force"),
      node.taints.map((taint) => h("li", {}, "taint " + taint))),
    table("The node as a whole", columns, useRows(node.res)),
    node.zones.map((zone) => zone.pods !== undefined
      ? h("p", {}, `Zone ${zone.id}: ${zone.pods} pods with something of their own`)
      : table(`Zone ${zone.id}`, columns, useRows(zone.res))),
    nextOfKubelet(node),
    node.devices.length > 0 && table("Devices", ["Device", "State", "Held by", "#used"], node.devices.map((device) => [
      h("span", {}, h("i", { class: "device " + device.held, share: device.held === "free" ? 0 : Math.max(device.share, .15) }), ` ${device.type} ${device.minor}`),
      device.held === "unhealthy" ? device.said.state : heldName(device.held), device.pods.length || device.note ? [holders(device.pods), device.note && h("span", { class: "quiet" }, ` ${device.note}`)] : "–",
      device.held === "unhealthy" ? "–" : Math.round(100 * device.share) + " %"])),
    node.pods ? table(`Pods (${pods.length})`, ["Pod", "State", "Zones", "Devices"], pods) : h("p", { class: "quiet" }, "Asking for its pods …"),
    Object.keys(node.labels).length > 0 && table("Labels", ["Label", "Value"], Object.entries(node.labels))));
  return null;
}
