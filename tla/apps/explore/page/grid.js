// A grid on a canvas: what is seen of it, at any zoom, with the marks of cells.
"use strict";

const STROKES = [0.5, 1.2, 2.2, 3.2, 4.2], LINE = "#444444";
//: Texts of cells smaller than this [pixels] are left out, and lines between cells that are smaller still.
const LEGIBLE = 7, LINED = 5;

/** A figure on the page: a canvas over what is seen of a grid, which scrolls below it. group: the sheets that belong together. */
class Sheet {
  constructor(figure, k, group, inside, name = "") {
    Object.assign(this, { figure, group, inside });
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
    if (figure.role) this.root.style.gridArea = figure.role;
    if (name && !k) { this.box.id = name; this.canvas.id = "canvas"; this.choice.id = "grids"; this.notes.id = "notes"; }
    this.choice.addEventListener("change", () => { cursor = null; this.turn(Number(this.choice.value)); details(); });
    this.box.addEventListener("scroll", () => this.soon());
    this.box.addEventListener("keydown", event => moved(this, event));
    this.box.addEventListener("focus", () => { if (!cursor || cursor.sheet !== this) look(this, 0, 0, true); });
    for (const kind of ["pointermove", "pointerdown"]) this.canvas.addEventListener(kind, event => pointed(this, event));
    this.marked = new Set();
    this.clash = new Set();   // what collides, or differs: marked whatever is looked at
  }

  /** Take a grid of the figure to the canvas. */
  turn(g) {
    const { figure } = this, grid = figure.grids[g];
    this.g = g;
    this.grid = grid;
    this.values = grid.values ??= unpacked(grid.texts);
    this.rows = this.values.length ? grid.rows.labels.length : 0;
    this.columns = grid.columns.labels.length;
    this.highest = Math.max(0, ...grid.rows.borders.slice(1), ...grid.columns.borders.slice(1));
    this.lines = this.rows && grid.threads ? Math.max(...grid.texts.map(t => t.split("\n").length)) : 1;
    this.notes.textContent = [...figure.notes, ...(this.rows && this.columns ? [] : ["(no elements)"])].join("; ");
    this.box.setAttribute("aria-label", `${figure.title} ${grid.title}, ${this.rows} by ${this.columns}`);
    this.zoom();
  }

  /** The size of cells at a zoom; of "fit" the largest at which all of them are seen, up to their full size. */
  zoom() {
    const asked = ZOOM[at("zoom").value];
    this.sized(asked || 1);
    if (!asked) {
      const [wide, high] = this.room(this.full());
      const least = Math.min(1, (wide - 8) / this.full()[0], (high - 8) / this.full()[1]);
      for (let scale = least; this.sized(scale), scale > 0.02 && (this.full()[0] > wide || this.full()[1] > high);) scale *= 0.95;
    }
    this.space.style.width = `${this.full()[0]}px`;
    this.space.style.height = `${this.full()[1]}px`;
    this.fit();
  }

  sized(scale) {
    const { figure, grid } = this, pen = this.canvas.getContext("2d");
    this.size = Math.max(1, Math.round(13 * scale));
    this.raised = figure.palette.some(([, , mark]) => mark) ? Math.round(7 * scale) : 0;   // room for the numbers of colours
    this.height = Math.max(2, Math.round((12 + 12 * this.lines) * scale) + this.raised);
    pen.font = font(this.size);
    const letter = pen.measureText("0").width, widest = (texts, least) => longest(texts) * letter + least * Math.min(1, scale);
    const labels = this.size >= LEGIBLE ? widest(grid.columns.labels, 8) : 0;   // labels that would not be read take no room
    this.width = Math.max(2, Math.ceil(Math.max(28 * scale, this.size >= LEGIBLE ? widest(this.widest(), 10) : 0, labels)));
    this.left = this.size >= LEGIBLE ? Math.ceil(widest(grid.rows.labels, 10)) : 4;
    this.top = this.size >= LEGIBLE ? Math.round(24 * Math.max(scale, 0.6)) : 4;
  }

  /** The size of all of the grid. */
  full() { return [this.left + this.columns * this.width + 4, this.top + this.rows * this.height + 4]; }

  /** The most that is seen of a grid, wide and high. Of several grids two that do not fit stand beside each other, on a small screen below. */
  room(full) {
    const wide = this.inside.clientWidth, high = Math.max(120, innerHeight * 0.7), half = Math.max(120, innerHeight * 0.35);
    if (this.inside.classList.contains("gemm")) {
      const beside = this.group.find(s => s.figure.role === (this.figure.role === "A" ? "C" : "A"));
      return [Math.max((wide - 20) / 2, wide - 20 - (beside.full()[0] || wide)), Math.max(120, innerHeight * 0.9)];
    }
    if (this.group.length < 2 || full[0] <= wide || full[1] <= half) {
      const all = this.group.reduce((n, s) => n + (s.columns * s.width || 0), 0);
      return at("zoom").value === "fit" && all > wide && wide > 700 ? [(wide - 16) / this.group.length - 2, high - 2] : [wide - 2, high - 2];
    }
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
    const full = this.full(), room = this.room(full);
    const bar = full[0] > room[0] || full[1] > room[1] ? 18 : 0;
    box.style.width = `${Math.min(full[0] + bar, room[0]) + 2}px`;
    box.style.height = `${Math.min(full[1] + bar, room[1]) + 2}px`;
    this.root.style.maxWidth = `max(min(20rem, 100%), ${box.style.width})`;   // a long caption has more lines
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
    if (this.grid.shows) return this.grid.shows[k];
    const shown = at("shown").value;
    return this.grid.threads || shown === "offset" ? this.offset(k) : shown === "index" ? this.index(k) : `(${this.coord(k).join(",")})`;
  }

  /** Texts of cells, one of which is as long as any. */
  widest() {
    if (!this.rows || !this.columns) return [];
    if (this.grid.shows) return this.grid.shows;
    if (this.grid.threads) return this.values.flatMap(t => t.split("\n"));
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
    const w = canvas.width / scale, h = canvas.height / scale, read = this.size >= LEGIBLE;
    const [x0, y0] = this.spot(-0.5, -0.5), x = c => x0 + c * width, y = r => y0 + r * height;
    const first = [Math.max(0, Math.floor(box.scrollTop / height)), Math.max(0, Math.floor(box.scrollLeft / width))];
    const last = [Math.min(rows, Math.ceil((box.scrollTop + h - top) / height)), Math.min(columns, Math.ceil((box.scrollLeft + w - left) / width))];
    const each = does => { for (let r = first[0]; r < last[0]; r++) for (let c = first[1]; c < last[1]; c++) does(r * columns + c, r, c); };
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = color("paper");
    pen.fillRect(0, 0, w, h);
    pen.save();
    pen.beginPath();
    pen.rect(left - 2, top - 2, w, h);
    pen.clip();
    pen.fillStyle = "#fff";   // cells are on white, in the dark too: their colours are light
    pen.fillRect(x(0), y(0), columns * width, rows * height);
    each((k, r, c) => {
      const n = this.colour(k);
      if (n < 0) hatch(pen, x(c), y(r), width, height);
      if (n > 0) { pen.fillStyle = figure.palette[n][0]; pen.fillRect(x(c), y(r), width, height); }
    });
    if (read) this.write(pen, each, x, y);
    const line = (level, x1, y1, x2, y2) => {
      pen.strokeStyle = level ? "#000" : LINE;
      pen.lineWidth = STROKES[Math.min(level, STROKES.length - 1)];
      pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
    };
    const level = (borders, k, count) => k === 0 || k === count ? highest + 1 : borders[k];
    for (let r = first[0]; r <= last[0]; r++)
      if (height >= LINED || level(grid.rows.borders, r, rows)) line(level(grid.rows.borders, r, rows), x(first[1]), y(r), x(last[1]), y(r));
    for (let c = first[1]; c <= last[1]; c++)
      if (width >= LINED || level(grid.columns.borders, c, columns)) line(level(grid.columns.borders, c, columns), x(c), y(first[0]), x(c), y(last[0]));
    for (const [cells, wide] of [[this.clash, 2], [this.marked, 3]]) {
      pen.strokeStyle = MARK;
      pen.lineWidth = Math.min(wide, width / 3);
      for (const k of cells) {
        const r = Math.floor(k / columns), c = k % columns;
        if (r >= first[0] && r < last[0] && c >= first[1] && c < last[1]) pen.strokeRect(x(c) + 1.5, y(r) + 1.5, width - 3, height - 3);
      }
    }
    pen.restore();
    if (read) this.label(pen, color("faint"), first, last, [w, h], x, y);
  }

  /** The texts of cells, and the numbers of their colours. */
  write(pen, each, x, y) {
    const { figure, width, height, raised } = this, step = Math.round(this.size * 0.95);
    pen.font = font(this.size);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    each((k, r, c) => {
      const n = this.colour(k);
      if (n < 0) return;
      pen.fillStyle = figure.palette[Math.max(n, 0)][1];
      const lines = this.text(k).split("\n"), middle = y(r) + (height + raised) / 2 + 1 - (lines.length - 1) * step / 2;
      lines.forEach((t, m) => pen.fillText(t, x(c) + width / 2, middle + m * step));
    });
    if (!raised) return;
    pen.font = font(Math.max(7, this.size - 5));
    pen.textAlign = "right";
    each((k, r, c) => {
      const n = this.colour(k), [, ink, mark] = figure.palette[Math.max(n, 0)];
      pen.fillStyle = ink;
      if (n > 0) pen.fillText(mark, x(c + 1) - 3, y(r) + raised);
    });
  }

  /** The labels of rows and columns. */
  label(pen, faint, first, last, [w, h], x, y) {
    const { grid, width, height, left, top } = this;
    pen.font = font(Math.max(8, this.size - 2));
    pen.textBaseline = "middle";
    pen.fillStyle = faint;
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
