"use strict";
// Small things that the other files share. Text from data only ever becomes a text node.
const byId = (id) => document.getElementById(id);

function make(name, attributes, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "title", "tspan"].includes(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function fill(parent, ...children) { parent.replaceChildren(...children.flat()); }

function count(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return (value / 1e9).toFixed(2) + " G";
  if (size >= 1e6) return (value / 1e6).toFixed(2) + " M";
  if (size >= 1e4) return (value / 1e3).toFixed(1) + " k";
  if (size >= 100 || Number.isInteger(value)) return String(Math.round(value));
  return value.toPrecision(3);
}

function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) { value /= 1000; place += 1; }
  return (place ? value.toFixed(1) : String(value)) + " " + units[place];
}

function seconds(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) < 1) return value ? Math.round(value * 1000) + " ms" : "0 s";
  return value < 120 ? value.toFixed(1) + " s" : Math.round(value / 60) + " min";
}

function percent(value) {
  return value === null || value === undefined || !Number.isFinite(value) ? "–" : Math.round(value * 100) + " %";
}

function clock(at) {
  if (!at) return "";
  const day = new Date(at * 1000);
  const time = day.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  return Date.now() - day.getTime() > 86400000 ? day.toLocaleDateString() + " " + time : time;
}

// Of an axis, whose day the table of decisions has.
function hour(at) { return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }); }

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

// A report has all of its data in itself, and asks nobody.
const recorded = byId("recorded") ? JSON.parse(byId("recorded").textContent) : null;

async function fetched(path) {
  if (recorded) {
    const step = /^\/api\/decisions\/(\d+)$/.exec(path);
    return step ? recorded.opened[step[1]] : recorded[path.split("?")[0]];
  }
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(path + ": " + answer.status);
  return answer.json();
}
