"use strict";
// The page: takes the run's state from the server, shows it, and sends what the user asks for.
const page = { run: null, decisions: new Map(), seriesAt: 0, waiting: false };

function showFigures(body) {
  for (const [label, value] of Object.entries(body.figures)) {
    const output = document.querySelector('output[aria-label="' + label + '"]');
    if (!output) continue;
    output.textContent = label === "p95 latency" && value !== null ? (value >= 100 ? Math.round(value) : value.toPrecision(3)) : count(value);
    output.dataset.value = value === null ? "" : String(value);
    output.dataset.batch = body.batch === null ? "" : String(body.batch);
  }
  const bound = body.goal_ms && body.goal_ms.p95;
  const figure = document.querySelector('output[aria-label="p95 latency"]').parentElement;
  figure.dataset.tone = bound && body.figures["p95 latency"] > bound ? "bad" : "";
}

function row(cells, attributes) {
  return make("tr", attributes, cells.map((own) => (own instanceof Node && own.tagName === "TD" ? own : make("td", {}, own))));
}

function empty(columns, text) { return make("tr", {}, make("td", { colspan: columns, class: "empty" }, text)); }

function showRun(body) {
  page.run = body;
  document.title = body.application + " – Penstock";
  byId("application").textContent = body.application || "Penstock";
  byId("status").textContent = body.status;
  byId("status").dataset.status = body.status;
  byId("policy").textContent = [body.policy ? "policy " + body.policy : "", body.goal ? "goal " + body.goal : "", body.paused ? "paused" : "", body.passive ? "passive" : ""].filter(Boolean).join(" · ");
  if (byId("summary").textContent !== body.summary) byId("summary").textContent = body.summary;
  byId("summary").dataset.tone = body.tone;
  showFigures(body);
  drawGraph(body.graph);
  drawStrips(body.replicas);
  showReplicas(body);
  showFailures(body);
  showControls(body);
  charts.goal = body.goal_ms;
  charts.staticReplicas = body.static_replicas;
  charts.newest = body.at_s;
  byId("cost-so-far").textContent = costText(body);
  const saso = body.saso;
  byId("saso").textContent = body.goal ? saso.changes + (saso.changes === 1 ? " change" : " changes") + " · settled within " + seconds(saso.settling_s) + " · overshoot " + saso.overshoot + " · goal broken in " + saso.violations + " of " + saso.steps + " steps" : "";
  byId("letter-count").textContent = body.dead_letters ? count(body.dead_letters) + " in all; samples below" : "none";
  const state = Object.entries(body.state_bytes).filter(([, size]) => size).map(([name, size]) => name + " " + bytes(size));
  byId("sizes").textContent = [body.checkpoint_bytes !== null ? "checkpoint " + bytes(body.checkpoint_bytes) : "", state.length ? "state: " + state.slice(0, 4).join(", ") : ""].filter(Boolean).join(" · ");
  byId("place").textContent = body.checkpoint;
  byId("unreadable").textContent = body.unreadable_lines ? "· " + body.unreadable_lines + " lines of the journal could not be read" : "";
}

function costText(body) {
  const own = body.cost;
  if (!own) return "";
  const hours = (value, price) => value.toPrecision(3) + " core-hours" + (price === null ? "" : " (" + price.toPrecision(3) + ")");
  const price = body.price && body.price.core_hour !== 1 ? ", at " + body.price.core_hour + " per core-hour" : "";
  const shown = (name) => (price ? own[name] : null);
  const provisioned = own.static_core_hours === null ? "" : "; statically provisioned: " + hours(own.static_core_hours, shown("static_cost"));
  return "So far " + hours(own.core_hours, shown("cost")) + provisioned + price + ".";
}

function showReplicas(body) {
  const rows = body.replicas.map((own) => row([
    own.element, make("td", { class: "n" }, own.replica), make("td", { class: "n" }, own.slots || "–"), make("td", { class: "n" }, count(own.tuples)),
    make("td", { class: "n" }, percent(own.busy_ratio)), make("td", { class: "n" }, own.threads ?? 1), own.queues.join(", "), make("td", { class: "when" }, own.host || "local"),
    make("td", { class: "what" }, own.hottest_slot === null ? "" : own.hottest_slot + " (" + percent(own.hottest_ratio) + ")"),
  ]));
  fill(byId("replicas"), rows.length ? rows : empty(9, "No micro-batch yet."));
  const useful = [...page.decisions.values()].pop();
  const moving = body.moving.map((own) => own.element + ": " + own.slots + " slots move, " + bytes(own.bytes) + " left").join("; ");
  byId("moving").textContent = moving || (useful && useful.highest_useful_replicas ? "at most " + useful.highest_useful_replicas + " replicas are of use" : "nothing moves");
}

function showFailures(body) {
  const rows = body.failures.slice().reverse().map((own) => row([make("td", { class: "when" }, clock(own.at_s)), own.kind, own.text + (own.batch === null ? "" : " (micro-batch " + own.batch + ")")]));
  fill(byId("failures"), rows.length ? rows : empty(3, "None so far."));
}

function showControls(body) {
  byId("passive").setAttribute("aria-checked", String(body.passive));
  byId("pause").setAttribute("aria-pressed", String(body.paused));
  byId("pause").textContent = body.paused ? "Resume tuning" : "Pause tuning";
  for (const id of ["passive", "pause", "set-goal", "set-limits", "set-configuration", "stop"]) byId(id).disabled = body.status !== "running";
  byId("controls-note").textContent = body.status === "running" ? "the token is on the terminal that started the dashboard" : "nobody takes commands any more";
  byId("goal").placeholder = goalAsTyped(body);
  fill(byId("commands"), body.commands.slice(-5).reverse().map((own) => make("li", {}, clock(own.at_s) + " " + JSON.stringify(own.command) + ": " + own.outcome + (own.because ? ", " + own.because : ""))));
}

// What the field takes, not what the sentence says.
function goalAsTyped(body) {
  const bounds = Object.entries(body.goal_ms || {}).filter(([, bound]) => bound !== null).map(([name, bound]) => name + "_ms=" + bound);
  return bounds.length ? "latency " + bounds.join(" ") : body.goal ? "throughput" : "latency p95_ms=500";
}

// A change of routes alone has the same setting before and after.
function changeText(own) {
  if (own.from !== own.to) return own.from + " → " + own.to;
  return own.from + ", " + (own.moved_slots ? own.moved_slots + " slots move" : "other routes");
}

function decisionRow(own) {
  const open = make("button", { type: "button", class: "linklike", "aria-label": "Open decision " + own.step }, own.steps > 1 ? own.first_step + "–" + own.step : own.step);
  open.addEventListener("click", () => openDecision(own.step));
  const what = own.kind === "hold" ? "hold " + own.from + (own.steps > 1 ? " × " + own.steps : "") : changeText(own);
  const why = [own.because, own.until_s ? " (for " + seconds(own.until_s) + ")" : ""].join("");
  return row([make("td", { class: "n" }, open), make("td", { class: "when" }, clock(own.at_s)),
    make("td", { class: "what" }, make("span", { class: "tag" }, what), own.passive ? " (passive)" : "", own.broken ? make("span", { class: "broken" }, " goal broken") : ""),
    make("td", { class: "spare" }, own.policy), make("td", { class: "spare" }, own.rules.join(", ")), make("td", { class: "reason" }, why)], { "data-kind": own.kind });
}

function showDecisions() {
  const all = [...page.decisions.values()].slice(-400).reverse();
  charts.decisions = [...page.decisions.values()].filter((own) => own.kind !== "hold");
  const rows = all.filter((own) => own.kind !== "hold" || byId("holds").checked).slice(0, 150).map(decisionRow);
  const none = page.run && page.run.goal ? "No control step yet." : "Nobody controls this run: it was started without a goal.";
  fill(byId("decision-rows"), rows.length ? rows : empty(6, none));
}

function keepDecision(own) {
  for (const [key, each] of page.decisions) if (each.first_step === own.first_step && own.kind === "hold" && each.kind === "hold" && key !== own.batch) page.decisions.delete(key);
  page.decisions.set(own.batch, own);
  for (const batch of page.decisions.keys()) { if (page.decisions.size <= 2000) break; page.decisions.delete(batch); }
}

async function loadDecisions() {
  const body = await fetched("/api/decisions");
  page.decisions = new Map(body.decisions.map((own) => [own.batch, own]));
  showDecisions();
}

async function loadLetters() {
  const body = await fetched("/api/dead-letters");
  const rows = body.samples.map((own) => row([own.operator, own.reason, own.row]));
  fill(byId("letters"), rows.length ? rows : empty(3, body.count ? "No samples are kept." : "None so far."));
}

const FIGURES = { rate_tuples_s: ["Arrivals, tuples/s", count], served_tuples_s: ["Served, tuples/s", count], capacity_tuples_s: ["Capacity, tuples/s", count], latency_mean_s: ["Mean latency", seconds], latency_p95_s: ["p95 latency", seconds], backlog_tuples: ["Backlog, tuples", count], busy_ratio: ["Busy", percent], watts: ["Power (measured)", (v) => v.toFixed(1) + " W"], watts_estimated: ["Power (estimated)", (v) => v.toFixed(1) + " W"] };

async function openDecision(step) {
  const own = await fetched("/api/decisions/" + step);
  byId("dialog-title").textContent = "Decision " + step;
  const names = Object.keys(FIGURES).filter((name) => [own.expected, own.measured, own.seen].some((part) => part && part[name] !== undefined && part[name] !== null));
  const cell = (part, name) => { const value = part ? part[name] : null; return make("td", { class: "n", "data-value": value ?? "" }, value === null || value === undefined ? "–" : FIGURES[name][1](value)); };
  const table = make("table", { "aria-label": "Figures of the decision" },
    make("thead", {}, make("tr", {}, ["", "Seen", "Expected", "Measured", "Error"].map((text, i) => make("th", { scope: "col", class: i ? "n" : "" }, text)))),
    make("tbody", {}, names.map((name) => make("tr", {}, make("th", { scope: "row" }, FIGURES[name][0]), cell(own.seen, name), cell(own.expected, name), cell(own.measured, name), cell(own.error, name)))));
  const what = own.kind === "hold" ? "Held at " + own.from : own.from === own.to ? changeText(own) : (own.passive ? "Would go" : "Went") + " from " + own.from + " to " + own.to;
  const facts = [own.policy + " wanted " + own.wanted, own.rules.length ? "rules: " + own.rules.join(", ") : "no rule changed that", own.moved_slots ? own.moved_slots + " slots move" : "", own.highest_useful_replicas ? "at most " + own.highest_useful_replicas + " replicas are of use" : "", own.until_s ? "holds for up to " + seconds(own.until_s) : ""].filter(Boolean).join("; ");
  fill(byId("dialog-body"),
    make("p", { class: "why" }, make("strong", {}, what + (own.kind === "hold" ? ". Why it held: " : ". Why: ")), own.because), make("p", { class: "muted" }, facts + "."), table,
    own.measured ? "" : make("p", { class: "muted" }, "Measured and Error come with the next control step."),
    own.alternatives.length ? make("h3", {}, "Alternatives") : "",
    own.alternatives.length ? make("table", { "aria-label": "Alternatives" }, make("tbody", {}, own.alternatives.map((each) => row([each.setting, make("td", { class: "n" }, "costs " + each.cost_ratio.toFixed(2) + " times as much")])))) : "");
  if (!byId("dialog").open) byId("dialog").showModal();
}

async function send(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json", authorization: "Bearer " + byId("token").value.trim() }, body: JSON.stringify(body) });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.error || "refused: " + answer.status);
  return said;
}

async function control(body) {
  try {
    await send("/api/control", body);
    byId("outcome").textContent = "Sent: " + JSON.stringify(body) + "; the driver takes it between two micro-batches.";
  } catch (error) { byId("outcome").textContent = "Refused: " + error.message; }
}

function pairs(text) {
  const found = {};
  for (const word of text.split(/[\s,]+/).filter(Boolean)) { const [name, value] = word.split("="); found[name] = Number(value); }
  return found;
}

function wire() {
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("passive").addEventListener("click", () => control({ passive: byId("passive").getAttribute("aria-checked") !== "true" }));
  byId("pause").addEventListener("click", () => control({ paused: !(page.run && page.run.paused) }));
  byId("set-goal").addEventListener("click", () => control({ goal: byId("goal").value }));
  byId("set-limits").addEventListener("click", () => control({ limits: pairs(byId("limits").value) }));
  byId("set-configuration").addEventListener("click", () => control({ configuration: { replicas: pairs(byId("configuration").value) } }));
  byId("stop").addEventListener("click", () => { if (confirm("Stop the application?")) control({ stop: true }); });
  byId("holds").addEventListener("change", showDecisions);
  byId("replay").addEventListener("click", async () => {
    byId("replayed").textContent = "replaying …";
    try {
      const body = await send("/api/replay", { policy: byId("replay-policy").value });
      byId("replayed").textContent = body.policy + ": " + body.would_change + " changes in " + body.steps + " steps; replicas wanted " + body.mean_replicas_wanted + ", used " + body.mean_replicas_used + "; agreed in " + body.agreed;
    } catch (error) { byId("replayed").textContent = error.message; }
  });
  for (const button of document.querySelectorAll("[data-range]")) button.addEventListener("click", () => setRange(button));
  byId("theme").addEventListener("click", toggleTheme);
  document.addEventListener("keydown", keys);
  let sized = 0;
  addEventListener("resize", () => { clearTimeout(sized); sized = setTimeout(drawCharts, 150); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

function setRange(button) {
  for (const own of document.querySelectorAll("[data-range]")) own.setAttribute("aria-pressed", String(own === button));
  charts.range = Number(button.dataset.range);
  loadSeries();
}

function toggleTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  redraw();
}

function redraw() { drawCharts(); if (page.run) { drawGraph(page.run.graph); drawStrips(page.run.replicas); } }

function keys(event) {
  if (event.target.closest("input, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  const ranges = [...document.querySelectorAll("[data-range]")];
  if (/^[1-4]$/.test(event.key)) setRange(ranges[Number(event.key) - 1]);
  else if (event.key === "d") byId("decisions").focus();
  else if (event.key === "t") toggleTheme();
  else if (event.key === "?") showKeys();
}

function showKeys() {
  byId("dialog-title").textContent = "Keys";
  const known = [["1 to 4", "2 minutes, 15 minutes, 3 hours, all"], ["d", "to the decisions"], ["t", "light or dark"], ["Tab, Enter", "to an operator or decision, and open it"], ["Escape", "closes this"]];
  fill(byId("dialog-body"), make("table", { "aria-label": "Keys" }, make("tbody", {}, known.map(([key, what]) => make("tr", {}, make("th", { scope: "row" }, key), make("td", {}, what))))));
  byId("dialog").showModal();
}

async function loadAll() {
  showRun(await fetched("/api/run"));
  await Promise.all([loadDecisions(), loadSeries(), loadLetters()]);
  page.seriesAt = Date.now();
}

function follow() {
  const source = new EventSource("/api/events");
  let was = false;
  source.addEventListener("open", () => { byId("connection").textContent = "live"; if (was) loadAll(); was = true; });
  source.addEventListener("error", () => { byId("connection").textContent = "reconnecting …"; });
  source.addEventListener("run", (event) => {
    const letters = page.run ? page.run.dead_letters : 0;
    const body = JSON.parse(event.data);
    showRun(body);
    if (body.dead_letters !== letters) loadLetters();
  });
  source.addEventListener("observation", (event) => {
    if (!addPoints(JSON.parse(event.data).columns) && Date.now() - page.seriesAt > 5000) { page.seriesAt = Date.now(); loadSeries(); }
  });
  source.addEventListener("decision", (event) => { keepDecision(JSON.parse(event.data)); showDecisions(); });
}

wire();
if (recorded) { byId("connection").textContent = "report"; document.documentElement.classList.add("report"); }
loadAll().catch((error) => { console.error(error); byId("connection").textContent = String(error.message); }).finally(() => { if (!recorded) follow(); });
