// The page of `tla explore`. What comes from the server is shown as text alone: textContent, or drawn on the canvas.
"use strict";

const at = id => document.getElementById(id);
const EXAMPLES = [
  "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))",
  "A = (_8,_12):(_12,_1); zipped_divide(A, (_4, _3))",
  "A = (_24):(_3); B = (_2,_2):(_1,_6); logical_divide(A, B)",
  "composition((6,2):(8,2), (4,3):(3,1))",
  "block = (_2,_5):(_5,_1); blocked_product(block, (_3,_4):(_1,_3))",
  "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
  "A = MakeLayout[half, zN](100, 60); GetTileLayout(A, (32, 32), (16, 16))",
  "bf16[20,250]{1,0:T(8,128)(2,1)}",
  "relayout(f32[16,32]{1,0:T(8,16)}, f32[16,32]{0,1})",
  "MakeLayout[half, zN](M, N)",
];
const COLOURS = ["tile", "offset", "bank", "thread", "lane", "sublane", "packing", "none"];

/** An element with a text and children. */
function made(tag, text = "", ...children) {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}

function show(id, visible) { at(id).hidden = !visible; }

/** Fill a dl with pairs of a name and a text. */
function pairs(element, entries) {
  element.replaceChildren(...entries.flatMap(([name, text]) => [made("dt", name), made("dd", text)]));
  return element;
}

function chosen(select, texts) { select.append(...texts.map(t => new Option(t, t))); }

// ------------------------------------------------------------------------------------------------ asking

let answer = null, question = 0, answered = 0, stop = new AbortController();

/** Whether all that was typed is answered. */
const settled = () => answered === question && !timer;

async function asked(path, signal) {
  const bits = Number(at("bits").value) || null;
  const body = JSON.stringify({ text: at("text").value, color_by: at("colours").value, bits });
  const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
  if (!reply.ok) throw new Error(`the server answers ${reply.status}`);
  return reply.json();
}

/** Ask for what the text says, and show it, unless another question has been asked since. */
async function ask() {
  const mine = ++question;
  stop.abort();
  stop = new AbortController();
  if (!at("text").value.trim()) return shown({});
  const slow = setTimeout(() => { at("busy").textContent = "working …"; }, 300);
  let found;
  try {
    found = await asked("/answer", stop.signal);
  } catch (error) {
    if (mine !== question) return;
    const fix = "see whether tla explore is still running in its terminal";
    found = { error: { what: `no answer: ${error.message}`, expected: "", fix, position: null } };
  } finally {
    clearTimeout(slow);
  }
  if (mine !== question) return;
  at("busy").textContent = "";
  shown(found);
}

function shown(found) {
  answer = found;
  answered = question;
  show("error", found.error);
  document.body.classList.toggle("stale", Boolean(found.error));
  at("text").setAttribute("aria-invalid", Boolean(found.error));
  if (found.error) return refused(found.error);   // what was there stays, for comparison
  for (const id of ["result", "codes"]) show(id, found.value !== undefined);
  at("value").textContent = found.value ?? "";
  at("bits").placeholder = found.bits ?? "";
  pairs(at("names"), found.names ?? []);
  at("facts").replaceChildren(...(found.facts ?? []).map(([title, facts]) =>
    made("div", "", ...(found.facts.length > 1 ? [made("h3", title)] : []), pairs(Object.assign(made("dl"), { className: "pairs" }), facts))));
  sizesOf(found.sizes ?? []);
  at("assumed").textContent = found.assumed?.length ? `Assumed: ${found.assumed.join(", ")}.` : "";
  drawing(found);
  walk(found.steps ?? []);
  code(found.code ?? {});
}

function refused({ what, expected, fix, position }) {
  const lines = [made("p", what)];
  if (position !== null) {
    const text = at("text").value, start = text.lastIndexOf("\n", position - 1) + 1;
    const line = text.slice(start).split("\n")[0], from = Math.max(0, position - start - 50);
    lines.push(made("pre", `${line.slice(from, from + 100)}\n${" ".repeat(position - start - from)}^`));
  }
  if (expected) lines.push(made("p", `expected: ${expected}`));
  if (fix) lines.push(made("p", `fix: ${fix}`));
  at("error").replaceChildren(...lines);
}

/** A form for the sizes that the text leaves open; they are written in front of it. */
function sizesOf(names) {
  show("sizes", names.length);
  const before = Object.fromEntries([...at("sizes").querySelectorAll("input")].map(x => [x.name, x.value]));
  at("sizes").replaceChildren(made("p", "Sizes that are not known have no grid. Give them numbers to see one:"), ...names.map(name => {
    const input = Object.assign(made("input"), { name, type: "number", min: 1, required: true, value: before[name] ?? "" });
    return made("label", `${name} `, input);
  }), Object.assign(made("button", "Draw"), { type: "submit" }));
}

// ------------------------------------------------------------------------------------------------ the text, and history

let draft = false, timer = 0;

function address() {
  const colours = at("colours").value, bits = at("bits").value;
  return "#" + new URLSearchParams({ e: at("text").value, ...(colours === "tile" ? {} : { colours }), ...(bits ? { bits } : {}) });
}

/** Note the text in the address. While it is typed one entry of the history changes; `keep` begins the next. */
function note(keep) {
  if (address() !== location.hash) history[draft ? "replaceState" : "pushState"](null, "", address());
  draft = !keep;
}

function changed(keep) {
  clearTimeout(timer);
  timer = setTimeout(() => { timer = 0; note(keep); ask(); }, keep ? 0 : 200);
}

function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  at("text").value = given.get("e") ?? "";
  at("colours").value = COLOURS.includes(given.get("colours")) ? given.get("colours") : "tile";
  at("bits").value = /^[1-9]\d{0,4}$/.test(given.get("bits")) ? given.get("bits") : "";
  draft = false;
  clearTimeout(timer);
  timer = 0;
  ask();
}

/** Change the number at the caret; false where there is none. */
function stepNumber(up, twice) {
  const box = at("text"), { value, selectionStart: caret, selectionEnd: end } = box;
  for (const found of value.matchAll(/\d+/g)) {
    const start = found.index, stop = start + found[0].length;
    if (caret < start || end > stop || /[A-Za-z]/.test(value[start - 1] ?? "")) continue;
    const n = BigInt(found[0]), next = twice ? (up ? n * 2n : n / 2n) : up ? n + 1n : n - 1n;
    if (next < 0n) return true;
    box.setRangeText(String(next), start, stop, "select");
    changed(false);
    return true;
  }
  return false;
}

// ------------------------------------------------------------------------------------------------ the grid

const HEIGHT = 24, STROKES = [0.5, 1.2, 2.2, 3.2, 4.2], LINE = "#767676";
let sheet = null, cursor = null;   // what is on the canvas; the cell that is looked at, [row, column]

function drawing(found) {
  const choices = (found.figures ?? []).flatMap((figure, f) => figure.grids.map((grid, g) => ({ figure, grid, key: `${f},${g}` })));
  show("drawing", choices.length);
  show("grid-choice", choices.length > 1);
  const before = at("grids").value;
  at("grids").replaceChildren(...choices.map(({ figure, grid, key }) => new Option(`${figure.title} ${grid.title}`, key)));
  if (choices.some(c => c.key === before)) at("grids").value = before;
  at("legend").replaceChildren(found.caption ?? "", ...(found.legend ?? []).flatMap(([fill, name]) => {
    const swatch = Object.assign(made("span"), { className: "swatch" });
    swatch.style.background = fill;
    return [swatch, name];
  }));
  if (choices.length) take(); else sheet = null;
}

/** Take the grid that is chosen to the canvas. */
function take() {
  const [f, g] = at("grids").value.split(",").map(Number), figure = answer.figures[f], grid = figure.grids[g];
  const pen = at("canvas").getContext("2d");
  pen.font = font(13);
  const widest = (texts, least) => texts.reduce((n, t) => Math.max(n, t.length), 0) * pen.measureText("0").width + least;
  const width = Math.ceil(Math.max(28, widest(grid.texts, 10), widest(grid.columns.labels, 8)));
  const left = Math.ceil(widest(grid.rows.labels, 10)), top = HEIGHT;
  const rows = grid.texts.length ? grid.rows.labels.length : 0, columns = grid.columns.labels.length;
  const highest = Math.max(0, ...grid.rows.borders.slice(1), ...grid.columns.borders.slice(1));
  const beside = answer.figures.filter(x => x !== figure && `${x.axes};${x.extents}` === `${figure.axes};${figure.extents}`)
    .map(x => ({ title: x.title, texts: x.grids[g].texts }));   // the same coordinates in other layouts
  sheet = { figure, grid, width, left, top, rows, columns, highest, beside };
  at("notes").textContent = [...figure.notes, ...(rows && columns ? [] : ["(no elements)"])].join("; ");
  at("grid").setAttribute("aria-label", `${figure.title} ${grid.title}, ${rows} by ${columns}`);
  at("space").style.width = `${left + columns * width + 4}px`;
  at("space").style.height = `${top + rows * HEIGHT + 4}px`;
  if (cursor && (cursor[0] >= rows || cursor[1] >= columns)) cursor = null;
  sized();
  details();
}

const font = size => `${size}px ui-monospace, monospace`;

/** Fit the canvas to what is seen of the grid; it scrolls below the canvas, which is painted anew. */
function sized() {
  if (!sheet) return;
  const box = at("grid"), canvas = at("canvas"), scale = devicePixelRatio || 1;
  canvas.style.width = canvas.style.height = "0";   // so that the old one has no scroll bars
  const full = [sheet.left + sheet.columns * sheet.width + 4, sheet.top + sheet.rows * HEIGHT + 4];
  const room = [box.parentElement.clientWidth - 2, Math.max(120, innerHeight * 0.7 - 2)];
  const bar = full[0] > room[0] || full[1] > room[1] ? 18 : 0;
  box.style.width = `${Math.min(full[0] + bar, room[0]) + 2}px`;
  box.style.height = `${Math.min(full[1] + bar, room[1]) + 2}px`;
  const seen = [Math.min(full[0], box.clientWidth), Math.min(full[1], box.clientHeight)];
  canvas.style.width = `${seen[0]}px`;
  canvas.style.height = `${seen[1]}px`;
  [canvas.width, canvas.height] = seen.map(n => Math.ceil(n * scale));
  paint();
}

function paint() {
  if (!sheet) return;
  const { figure, grid, width, left, top, rows, columns, highest } = sheet;
  const canvas = at("canvas"), pen = canvas.getContext("2d"), scale = devicePixelRatio || 1, box = at("grid");
  const css = getComputedStyle(document.documentElement), color = name => css.getPropertyValue(`--${name}`).trim();
  const w = canvas.width / scale, h = canvas.height / scale;
  const [x0, y0] = spot(-0.5, -0.5), x = c => x0 + c * width, y = r => y0 + r * HEIGHT;
  const first = [Math.max(0, Math.floor(box.scrollTop / HEIGHT)), Math.max(0, Math.floor(box.scrollLeft / width))];
  const last = [Math.min(rows, Math.ceil((box.scrollTop + h - top) / HEIGHT)), Math.min(columns, Math.ceil((box.scrollLeft + w - left) / width))];
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.fillStyle = color("paper");
  pen.fillRect(0, 0, w, h);
  pen.save();
  pen.beginPath();
  pen.rect(left - 2, top - 2, w, h);
  pen.clip();
  pen.fillStyle = "#fff";   // cells are on white, in the dark too: their colours are light
  pen.fillRect(x(0), y(0), columns * width, rows * HEIGHT);
  pen.font = font(13);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let r = first[0]; r < last[0]; r++) {
    for (let c = first[1]; c < last[1]; c++) {
      const k = r * columns + c, n = grid.fills[k], [fill, ink] = figure.palette[Math.max(n, 0)];
      if (n < 0) hatch(pen, x(c), y(r), width);
      if (n > 0) { pen.fillStyle = fill; pen.fillRect(x(c), y(r), width, HEIGHT); }
      pen.fillStyle = ink;
      if (n >= 0) pen.fillText(grid.texts[k], x(c) + width / 2, y(r) + HEIGHT / 2 + 1);
    }
  }
  const line = (level, x1, y1, x2, y2) => {
    pen.strokeStyle = level ? "#000" : LINE;
    pen.lineWidth = STROKES[Math.min(level, STROKES.length - 1)];
    pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
  };
  const level = (borders, k, count) => k === 0 || k === count ? highest + 1 : borders[k];
  for (let r = first[0]; r <= last[0]; r++) line(level(grid.rows.borders, r, rows), x(first[1]), y(r), x(last[1]), y(r));
  for (let c = first[1]; c <= last[1]; c++) line(level(grid.columns.borders, c, columns), x(c), y(first[0]), x(c), y(last[0]));
  if (cursor) {
    pen.strokeStyle = "#c01c5c";
    pen.lineWidth = 3;
    pen.strokeRect(x(cursor[1]) + 1.5, y(cursor[0]) + 1.5, width - 3, HEIGHT - 3);
  }
  pen.restore();
  pen.font = font(11);
  pen.textBaseline = "middle";
  pen.fillStyle = color("faint");
  pen.save();
  pen.beginPath(); pen.rect(left, 0, w, top); pen.clip();
  pen.textAlign = "center";
  for (let c = first[1]; c < last[1]; c++) pen.fillText(grid.columns.labels[c], x(c) + width / 2, top / 2);
  pen.restore();
  pen.save();
  pen.beginPath(); pen.rect(0, top, left, h); pen.clip();
  pen.textAlign = "right";
  for (let r = first[0]; r < last[0]; r++) pen.fillText(grid.rows.labels[r], left - 6, y(r) + HEIGHT / 2);
  pen.restore();
}

function hatch(pen, x, y, width) {
  pen.save();
  pen.beginPath(); pen.rect(x, y, width, HEIGHT); pen.clip();
  pen.strokeStyle = LINE;
  pen.lineWidth = 0.8;
  pen.beginPath();
  for (let s = 6; s < width + HEIGHT; s += 6) { pen.moveTo(x + s, y); pen.lineTo(x + s - HEIGHT, y + HEIGHT); }
  pen.stroke();
  pen.restore();
}

/** What the cell at the cursor is, in every view. */
function details() {
  if (!sheet || !cursor) return pairs(at("cell"), [["cell", "point at one, or go to it with the arrows"]]);
  const { figure, grid, columns, beside } = sheet, [row, column] = cursor, k = row * columns + column;
  const coord = figure.modes.map((_, m) => m === figure.axes[0] ? row : m === figure.axes[1] ? column : Number(grid.at[m]));
  let index = 0n, place = 1n;
  figure.extents.forEach((n, m) => { index += BigInt(coord[m]) * place; place *= BigInt(n); });
  const list = texts => `(${texts.join(",")})`, digits = figure.modes.map((mode, m) => mode.digits[coord[m]]);
  pairs(at("cell"), [
    ["coordinate", list(coord)],
    ["natural", list(figure.modes.map((mode, m) => mode.natural[coord[m]]))],
    ["index", String(index)],
    ["offset", grid.texts[k] + (grid.fills[k] < 0 ? ", padding" : "")],
    ...beside.map(x => ["beside", `${x.texts[k]} in ${x.title}`]),
    ...digits.flatMap((text, m) => text ? [[`mode ${m}`, text]] : []),
  ]);
}

function look(row, column, scroll) {
  if (!sheet || !sheet.rows || !sheet.columns) return;
  cursor = [Math.min(Math.max(row, 0), sheet.rows - 1), Math.min(Math.max(column, 0), sheet.columns - 1)];
  const box = at("grid"), x = cursor[1] * sheet.width, y = cursor[0] * HEIGHT;
  if (scroll) {
    const w = box.clientWidth - sheet.left, h = box.clientHeight - sheet.top;
    box.scrollLeft = Math.min(x, Math.max(box.scrollLeft, x + sheet.width + 4 - w));
    box.scrollTop = Math.min(y, Math.max(box.scrollTop, y + HEIGHT + 4 - h));
  }
  details();
  requestAnimationFrame(paint);
}

/** Where the middle of a cell is on the canvas. */
function spot(row, column) {
  const { left, top, width } = sheet, box = at("grid");
  return [left + (column + 0.5) * width - box.scrollLeft, top + (row + 0.5) * HEIGHT - box.scrollTop];
}

function pointed(event) {
  if (!sheet) return;
  const box = at("canvas").getBoundingClientRect(), x = event.clientX - box.left - sheet.left, y = event.clientY - box.top - sheet.top;
  if (x < 0 || y < 0) return;
  const row = Math.floor((y + at("grid").scrollTop) / HEIGHT), column = Math.floor((x + at("grid").scrollLeft) / sheet.width);
  if (row < sheet.rows && column < sheet.columns && (!cursor || row !== cursor[0] || column !== cursor[1])) look(row, column, false);
}

function moved(event) {
  const [row, column] = cursor ?? [0, 0], page = Math.max(1, Math.floor(at("grid").clientHeight / HEIGHT) - 2), all = event.ctrlKey;
  const moves = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    PageUp: [row - page, column], PageDown: [row + page, column], Home: [all ? 0 : row, 0], End: [all ? Infinity : row, Infinity],
  };
  if (!moves[event.key] || !sheet) return;
  event.preventDefault();
  look(...(cursor ? moves[event.key] : [0, 0]), true);
}

// ------------------------------------------------------------------------------------------------ steps, code

let walked = [], place = 0;

function walk(steps) {
  place = steps.length === walked.length ? Math.min(place, steps.length - 1) : 0;
  walked = steps;
  show("walk", steps.length);
  if (steps.length) stepped(place < 0 ? 0 : place);
}

function stepped(n) {
  place = n;
  const { text, depth, why, before, after, modes, svg } = walked[n];
  at("place").textContent = `${n + 1} of ${walked.length}${depth ? ", from the law of what follows" : ""}`;
  at("back").setAttribute("aria-disabled", n === 0);
  at("on").setAttribute("aria-disabled", n === walked.length - 1);
  const parts = [made("h3", text), Object.assign(made("p", why), { className: "why" })];
  parts.push(pairs(Object.assign(made("dl"), { className: "pairs" }), [...before.map((t, k) => [k ? "" : "of", t]), ["gives", after]]));
  if (modes.length) {
    const row = (tag, texts) => made("tr", "", ...texts.map(t => made(tag, String(t))));
    parts.push(made("table", "", row("th", ["mode", "before", "after"]), ...modes.map((m, k) => row("td", [k, ...m]))));
  }
  if (svg) parts.push(Object.assign(made("img"), { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt: `grid of ${after}` }));
  at("step").replaceChildren(...parts);
}

function code(codes) {
  at("code").replaceChildren(...Object.entries(codes).flatMap(([name, text]) => {
    const button = Object.assign(made("button", `Copy the ${name}`), { type: "button" });
    button.addEventListener("click", () => copy(text, `the ${name}`));
    return [made("h3", name), made("pre", text), button];
  }));
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    at("copied").textContent = `${what} is copied`;
  } catch {
    at("copied").textContent = `the browser does not let a page copy ${what}`;
  }
}

async function copySvg() {
  try {
    const found = await asked("/svg");
    if (found.error) at("copied").textContent = found.error.what; else await copy(found.svg, "the SVG");
  } catch (error) {
    at("copied").textContent = `no answer: ${error.message}`;
  }
}

// ------------------------------------------------------------------------------------------------ events

chosen(at("examples"), EXAMPLES);
chosen(at("colours"), COLOURS);
at("text").addEventListener("input", () => changed(false));
at("text").addEventListener("change", () => { draft = false; });
at("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); changed(true); }
  const up = event.key === "ArrowUp", plain = !event.shiftKey && !event.ctrlKey && !event.metaKey;
  if ((up || event.key === "ArrowDown") && plain && stepNumber(up, event.altKey)) event.preventDefault();
});
at("asked").addEventListener("submit", event => event.preventDefault());
at("examples").addEventListener("change", () => {
  if (!at("examples").value) return;
  at("text").value = at("examples").value;
  at("examples").value = "";
  draft = false;
  changed(true);
});
at("colours").addEventListener("change", () => changed(true));
at("bits").addEventListener("input", () => changed(false));
at("sizes").addEventListener("submit", event => {
  event.preventDefault();
  const given = [...at("sizes").querySelectorAll("input")].map(x => `${x.name} = ${x.value}; `);
  at("text").value = given.join("") + at("text").value;
  draft = false;
  changed(true);
});
at("grids").addEventListener("change", take);
at("grid").addEventListener("scroll", () => requestAnimationFrame(paint));
at("grid").addEventListener("keydown", moved);
at("grid").addEventListener("focus", () => { if (!cursor) look(0, 0, true); });
at("canvas").addEventListener("pointermove", pointed);
at("canvas").addEventListener("pointerdown", pointed);
at("back").addEventListener("click", () => place > 0 && stepped(place - 1));
at("on").addEventListener("click", () => place < walked.length - 1 && stepped(place + 1));
at("link").addEventListener("click", () => copy(location.href, "the link"));
at("svg").addEventListener("click", copySvg);
addEventListener("resize", () => { sized(); if (cursor) look(...cursor, true); });
addEventListener("popstate", fromAddress);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
fromAddress();
