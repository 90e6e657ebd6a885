"use strict";
// Four charts over one time axis, drawn by uPlot: a cursor in one is a cursor in all.
const charts = { plots: {}, data: null, decisions: [], goal: null, staticReplicas: null, price: null, range: 900 };
const sync = uPlot.sync("time");

function column(name, part) {
  const own = charts.data.series[name];
  return own ? own[part || "mean"] || own.mean : null;
}

function elementNames(prefix) {
  return Object.keys(charts.data.series).filter((name) => name.startsWith(prefix)).slice(0, 5);
}

function chartSpecs() {
  const t = charts.data.t;
  const flat = (value) => t.map(() => value);
  const line = (label, values, key, more) => values && { label, values, key, ...more };
  const goal = charts.goal && (charts.goal.p95 || charts.goal.mean);
  return {
    throughput: [
      line("arrivals", column("arrivals"), 2), line("served", column("served"), 1, { fill: true }),
      line("backlog, tuples", column("backlog", "high"), 3, { scale: "right", dash: [4, 3] }),
    ],
    latency: [
      line("p50", column("p50"), 2), line("p95", column("p95"), 1, { fill: true }),
      line("p99, highest", column("p99", "high"), 3),
      goal ? line("goal", flat(goal), "goal", { dash: [6, 4] }) : null,
    ],
    settings: [
      ...elementNames("replicas:").map((name, i) => line(name.slice(9) + " replicas", column(name), i + 1, { step: true })),
      line("wanted", column("wanted"), "muted", { dash: [4, 3], step: true }),
      ...elementNames("threads:").map((name, i) => line(name.slice(8) + " threads", column(name), ((i + 3) % 6) + 1, { step: true, dash: [2, 2] })),
      line("executors", column("executors"), 4, { step: true, dash: [8, 3] }),
      line("cap, tuples", column("cap"), 6, { scale: "right", step: true, dash: [1, 3] }),
      line("GHz", column("ghz"), 5, { step: true }),
    ],
    cost: [
      line("CPU, cores", column("cores"), 1, { fill: true }),
      line("replicas, most of any element", mostReplicas(), 2, { step: true }),
      charts.staticReplicas ? line("static provisioning", flat(charts.staticReplicas), "goal", { dash: [6, 4] }) : null,
      line("power, W (measured)", column("watts"), 3, { scale: "right" }),
      line("power, W (estimated)", column("watts_estimated"), 5, { scale: "right", dash: [2, 3] }),
    ],
  };
}

function mostReplicas() {
  const names = Object.keys(charts.data.series).filter((name) => name.startsWith("replicas:"));
  if (!names.length) return null;
  return charts.data.t.map((_, i) => {
    const known = names.map((name) => charts.data.series[name].mean[i]).filter((value) => value !== null && value !== undefined);
    return known.length ? Math.max(...known) : null;
  });
}

function stroke(key) { return colour(key === "goal" ? "--bad" : key === "muted" ? "--muted" : "--c" + key); }

function shadeBreaks(plot) {
  const broken = charts.data.broken_steps;
  const t = charts.data.t;
  plot.ctx.save();
  plot.ctx.fillStyle = colour("--bad-soft");
  for (let i = 0; i < t.length; i += 1) {
    if (!broken[i]) continue;
    const from = plot.valToPos(i ? t[i - 1] : t[i] - 1, "x", true);
    const to = plot.valToPos(t[i], "x", true);
    plot.ctx.fillRect(from, plot.bbox.top, Math.max(to - from, 2), plot.bbox.height);
  }
  plot.ctx.restore();
}

function markDecisions(plot) {
  const shapes = { up: ["▲", "--c2"], down: ["▼", "--good"], other: ["◆", "--c3"] };
  const ratio = devicePixelRatio || 1;
  plot.ctx.save();
  plot.ctx.font = 11 * ratio + "px sans-serif";
  plot.ctx.textAlign = "center";
  for (const own of charts.decisions) {
    const shape = shapes[own.kind];
    if (!shape || own.at_s < plot.scales.x.min || own.at_s > plot.scales.x.max) continue;
    plot.ctx.fillStyle = colour(shape[1]);
    plot.ctx.fillText(shape[0], plot.valToPos(own.at_s, "x", true), plot.bbox.top + 11 * ratio);
  }
  plot.ctx.restore();
}

const TICKS_S = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

function options(name, host, specs) {
  const hasRight = specs.some((own) => own.scale === "right");
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const values = (_, ticks) => ticks.map((tick) => { const [number, unit] = count(tick).split(" "); return Number(number) + (unit || ""); });
  const hooks = { draw: [markDecisions] };
  if (name === "latency") hooks.drawClear = [shadeBreaks];
  return {
    width: Math.max(host.clientWidth, 200), height: host.clientHeight || 180, legend: { show: false },
    cursor: { sync: { key: sync.key }, y: false, points: { size: 6 } }, hooks,
    scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(high || 1, 1e-6) * 1.08] }, right: { range: (_, low, high) => [0, Math.max(high || 1, 1e-6) * 1.08] } },
    padding: [8, hasRight ? 4 : 56, 0, 0], // as wide as an axis on the right: one time axis for all charts
    axes: [{ ...axis, space: 64, size: 32, incs: TICKS_S, values: (_, ticks) => ticks.map(hour) }, { ...axis, size: 52, values }, ...(hasRight ? [{ ...axis, scale: "right", side: 1, size: 52, grid: { show: false }, values }] : [])],
    series: [{}, ...specs.map((own) => ({
      label: own.label, scale: own.scale || "y", stroke: stroke(own.key), width: 1.75, dash: own.dash, spanGaps: true, points: { show: false },
      fill: own.fill ? stroke(own.key) + "22" : undefined, paths: own.step ? uPlot.paths.stepped({ align: -1 }) : undefined,
    }))],
  };
}

function drawCharts() {
  if (!charts.data || !charts.data.t.length) return;
  const all = chartSpecs();
  for (const [name, given] of Object.entries(all)) {
    const host = byId("chart-" + name);
    const specs = given.filter(Boolean);
    const shape = specs.map((own) => own.label).join("|") + host.clientWidth + colour("--c1");
    const data = [charts.data.t, ...specs.map((own) => own.values)];
    const known = charts.plots[name];
    if (known && known.shape === shape) { known.plot.setData(data); continue; }
    if (known) known.plot.destroy();
    fill(host);
    charts.plots[name] = { shape, plot: new uPlot(options(name, host, specs), data, host) };
    fill(byId("legend-" + name), specs.map((own) => make("span", {}, make("i", { class: "k" + own.key }), own.label)));
  }
}

async function loadSeries() {
  const newest = charts.newest || Date.now() / 1000;
  const from = charts.range ? "from=" + (newest - charts.range) + "&" : "";
  charts.data = await fetched("/api/series?" + from + "points=600");
  charts.level = charts.data.level;
  drawCharts();
}

// New seconds go at the end of what is there; a coarser level is fetched again instead.
function addPoints(fresh) {
  if (!charts.data || charts.data.level !== "seconds" || charts.data.t.length > 1500) return false;
  const data = charts.data;
  const last = data.t.length ? data.t[data.t.length - 1] : 0;
  const first = fresh.t.findIndex((at) => at > last + 0.001);
  if (first < 0) return true;
  for (let i = first; i < fresh.t.length; i += 1) {
    data.t.push(fresh.t[i]); data.batch.push(fresh.batch[i]);
    data.broken_steps.push(fresh.broken_steps[i]); data.dead_letters.push(fresh.dead_letters[i]);
    const before = data.t.length - 1;
    for (const name of new Set([...Object.keys(data.series), ...Object.keys(fresh.series)])) {
      const own = data.series[name] || (data.series[name] = { mean: Array(before).fill(null) });
      for (const part of Object.keys(own)) own[part].push(fresh.series[name] ? (fresh.series[name][part] || fresh.series[name].mean)[i] : null);
    }
  }
  if (charts.range) {
    const from = data.t[data.t.length - 1] - charts.range;
    const gone = data.t.findIndex((at) => at >= from);
    if (gone > 0) {
      for (const list of [data.t, data.batch, data.broken_steps, data.dead_letters]) list.splice(0, gone);
      for (const own of Object.values(data.series)) for (const list of Object.values(own)) list.splice(0, gone);
    }
  }
  drawCharts();
  return true;
}
