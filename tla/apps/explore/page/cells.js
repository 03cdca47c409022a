// The figures on the page, the cell that is looked at, and what belongs to it in the other figures.
"use strict";

let sheets = [], cursor = null;   // the figures of the answer; the cell that is looked at: { sheet, row, column }

/** The sheets of some figures, in an element that they replace the content of. */
function laid(figures, inside, name = "") {
  const group = [], roles = figures.map(f => f.role ?? "");
  inside.classList.toggle("gemm", roles.length === 3 && roles.every(Boolean) && inside.clientWidth >= 760);
  group.push(...figures.map((figure, k) => new Sheet(figure, k, group, inside, name)));
  inside.replaceChildren(...group.map(s => s.root));
  return group;
}

/** The figures of an answer on the page; a cursor stays where it was, if there is such a cell. */
function drawing(found) {
  const before = cursor && { k: sheets.indexOf(cursor.sheet), row: cursor.row, column: cursor.column }, turned = sheets.map(s => s.g);
  for (const id of ["drawing", "cell"]) show(id, found.figures.length);
  sheets = laid(found.figures, at("figures"), "grid");
  sheets.forEach((s, k) => { const g = Math.min(turned[k] ?? 0, s.figure.grids.length - 1); s.choice.value = g; s.turn(g); });
  for (const s of sheets) if (s.figure.role) s.zoom();   // beside each other: now that the size of each is known
  at("legend").replaceChildren(found.caption ?? "", ...found.legend.flatMap(([fill, name]) => {
    const swatch = classed("swatch", made("span"));
    swatch.style.background = fill;
    return [classed("key", made("span", "", swatch, name)), " "];
  }));
  if (found.compared?.differs) for (const s of sheets.slice(0, 2)) differing(s, found.compared.differs);
  cursor = null;
  const sheet = before && sheets[before.k];
  if (sheet && before.row < sheet.rows && before.column < sheet.columns) look(sheet, before.row, before.column, false); else details();
}

/** Mark the cells of a sheet whose index differs: of so many that nothing would be told apart none are. */
function differing(sheet, differs) {
  const all = sheet.rows * sheet.columns, wrong = [...differs].reduce((n, d) => n + (d === "1"), 0);
  if (wrong < all) for (let k = 0; k < all; k++) if (differs[Number(sheet.index(k))] === "1") sheet.clash.add(k);
}

/** The cells that belong to one cell: in figures of its domain by the index, in those of its memory by the offset, and on from these. */
function together(sheet, k) {
  if (sheet.grid.threads) return ofThread(sheet, k);
  if (sheet.grid.shows && Number(sheet.values[k]) < 0) return new Map([[sheet, [k]]]);   // a place that no coordinate has
  const indices = { [sheet.figure.domain]: sheet.index(k) }, offsets = { [sheet.figure.memory]: sheet.offset(k) };
  const value = name => indices[name] ?? offsets[name], cells = new Map([[sheet, [k]]]);
  for (let again = true; again;) {
    again = false;
    for (const s of sheet.group) {
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
  if (thread) for (const s of sheet.group) cells.set(s, s.grid.threads.flatMap((t, n) => t === thread ? [n] : []));
  return cells;
}

const list = texts => `(${texts.join(",")})`;

/** What the cell at the cursor is, in every figure. */
function details() {
  for (const s of [...sheets, ...mendedSheets]) s.marked.clear();
  const clash = answer?.collision;
  if (!cursor && clash && sheets.length) for (const index of clash.indices) sheets[0].marked.add(sheets[0].cellOf(String(index)));
  if (!cursor && answer?.access && sheets.length && !sheets[0].grid.shows) for (const k of sheets[0].cellsAt(answer.access.offsets)) sheets[0].marked.add(k);
  if (!cursor) {
    const twice = clash ? [["not injective", `indices ${clash.indices.join(" and ")} are both at offset ${clash.offset}: they are marked`]] : [];
    pairs(at("cell"), [["cell", "point at one, or go to it with the arrows"], ...twice]);
  } else {
    const { sheet, row, column } = cursor, k = row * sheet.columns + column, cells = together(sheet, k);
    for (const [s, found] of cells) {
      for (const n of found) s.marked.add(n);
      if (s !== sheet && found.length) s.reveal(Math.floor(found[0] / s.columns), found[0] % s.columns);
    }
    const entries = sheet.grid.threads ? heldBy(sheet, k, cells) : sheet.grid.shows ? placed(sheet, k) : ofLayout(sheet, k, cells);
    pairs(at("cell"), entries);
    spoken(entries.slice(0, 2).map(entry => entry.join(" ")).join(", "));
  }
  document.body.classList.toggle("looking", Boolean(cursor || clash));
  for (const s of [...sheets, ...mendedSheets]) s.soon();
}

/** What the page says of a cell of a layout. */
function ofLayout(sheet, k, cells) {
  const { figure } = sheet, coord = sheet.coord(k), digits = figure.modes.map((mode, m) => mode.digits[coord[m]]);
  const others = [...cells].filter(([s, found]) => s !== sheet && found.length).map(([s, found]) => {
    const places = found.slice(0, 3).map(n => `${list(s.coord(n))} at ${s.offset(n)}`).join(", ");
    return [s.figure.name || s.figure.title, places + (found.length > 3 ? `, and ${found.length - 3} more` : "")];
  });
  const bits = answer?.width?.bits, offset = sheet.offset(k), byte = /^\d+$/.test(offset) && bits ? BigInt(offset) * BigInt(bits) / 8n : null;
  return [
    ["coordinate", list(coord)],
    ["offset", offset + (sheet.colour(k) < 0 ? ", padding" : "")],
    ["natural", list(figure.modes.map((mode, m) => mode.natural[coord[m]]))],
    ["index", sheet.index(k)],
    ...(byte !== null && ["bank", "ub_bank"].includes(answer?.rule) ? [["address", address(byte, answer.rule)]] : []),
    ...others,
    ...digits.flatMap((text, m) => text ? [[`mode ${m}`, text]] : []),
  ];
}

/** A byte's address in its parts: the line of all banks, the bank, and the byte in it. */
function address(byte, rule) {
  const [banks, wide] = rule === "bank" ? [32n, 4n] : [16n, 32n];
  return `byte ${byte}: line ${byte / (banks * wide)}, bank ${byte / wide % banks}; ${byte.toString(2)} in binary`;
}

/** What the page says of a cell that a thread holds. */
function heldBy(sheet, k, cells) {
  const thread = sheet.grid.threads[k];
  return [
    ["coordinate", list(sheet.coord(k))],
    ["held by", sheet.offset(k).replaceAll("\n", "") || "no thread"],
    ...[...cells].map(([s, found]) => [s.figure.domain || "elements", `${found.length} of thread ${thread.slice(1)}`]).filter(() => thread),
  ];
}

/** What the page says of a place in memory. */
function placed(sheet, k) {
  return [["offset", sheet.index(k)], ["holds", sheet.grid.shows[k] || "nothing"], ["index", Number(sheet.values[k]) < 0 ? "none" : sheet.offset(k)]];
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
