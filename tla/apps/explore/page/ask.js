// Questions and their answers; the text in the address and in the history.
"use strict";

let answer = null, question = 0, answered = 0, waits = 0, stop = new AbortController();
let draft = false, timer = 0, due = null;   // a change that waits for an answer, and what asks for it
//: What the address holds besides the text, and the value that it need not hold.
const KEPT = { colours: "auto", shown: "offset", zoom: "100 %", bits: "", access: "", view: "offsets", tile: "" };

/** The view that was chosen; what is shown may have another, as of an atom. */
let viewed = "offsets";

/** Whether all that was typed is answered. */
const settled = () => answered === question && !timer && !waits && !mending;

/** The text that is answered: while there is none, the first example. */
const text = () => at("text").value.trim() ? at("text").value : FIRST;

/** What is asked: the text, and how it is looked at. */
function questioned(more = {}) {
  return {
    text: text(), color_by: at("colours").value, bits: Number(at("bits").value) || null, access: access(),
    view: viewed, tile: at("tile").value, ...more,
  };
}

async function asked(path, signal, more) {
  const what = questioned(more);
  if (globalThis.engine) return engine(`/${path}`, what, signal);   // where there is no server
  const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what), signal });
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

/** Put an answer on the page. Of an error it is the reason; the grid that was there stays, faint, and what was said of it goes. */
function present(found) {
  unmended();
  if (found.error) { refused(found.error); return; }
  answer = found;
  refused(null);
  show("start", !at("text").value.trim());
  for (const id of ["result", "codes"]) show(id, found.value !== undefined);
  at("value").textContent = found.value ?? "";
  widths(found.width);
  pairs(at("names"), found.names);
  at("facts").replaceChildren(...found.facts.map(([title, facts]) =>
    made("div", "", ...(found.facts.length > 1 ? [made("h3", title)] : []), pairs(classed("pairs", made("dl")), facts))));
  sizesOf(found.sizes);
  at("assumed").textContent = found.assumed.length ? `Assumed: ${found.assumed.join(", ")}.` : "";
  controls(found);
  drawing(found);
  accessed(found.access);
  show("compared", found.compared);
  at("compared").className = found.compared?.same ? "" : "clash";
  at("compared").textContent = found.compared?.text ?? "";
  outline(found.steps);
  codes = null;
  if (at("code").dataset.open) code();
}

/** The controls that mean something for an answer. */
function controls(found) {
  const drawn = found.figures.length > 0, threads = found.figures[0]?.grids.some(g => g.threads) ?? false;
  for (const option of at("colours").options) option.disabled = option.value !== "auto" && !found.rules.includes(option.value);
  for (const id of ["colours", "shown", "zoom"]) at(id).disabled = !drawn;
  for (const option of at("view").options) option.disabled = !found.views.includes(option.value);
  at("view").disabled = found.views.length < 2;
  if (found.view) at("view").value = found.view;
  show("tile-label", found.tile);
  at("tile").placeholder = found.tile ?? "";
  for (const id of ["who", "access", "bits"]) at(id).disabled = !drawn || (threads && !found.tile);
}

/** What is wrong, where, and what to do; words that may have been meant are buttons. */
function refused(error) {
  show("error", error);
  show("usage", !error);
  document.body.classList.toggle("stale", Boolean(error));
  at("text").setAttribute("aria-invalid", Boolean(error));
  choices(error);
  if (!error) return;
  for (const id of ["result", "codes", "walk", "accessed", "compared"]) show(id, false);   // they are of the text before
  if (!answer) show("start", true);
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

// ------------------------------------------------------------------------------------------------ the address

function fragment() {
  const kept = Object.entries(KEPT).map(([id, usual]) => [id, { access: access(), view: viewed }[id] ?? at(id).value, usual]);
  return "#" + new URLSearchParams({ e: at("text").value, ...Object.fromEntries(kept.filter(([, value, usual]) => value && value !== usual)) });
}

/** Note the text in the address. While it is typed one entry of the history changes; `keep` begins the next. */
function note(keep) {
  if (fragment() !== location.hash) history[draft ? "replaceState" : "pushState"](null, "", fragment());
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
  looked(Object.fromEntries(given));
  draft = false;
  clearTimeout(timer);
  timer = 0;
  ask();
}

/** Set the controls to what is given; others are as usual. */
function looked(given) {
  for (const [id, usual] of Object.entries(KEPT)) {
    const value = given[id];
    if (id === "access") { accessing(value ?? ""); continue; }
    const known = id === "bits" ? /^[1-9]\d{0,4}$/.test(value) : id === "tile" ? value : [...at(id).options].some(o => o.value === value);
    at(id).value = known ? value : usual;
    if (id === "view") viewed = at(id).value;
  }
}

/** Take a text in place of what is there, and how it is looked at if that is given. */
function take(given, how) {
  at("text").value = given;
  if (how) looked(how);
  draft = false;
  changed(true);
}
