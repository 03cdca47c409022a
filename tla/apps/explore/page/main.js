// The page of `tla explore`. What is answered is shown as text alone: textContent, or drawn on a canvas.
"use strict";

const at = id => document.getElementById(id);
//: A title and a text; the first is drawn while nothing is typed.
const EXAMPLES = [
  ["A CuTe tile", "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"],
  ["A tile of a matrix", "A = (_8,_12):(_12,_1); zipped_divide(A, (_4, _3))"],
  ["A swizzle, with its banks", "Sw<3,4,3>_smem_ptr[16b](0x0) o (_8,_64):(_64,_1)"],
  ["A composition", "composition((6,2):(8,2), (4,3):(3,1))"],
  ["A divide by a layout", "A = (_24):(_3); B = (_2,_2):(_1,_6); logical_divide(A, B)"],
  ["A product", "block = (_2,_5):(_5,_1); blocked_product(block, (_3,_4):(_1,_3))"],
  ["An Ascend fractal", "A = MakeLayout[half, zN](100, 60); GetTileLayout(A, (32, 32), (16, 16))"],
  ["A TPU tile", "bf16[20,250]{1,0:T(8,128)(2,1)}"],
  ["A layout of Triton", "tensor<32x32xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>>"],
  ["An MMA, its threads and values", "SM80_16x8x16_F32F16F16F32_TN"],
  ["A tiled copy", "make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (_16,_8):(_8,_1), (_1,_8):(_0,_1))"],
  ["A relayout of XLA", "relayout(f32[16,32]{1,0:T(8,16)}, f32[16,32]{0,1})"],
  ["Sizes that are not known", "MakeLayout[half, zN](M, N)"],
];
const COLOURS = ["auto", "tile", "offset", "bank", "ub_bank", "thread", "value", "lane", "sublane", "packing", "none"];
const ACCESSES = ["a row, an element each", "a column, an element each", "down the rows, 16 bytes of each", "along the columns, 16 bytes of each"];
const SHOWN = ["offset", "index", "coordinate"];
const ZOOM = { "50 %": 0.5, "75 %": 0.75, "100 %": 1, "150 %": 1.5, "200 %": 2 };
const MARK = "#c01c5c";

/** An element with a text and children. */
function made(tag, text = "", ...children) {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}

function classed(name, element) { element.className = name; return element; }

function show(id, visible) { at(id).hidden = !visible; }

/** Fill a dl with pairs of a name and a text. */
function pairs(element, entries) {
  element.replaceChildren(...entries.flatMap(([name, text]) => [made("dt", name), made("dd", text)]));
  return element;
}

function chosen(select, texts) { select.append(...texts.map(t => new Option(t, t))); }

// ------------------------------------------------------------------------------------------------ asking

let answer = null, question = 0, answered = 0, waits = 0, stop = new AbortController();

/** Whether all that was typed is answered. */
const settled = () => answered === question && !timer && !waits;

/** The text that is answered: while there is none, that of the first example. */
const text = () => at("text").value.trim() ? at("text").value : EXAMPLES[0][1];

async function asked(path, signal) {
  const question = { text: text(), color_by: at("colours").value, bits: Number(at("bits").value) || null, access: at("access").value };
  if (globalThis.engine) return engine(`/${path}`, question, signal);   // where there is no server
  const body = JSON.stringify(question);
  const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
  if (!reply.ok) throw new Error(`the server answers ${reply.status}`);
  return reply.json();
}

/** Ask for what the text says, and show it, unless another question has been asked since. */
async function ask(quiet) {
  const mine = ++question;
  stop.abort();
  stop = new AbortController();
  const slow = setTimeout(() => { at("busy").textContent = "working …"; }, 300);
  let found;
  try {
    found = await asked("answer", stop.signal);
  } catch (error) {
    if (mine !== question) return;
    const fix = error.fix ?? "see whether tla explore is still running in its terminal";
    found = { error: { what: `no answer: ${error.message}`, expected: "", fix, position: null } };
  } finally {
    clearTimeout(slow);
  }
  if (mine !== question) return;
  at("busy").textContent = "";
  shown(found, quiet);
  if (timer) due();
}

/** Show an answer. While one types, an error and what has no grid wait until the keys rest: they are on the way to what has one. */
function shown(found, quiet) {
  answered = question;
  clearTimeout(waits);
  const rests = quiet && !found.figures?.length;
  waits = rests ? setTimeout(() => { waits = 0; present(found); }, 600) : 0;
  if (!rests) present(found);
}

/** Put an answer on the page. Of an error it is the reason, and what was there stays, for comparison. */
function present(found) {
  if (found.error) { refused(found.error); return; }
  answer = found;
  refused(null);
  show("start", !at("text").value.trim());
  for (const id of ["result", "codes"]) show(id, found.value !== undefined);
  at("value").textContent = found.value ?? "";
  at("bits").placeholder = found.width?.bits ?? "";
  accessed(found.access);
  pairs(at("names"), found.names);
  at("facts").replaceChildren(...found.facts.map(([title, facts]) =>
    made("div", "", ...(found.facts.length > 1 ? [made("h3", title)] : []), pairs(classed("pairs", made("dl")), facts))));
  sizesOf(found.sizes);
  at("assumed").textContent = found.assumed.length ? `Assumed: ${found.assumed.join(", ")}.` : "";
  for (const option of at("colours").options) option.disabled = option.value !== "auto" && !found.rules.includes(option.value);
  for (const id of ["colours", "shown", "zoom", "bits"]) at(id).disabled = !found.figures.length;
  at("access").disabled = !found.figures.length || found.figures[0].grids.some(g => g.threads);
  drawing(found);
  outline(found.steps);
  codes = null;
  if (at("code").dataset.open) code();
}

/** What the count of an access says; what collides in it is marked in the grid. */
function accessed(found) {
  show("accessed", found);
  if (!found) return;
  at("accessed").classList.toggle("clash", found.degree !== 1);
  at("accessed").replaceChildren(made("p", found.text), made("p", found.width), classed("why", made("p", found.fix)));
}

function refused(error) {
  show("error", error);
  show("keys", !error);
  document.body.classList.toggle("stale", Boolean(error));
  at("text").setAttribute("aria-invalid", Boolean(error));
  if (error) at("below").tabIndex = 0; else at("below").removeAttribute("tabindex");   // what scrolls is reached by keys
  if (!error) return;
  const { what, expected, fix, position } = error, lines = [classed("what", made("p", what))];
  if (position !== null) {
    const value = at("text").value, start = value.lastIndexOf("\n", position - 1) + 1;
    const line = value.slice(start).split("\n")[0], from = Math.max(0, position - start - 50);
    lines.push(made("pre", `${line.slice(from, from + 100)}\n${" ".repeat(position - start - from)}^`));
  }
  const advice = Object.entries({ expected, fix }).filter(([, text]) => text);
  at("error").replaceChildren(...lines, classed("advice", made("div", "", ...advice.map(([name, text]) => made("p", `${name}: ${text}`)))));
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

let draft = false, timer = 0, due = null;   // a change that waits for an answer, and what asks for it
//: What the address holds besides the text, and the value that it need not hold.
const KEPT = { colours: "auto", shown: "offset", zoom: "100 %", bits: "", access: "" };

function address() {
  const kept = Object.entries(KEPT).filter(([id, usual]) => at(id).value !== usual).map(([id]) => [id, at(id).value]);
  return "#" + new URLSearchParams({ e: at("text").value, ...Object.fromEntries(kept) });
}

/** Note the text in the address. While it is typed one entry of the history changes; `keep` begins the next. */
function note(keep) {
  if (address() !== location.hash) history[draft ? "replaceState" : "pushState"](null, "", address());
  draft = !keep;
}

/** Ask again, at once if nothing is being answered; else when it is, or soon. */
function changed(keep) {
  clearTimeout(timer);
  clearTimeout(waits);
  waits = 0;
  due = () => { clearTimeout(timer); timer = 0; note(keep); ask(!keep); };
  timer = setTimeout(due, keep || answered === question ? 0 : 200);
}

function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  at("text").value = given.get("e") ?? "";
  for (const [id, usual] of Object.entries(KEPT)) {
    const value = given.get(id);
    const known = id === "bits" ? /^[1-9]\d{0,4}$/.test(value) : id === "access" ? value : [...at(id).options].some(o => o.value === value);
    at(id).value = known ? value : usual;
  }
  draft = false;
  clearTimeout(timer);
  timer = 0;
  ask();
}

/** Take a text in place of what is there. */
function take(given) {
  at("text").value = given;
  draft = false;
  changed(true);
}

/** Change the number at the caret; false where there is none. */
function stepNumber(up, twice) {
  const box = at("text"), { value, selectionStart: caret, selectionEnd: end } = box;
  for (const found of value.matchAll(/\d+/g)) {
    const start = found.index, stop = start + found[0].length;
    if (caret < start || end > stop || /[A-Za-z]/.test(value[start - 1] ?? "")) continue;
    const n = BigInt(found[0]), next = String(twice ? (up ? n * 2n : n / 2n) : up ? n + 1n : n - 1n);
    if (next.startsWith("-")) return true;
    box.setSelectionRange(start, stop);
    document.execCommand("insertText", false, next);   // as if it were typed: Ctrl+Z takes it back
    box.setSelectionRange(start, start + next.length);
    return true;
  }
  return false;
}

// ------------------------------------------------------------------------------------------------ grids

const STROKES = [0.5, 1.2, 2.2, 3.2, 4.2], LINE = "#444444";
let sheets = [], cursor = null;   // the figures on the page; the cell that is looked at: { sheet, row, column }

/** A figure on the page: a canvas over what is seen of a grid, which scrolls below it. */
class Sheet {
  constructor(figure, k) {
    this.figure = figure;
    this.choice = made("select");
    this.choice.append(...figure.grids.map((grid, g) => new Option(grid.title, g)));
    this.choice.setAttribute("aria-label", "the index of the other modes");
    this.canvas = made("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.space = classed("space", made("div"));
    this.box = classed("grid", made("div", "", this.space, this.canvas));
    Object.assign(this.box, { tabIndex: 0 });
    for (const [name, value] of Object.entries({ role: "application", "aria-roledescription": "grid of offsets", "aria-describedby": "cell grid-keys" }))
      this.box.setAttribute(name, value);
    const title = figure.name ? `${figure.name} = ${figure.title}` : figure.title;
    const caption = made("figcaption", `${title} `, ...(figure.grids.length > 1 ? [this.choice] : []));
    this.notes = classed("notes", made("p"));
    this.root = made("figure", "", caption, this.box, this.notes);
    if (!k) { this.box.id = "grid"; this.canvas.id = "canvas"; this.choice.id = "grids"; this.notes.id = "notes"; }
    this.choice.addEventListener("change", () => { cursor = null; this.turn(Number(this.choice.value)); details(); });
    this.box.addEventListener("scroll", () => this.soon());
    this.box.addEventListener("keydown", event => moved(this, event));
    this.box.addEventListener("focus", () => { if (!cursor || cursor.sheet !== this) look(this, 0, 0, true); });
    for (const kind of ["pointermove", "pointerdown"]) this.canvas.addEventListener(kind, event => pointed(this, event));
    this.marked = new Set();
  }

  /** Take a grid of the figure to the canvas. */
  turn(g) {
    const { figure } = this, grid = figure.grids[g], zoom = ZOOM[at("zoom").value];
    this.g = g;
    this.grid = grid;
    this.size = Math.round(13 * zoom);
    this.raised = figure.palette.some(([, , mark]) => mark) ? Math.round(7 * zoom) : 0;   // room for the numbers of colours
    this.height = Math.round(24 * zoom) + this.raised;
    this.values = grid.values ??= unpacked(grid.texts);
    this.rows = this.values.length ? grid.rows.labels.length : 0;
    this.columns = grid.columns.labels.length;
    this.highest = Math.max(0, ...grid.rows.borders.slice(1), ...grid.columns.borders.slice(1));
    const pen = this.canvas.getContext("2d");
    pen.font = font(this.size);
    const widest = (texts, least) => longest(texts) * pen.measureText("0").width + least;
    this.width = Math.ceil(Math.max(28 * zoom, widest(this.widest(), 10), widest(grid.columns.labels, 8)));
    this.left = Math.ceil(widest(grid.rows.labels, 10));
    this.top = Math.round(24 * zoom);
    this.notes.textContent = [...figure.notes, ...(this.rows && this.columns ? [] : ["(no elements)"])].join("; ");
    this.box.setAttribute("aria-label", `${figure.title} ${grid.title}, ${this.rows} by ${this.columns}`);
    this.space.style.width = `${this.left + this.columns * this.width + 4}px`;
    this.space.style.height = `${this.top + this.rows * this.height + 4}px`;
    this.fit();
  }

  /** The most that is seen of a grid, wide and high. Of several grids two that do not fit stand beside each other, on a small screen below. */
  room(full) {
    const wide = at("figures").clientWidth, high = Math.max(120, innerHeight * 0.7), half = Math.max(120, innerHeight * 0.35);
    if (sheets.length < 2 || full[0] <= wide || full[1] <= half) return [wide - 2, high - 2];
    return wide < 700 ? [wide - 2, half - 2] : [(wide - 16) / 2 - 2, high - 2];
  }

  /** Scroll so that a cell is seen. */
  reveal(row, column) {
    const { box, width, height } = this, x = column * width, y = row * height;
    box.scrollLeft = Math.min(x, Math.max(box.scrollLeft, x + width + 4 - (box.clientWidth - this.left)));
    box.scrollTop = Math.min(y, Math.max(box.scrollTop, y + height + 4 - (box.clientHeight - this.top)));
  }

  /** Fit the canvas to what is seen of the grid. */
  fit() {
    const { box, canvas } = this, scale = devicePixelRatio || 1;
    canvas.style.width = canvas.style.height = "0";   // so that the old one has no scroll bars
    const full = [this.left + this.columns * this.width + 4, this.top + this.rows * this.height + 4];
    const room = this.room(full);
    const bar = full[0] > room[0] || full[1] > room[1] ? 18 : 0;
    box.style.width = `${Math.min(full[0] + bar, room[0]) + 2}px`;
    box.style.height = `${Math.min(full[1] + bar, room[1]) + 2}px`;
    this.root.style.maxWidth = `max(20rem, ${box.style.width})`;   // a long caption has more lines
    const seen = [Math.min(full[0], box.clientWidth), Math.min(full[1], box.clientHeight)];
    canvas.style.width = `${seen[0]}px`;
    canvas.style.height = `${seen[1]}px`;
    [canvas.width, canvas.height] = seen.map(n => Math.ceil(n * scale));
    this.soon();
  }

  /** The coordinate of a cell, one number for each mode. */
  coord(k) {
    const row = Math.floor(k / this.columns), column = k % this.columns, { axes, modes } = this.figure;
    return modes.map((_, m) => m === axes[0] ? row : m === axes[1] ? column : Number(this.grid.at[m]));
  }

  index(k) {
    let index = 0n, place = 1n;
    this.coord(k).forEach((c, m) => { index += BigInt(c) * place; place *= BigInt(this.figure.extents[m]); });
    return String(index);
  }

  offset(k) { return String(this.values[k]); }

  /** The place of a cell's colour in the palette: 0 is none, and -1 is padding. */
  colour(k) { return this.grid.fills.charCodeAt(k) - 49; }

  /** What a cell shows. */
  text(k) {
    const shown = at("shown").value;
    return shown === "offset" ? this.offset(k) : shown === "index" ? this.index(k) : `(${this.coord(k).join(",")})`;
  }

  /** Texts of cells, one of which is as long as any. */
  widest() {
    if (!this.rows || !this.columns) return [];
    if (at("shown").value !== "offset") return [this.text(this.values.length - 1)];
    if (Array.isArray(this.values)) return this.values;
    let low = 0, high = 0;
    for (const value of this.values) if (value < low) low = value; else if (value > high) high = value;
    return [String(low), String(high)];
  }

  /** The cell of an index, where the grid that is shown has it; -1 elsewhere. */
  cellOf(index) {
    let rest = BigInt(index);
    const { axes, extents } = this.figure, coord = extents.map(n => { const c = rest % BigInt(n); rest /= BigInt(n); return Number(c); });
    const here = coord.every((c, m) => axes.includes(m) || c === Number(this.grid.at[m])), row = axes[0] < 0 ? 0 : coord[axes[0]];
    const column = coord[axes[1]] ?? 0;
    return rest === 0n && here && row < this.rows && column < this.columns ? row * this.columns + column : -1;
  }

  /** The cells that have one of some offsets. */
  cellsAt(offsets) {
    const wanted = new Set(Array.isArray(this.values) ? offsets : offsets.map(Number)), found = [];
    this.values.forEach((value, k) => { if (wanted.has(value)) found.push(k); });
    return found;
  }

  /** Where the middle of a cell is on the canvas. */
  spot(row, column) {
    return [this.left + (column + 0.5) * this.width - this.box.scrollLeft, this.top + (row + 0.5) * this.height - this.box.scrollTop];
  }

  /** Paint in the next frame, once. */
  soon() { this.frame ??= requestAnimationFrame(() => { this.frame = null; this.paint(); }); }

  paint() {
    const { figure, grid, width, height, left, top, rows, columns, highest, canvas, box } = this;
    const pen = canvas.getContext("2d"), scale = devicePixelRatio || 1;
    const css = getComputedStyle(document.documentElement), color = name => css.getPropertyValue(`--${name}`).trim();
    const w = canvas.width / scale, h = canvas.height / scale;
    const [x0, y0] = this.spot(-0.5, -0.5), x = c => x0 + c * width, y = r => y0 + r * height;
    const first = [Math.max(0, Math.floor(box.scrollTop / height)), Math.max(0, Math.floor(box.scrollLeft / width))];
    const last = [Math.min(rows, Math.ceil((box.scrollTop + h - top) / height)), Math.min(columns, Math.ceil((box.scrollLeft + w - left) / width))];
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = color("paper");
    pen.fillRect(0, 0, w, h);
    pen.save();
    pen.beginPath();
    pen.rect(left - 2, top - 2, w, h);
    pen.clip();
    pen.fillStyle = "#fff";   // cells are on white, in the dark too: their colours are light
    pen.fillRect(x(0), y(0), columns * width, rows * height);
    pen.font = font(this.size);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let r = first[0]; r < last[0]; r++) {
      for (let c = first[1]; c < last[1]; c++) {
        const k = r * columns + c, n = this.colour(k), [fill, ink] = figure.palette[Math.max(n, 0)];
        if (n < 0) hatch(pen, x(c), y(r), width, height);
        if (n > 0) { pen.fillStyle = fill; pen.fillRect(x(c), y(r), width, height); }
        pen.fillStyle = ink;
        if (n >= 0) pen.fillText(this.text(k), x(c) + width / 2, y(r) + (height + this.raised) / 2 + 1);
      }
    }
    if (this.raised) {
      pen.font = font(Math.max(7, this.size - 5));
      pen.textAlign = "right";
      for (let r = first[0]; r < last[0]; r++) {
        for (let c = first[1]; c < last[1]; c++) {
          const n = this.colour(r * columns + c), [, ink, mark] = figure.palette[Math.max(n, 0)];
          pen.fillStyle = ink;
          if (n > 0) pen.fillText(mark, x(c + 1) - 3, y(r) + this.raised);
        }
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
    pen.strokeStyle = MARK;
    pen.lineWidth = 3;
    for (const k of this.marked)
      pen.strokeRect(x(k % columns) + 1.5, y(Math.floor(k / columns)) + 1.5, width - 3, height - 3);
    pen.restore();
    pen.font = font(Math.max(8, this.size - 2));
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
    for (let r = first[0]; r < last[0]; r++) pen.fillText(grid.rows.labels[r], left - 6, y(r) + height / 2);
    pen.restore();
  }
}

/** What stands in the cells: offsets of 32 bits come as base64 of these, little-endian; all else as texts. */
function unpacked(texts) {
  if (typeof texts !== "string") return texts;
  const bytes = atob(texts), found = new Uint8Array(bytes.length);
  for (let k = 0; k < bytes.length; k++) found[k] = bytes.charCodeAt(k);
  return new Int32Array(found.buffer);
}

const longest = texts => texts.reduce((n, t) => Math.max(n, t.length), 0);

const font = size => `${size}px ui-monospace, monospace`;

function hatch(pen, x, y, width, height) {
  pen.save();
  pen.beginPath(); pen.rect(x, y, width, height); pen.clip();
  pen.strokeStyle = LINE;
  pen.lineWidth = 0.8;
  pen.beginPath();
  for (let s = 6; s < width + height; s += 6) { pen.moveTo(x + s, y); pen.lineTo(x + s - height, y + height); }
  pen.stroke();
  pen.restore();
}

/** The figures of an answer on the page; a cursor stays where it was, if there is such a cell. */
function drawing(found) {
  const before = cursor && { k: sheets.indexOf(cursor.sheet), row: cursor.row, column: cursor.column }, turned = sheets.map(s => s.g);
  for (const id of ["drawing", "cell"]) show(id, found.figures.length);
  sheets = found.figures.map((figure, k) => new Sheet(figure, k));
  at("figures").replaceChildren(...sheets.map(s => s.root));
  sheets.forEach((s, k) => { const g = Math.min(turned[k] ?? 0, s.figure.grids.length - 1); s.choice.value = g; s.turn(g); });
  at("legend").replaceChildren(found.caption ?? "", ...found.legend.flatMap(([fill, name]) => {
    const swatch = classed("swatch", made("span"));
    swatch.style.background = fill;
    return [classed("key", made("span", "", swatch, name)), " "];
  }));
  cursor = null;
  const sheet = before && sheets[before.k];
  if (sheet && before.row < sheet.rows && before.column < sheet.columns) look(sheet, before.row, before.column, false); else details();
}

/** The cells that belong to one cell: in figures of its domain by the index, in those of its memory by the offset, and on from these. */
function together(sheet, k) {
  if (sheet.grid.threads) return ofThread(sheet, k);
  const indices = { [sheet.figure.domain]: sheet.index(k) }, offsets = { [sheet.figure.memory]: sheet.offset(k) };
  const value = name => indices[name] ?? offsets[name], cells = new Map([[sheet, [k]]]);
  for (let again = true; again;) {
    again = false;
    for (const s of sheets) {
      if (cells.has(s)) continue;
      const index = value(s.figure.domain), offset = value(s.figure.memory);
      const found = index !== undefined ? [s.cellOf(index)].filter(k => k >= 0) : offset !== undefined ? s.cellsAt([offset]) : null;
      if (!found) continue;
      cells.set(s, found);
      if (found.length === 1) {
        indices[s.figure.domain] ??= s.index(found[0]);
        offsets[s.figure.memory] ??= s.offset(found[0]);
        again = true;
      }
    }
  }
  return cells;
}

/** All that the thread of a cell holds, in every figure. */
function ofThread(sheet, k) {
  const thread = sheet.grid.threads[k], cells = new Map([[sheet, [k]]]);
  if (thread) for (const s of sheets) cells.set(s, s.grid.threads.flatMap((t, n) => t === thread ? [n] : []));
  return cells;
}

/** What the cell at the cursor is, in every figure. */
function details() {
  for (const s of sheets) s.marked.clear();
  const clash = answer?.collision;
  if (!cursor && clash && sheets.length) for (const index of clash.indices) sheets[0].marked.add(sheets[0].cellOf(String(index)));
  if (!cursor && answer?.access) for (const k of sheets[0].cellsAt(answer.access.offsets)) sheets[0].marked.add(k);
  if (!cursor) {
    const twice = clash ? [["not injective", `indices ${clash.indices.join(" and ")} are both at offset ${clash.offset}: they are marked`]] : [];
    pairs(at("cell"), [["cell", "point at one, or go to it with the arrows"], ...twice]);
  } else {
    const { sheet, row, column } = cursor, k = row * sheet.columns + column, coord = sheet.coord(k), { figure, grid } = sheet;
    const list = texts => `(${texts.join(",")})`, digits = figure.modes.map((mode, m) => mode.digits[coord[m]]);
    const cells = together(sheet, k);
    for (const [s, found] of cells) {
      for (const n of found) s.marked.add(n);
      if (s !== sheet && found.length) s.reveal(Math.floor(found[0] / s.columns), found[0] % s.columns);
    }
    const others = [...cells].filter(([s, found]) => s !== sheet && found.length).map(([s, found]) => {
      const places = found.slice(0, 3).map(n => `${list(s.coord(n))} at ${s.offset(n)}`).join(", ");
      return [s.figure.name || s.figure.title, places + (found.length > 3 ? `, and ${found.length - 3} more` : "")];
    });
    const entries = grid.threads ? [
      ["coordinate", list(coord)],
      ["held by", sheet.offset(k) || "no thread"],
      ...[...cells].map(([s, found]) => [s.figure.domain || "elements", `${found.length} of thread ${grid.threads[k].slice(1)}`]).filter(() => grid.threads[k]),
    ] : [
      ["coordinate", list(coord)],
      ["natural", list(figure.modes.map((mode, m) => mode.natural[coord[m]]))],
      ["index", sheet.index(k)],
      ["offset", sheet.offset(k) + (sheet.colour(k) < 0 ? ", padding" : "")],
      ...others,
      ...digits.flatMap((text, m) => text ? [[`mode ${m}`, text]] : []),
    ];
    pairs(at("cell"), entries);
    spoken(`${list(coord)}, ${grid.threads ? entries[1].join(" ") : `offset ${entries[3][1]}`}`);
  }
  for (const s of sheets) s.soon();
}

let speaks = 0;

/** Say what a screen reader should say, when the cursor rests. */
function spoken(words) {
  clearTimeout(speaks);
  speaks = setTimeout(() => { at("spoken").textContent = words; }, 400);
}

function look(sheet, row, column, scroll) {
  if (!sheet.rows || !sheet.columns) return;
  cursor = { sheet, row: Math.min(Math.max(row, 0), sheet.rows - 1), column: Math.min(Math.max(column, 0), sheet.columns - 1) };
  if (scroll) sheet.reveal(cursor.row, cursor.column);
  details();
}

function pointed(sheet, event) {
  const box = sheet.canvas.getBoundingClientRect(), x = event.clientX - box.left - sheet.left, y = event.clientY - box.top - sheet.top;
  if (x < 0 || y < 0) return;
  const row = Math.floor((y + sheet.box.scrollTop) / sheet.height), column = Math.floor((x + sheet.box.scrollLeft) / sheet.width);
  const here = cursor && cursor.sheet === sheet && cursor.row === row && cursor.column === column;
  if (row < sheet.rows && column < sheet.columns && !here) look(sheet, row, column, false);
}

function moved(sheet, event) {
  const [row, column] = cursor && cursor.sheet === sheet ? [cursor.row, cursor.column] : [0, 0];
  const page = Math.max(1, Math.floor(sheet.box.clientHeight / sheet.height) - 2), all = event.ctrlKey;
  const moves = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    PageUp: [row - page, column], PageDown: [row + page, column], Home: [all ? 0 : row, 0], End: [all ? Infinity : row, Infinity],
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  look(sheet, ...(cursor ? moves[event.key] : [0, 0]), true);
}

// ------------------------------------------------------------------------------------------------ steps, code

/** The steps as an outline: the last operation first, and in each what its law makes it of. */
function outline(steps) {
  show("walk", steps.length);
  const open = [[]];   // of each depth what has been made, and belongs to what comes next one less deep
  for (const step of steps) {
    while (open.length <= step.depth + 1) open.push([]);
    const inner = open[step.depth + 1].splice(0);
    open[step.depth].push(stepOf(step, inner));
  }
  at("steps").replaceChildren(...open[0].reverse());
  const first = at("steps").firstElementChild;
  if (first) first.open = true;
}

function stepOf({ text, why, before, after, modes, svg }, inner) {
  const root = made("details", "", made("summary", `${text} → ${after}`));
  root.addEventListener("toggle", () => {
    if (!root.open || root.dataset.filled) return;
    root.dataset.filled = "yes";
    const parts = [classed("why", made("p", why)), pairs(classed("pairs", made("dl")), [...before.map((t, k) => [k ? "" : "of", t]), ["gives", after]])];
    if (modes.length) {
      const row = (tag, texts) => made("tr", "", ...texts.map(t => made(tag, String(t))));
      parts.push(made("table", "", row("th", ["mode", "before", "after"]), ...modes.map((m, k) => row("td", [k, ...m]))));
    }
    if (svg) parts.push(Object.assign(made("img"), { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt: `grid of ${after}` }));
    root.firstElementChild.after(...parts);
  });
  root.append(...inner);
  return root;
}

let codes = null, tab = "Python";

/** The code of what is shown, asked for when it is first looked at. */
async function code() {
  const mine = question;
  try {
    const found = await asked("code");
    if (mine !== question) return;
    codes = found.code ?? { Python: found.error.what };
  } catch (error) {
    codes = { Python: `no answer: ${error.message}` };
  }
  at("code").dataset.open = "yes";
  show("code", true);
  if (!(tab in codes)) tab = "Python";
  at("tabs").replaceChildren(...Object.keys(codes).map(name => {
    const button = Object.assign(made("button", name), { type: "button" });
    button.setAttribute("role", "tab");
    button.addEventListener("click", () => { tab = name; chosenTab(); });
    return button;
  }));
  chosenTab();
}

function chosenTab() {
  for (const button of at("tabs").children) button.setAttribute("aria-selected", button.textContent === tab);
  at("code").querySelector("pre").textContent = codes[tab];
  at("copy-code").textContent = `Copy the ${tab}`;
}

async function copy(given, what) {
  try {
    await navigator.clipboard.writeText(given);
    at("copied").textContent = `${what} is copied`;
  } catch {
    at("copied").textContent = `the browser does not let a page copy ${what}`;
  }
}

async function copySvg() {
  try {
    const found = await asked("svg");
    if (found.error) at("copied").textContent = found.error.what; else await copy(found.svg, "the SVG");
  } catch (error) {
    at("copied").textContent = `no answer: ${error.message}`;
  }
}

/** The line of a shell that opens this page. */
const command = () => `tla explore '${text().replaceAll("'", `'"'"'`)}'`;

// ------------------------------------------------------------------------------------------------ events

chosen(at("colours"), COLOURS);
chosen(at("shown"), SHOWN);
chosen(at("zoom"), Object.keys(ZOOM));
chosen(at("accesses"), ACCESSES);
at("zoom").value = "100 %";
at("cards").append(...EXAMPLES.map(([title, example]) => {
  const button = Object.assign(made("button", title, made("code", example)), { type: "button" });
  button.addEventListener("click", () => { take(example); at("text").focus(); });
  return made("li", "", button);
}));
at("text").addEventListener("input", () => changed(false));
at("text").addEventListener("change", () => { draft = false; });
at("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); changed(true); }
  const up = event.key === "ArrowUp", asked = event.altKey && !event.ctrlKey && !event.metaKey;   // plain arrows move in the text
  if ((up || event.key === "ArrowDown") && asked && stepNumber(up, event.shiftKey)) event.preventDefault();
});
at("asked").addEventListener("submit", event => event.preventDefault());
at("colours").addEventListener("change", () => changed(true));
for (const id of ["bits", "access"]) at(id).addEventListener("input", () => changed(false));
for (const id of ["shown", "zoom"]) at(id).addEventListener("change", () => { note(true); for (const s of sheets) s.turn(s.g); });
at("sizes").addEventListener("submit", event => {
  event.preventDefault();
  take([...at("sizes").querySelectorAll("input")].map(x => `${x.name} = ${x.value}; `).join("") + at("text").value);
});
at("link").addEventListener("click", () => copy(location.href, "the link"));
at("command").addEventListener("click", () => copy(command(), "the command"));
at("svg").addEventListener("click", copySvg);
at("copy-code").addEventListener("click", () => copy(codes[tab], `the ${tab}`));
new IntersectionObserver(seen => { if (seen.some(x => x.isIntersecting) && !codes && answer) code(); }).observe(at("codes"));
addEventListener("resize", () => { for (const s of sheets) s.fit(); });
addEventListener("popstate", fromAddress);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const s of sheets) s.soon(); });
fromAddress();
