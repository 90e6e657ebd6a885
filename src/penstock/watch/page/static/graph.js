"use strict";
// The graph as SVG, from top to bottom: operators in layers, a dashed box around each element.
const graph = { chosen: null, shape: "" };

function layersOf(operators) {
  const depth = {};
  for (const own of operators) depth[own.name] = Math.max(0, ...own.inputs.map((name) => (depth[name] ?? -1) + 1));
  const layers = [];
  for (const own of operators) (layers[depth[own.name]] = layers[depth[own.name]] || []).push(own);
  return layers.filter(Boolean);
}

function mixed(busy) {
  if (busy === null || busy === undefined) return colour("--card");
  const share = Math.min(Math.max(busy, 0), 1);
  return "color-mix(in srgb, " + colour("--hot") + " " + Math.round(share * 60) + "%, " + colour("--cold") + ")";
}

function shortened(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

function drawGraph(body) {
  const host = byId("graph");
  const operators = body.operators;
  if (!operators.length) {
    if (graph.shape !== "none") fill(host, make("p", { class: "empty" }, "This journal has no graph: it was written by an earlier version."));
    graph.shape = "none";
    return;
  }
  const elements = Object.fromEntries(body.elements.map((own) => [own.name, own]));
  const layers = layersOf(operators);
  const wide = 184, high = 50, gapX = 30, gapY = 54, margin = 30;
  const width = Math.max(...layers.map((own) => own.length)) * (wide + gapX) - gapX + 2 * margin + 50;
  const place = {};
  let y = margin;
  layers.forEach((layer) => {
    const begin = (width - layer.length * (wide + gapX) + gapX) / 2;
    layer.forEach((own, i) => { place[own.name] = { x: begin + i * (wide + gapX), y, own }; });
    y += high + gapY;
  });
  const svg = make("svg", { viewBox: "0 0 " + width + " " + (y - gapY + margin), width, height: y - gapY + margin, "aria-hidden": null });
  const labels = []; // over the edges, which would cross them
  for (const element of body.elements) {
    const inside = operators.filter((own) => own.element === element.name).map((own) => place[own.name]);
    if (!inside.length) continue;
    const left = Math.min(...inside.map((p) => p.x)) - 12, right = Math.max(...inside.map((p) => p.x)) + wide + 12;
    const top = Math.min(...inside.map((p) => p.y)) - 20, bottom = Math.max(...inside.map((p) => p.y)) + high + 10;
    const text = [element.replicas ? "× " + element.replicas : "", percent(element.busy_ratio) + " busy", element.threads ? element.threads + " threads" : ""].filter(Boolean).join(" · ");
    svg.append(make("rect", { class: "element", x: left, y: top, width: right - left, height: bottom - top, rx: 12 }));
    labels.push(make("text", { class: "element-label", x: left + 8, y: top + 14 }, text));
  }
  for (const own of operators) {
    for (const name of own.inputs) {
      if (!place[name]) continue;
      const from = place[name], to = place[own.name];
      const rate = own.in_tuples_s ?? place[name].own.out_tuples_s;
      const x1 = from.x + wide / 2, y1 = from.y + high, x2 = to.x + wide / 2, y2 = to.y;
      const weight = rate ? Math.min(1 + Math.log10(1 + rate) * 0.9, 8) : 1;
      svg.append(make("path", { class: "edge", d: "M" + x1 + " " + y1 + " C" + x1 + " " + (y1 + gapY / 2) + " " + x2 + " " + (y2 - gapY / 2) + " " + x2 + " " + y2, "stroke-width": weight.toFixed(1) }));
      if (rate !== null && rate !== undefined) svg.append(make("text", { class: "rate", x: (x1 + x2) / 2 + 8, y: y1 + (x1 === x2 ? 16 : 20) }, count(rate) + "/s"));
    }
  }
  svg.append(...labels);
  for (const own of operators) {
    const at = place[own.name], element = elements[own.element];
    const detail = own.kind + (own.queued ? " · queue" : "") + (own.cpu_ratio !== null && own.cpu_ratio !== undefined ? " · " + percent(own.cpu_ratio) + " CPU" : "");
    const node = make("g", { class: "node", role: "button", tabindex: 0, "aria-label": own.name, "aria-pressed": String(graph.chosen === own.name), "data-operator": own.name },
      make("rect", { x: at.x, y: at.y, width: wide, height: high, rx: 9 }),
      make("text", { x: at.x + wide / 2, y: at.y + 21, "text-anchor": "middle" }, shortened(own.name, 20)),
      make("text", { class: "small", x: at.x + wide / 2, y: at.y + 38, "text-anchor": "middle" }, shortened(detail, 28)),
      make("title", {}, own.name));
    node.firstChild.style.fill = mixed(element ? element.busy_ratio : null);
    const choose = () => { graph.chosen = graph.chosen === own.name ? null : own.name; drawGraph(page.run.graph); };
    node.addEventListener("click", choose);
    node.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } });
    svg.append(node);
  }
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.operator : null;
  graph.shape = "drawn";
  fill(host, svg);
  if (focused) for (const node of host.querySelectorAll("g.node")) if (node.dataset.operator === focused) node.focus();
  const chosen = operators.find((own) => own.name === graph.chosen);
  byId("operator").textContent = chosen ? chosen.name + " (" + chosen.kind + ", element " + chosen.element + "): " + count(chosen.in_tuples_s) + " tuples/s in, " + count(chosen.out_tuples_s) + " out, CPU " + percent(chosen.cpu_ratio) + ", state " + bytes(chosen.state_bytes) + (chosen.queued ? ", with a queue in front" : "") : "Choose an operator to see its figures.";
}

function drawStrips(rows) {
  const byElement = new Map();
  for (const own of rows) if (own.slots) byElement.set(own.element, [...(byElement.get(own.element) || []), own]);
  fill(byId("strips"), [...byElement].slice(0, 6).map(([name, own]) => {
    const total = own.reduce((sum, each) => sum + each.slots, 0);
    const svg = make("svg", { viewBox: "0 0 1000 20", preserveAspectRatio: "none" });
    let x = 0;
    for (const each of own) {
      const width = 1000 * each.slots / total;
      const rect = make("rect", { x, y: 0, width: Math.max(width - 3, 1), height: 20 }, make("title", {}, "replica " + each.replica + ": " + each.slots + " slots, busy " + percent(each.busy_ratio)));
      rect.style.fill = mixed(each.busy_ratio);
      svg.append(rect);
      x += width;
    }
    return make("div", { class: "strip" }, make("span", {}, name), svg);
  }));
}
