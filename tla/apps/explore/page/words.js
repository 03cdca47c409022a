// Words of the language: completion while one types, how an operation is called, a searchable list, and what a wrong word may have meant.
"use strict";

//: So many words are offered while one types, and for a word that is not known; so many are listed.
const OFFERED = 8, LISTED = 60;
let words = null, loading = null, offered = -1;   // the words, once they are asked for; which of those offered is chosen

/** The words of the language; they are asked for once. */
const known = () => loading ??= asked("words").then(found => { words = (found.words ?? []).map(ofWord); }, () => { loading = null; });

function ofWord([name, kind, usage, what, also]) {
  return { name, kind, usage, what, low: name.toLowerCase(), all: [name, kind, usage, what, also].join(" ").toLowerCase() };
}

/** The words that all parts of a text are found in, best first: by their beginning, then by their name, then by what is said of them. */
function searched(given, most, kinds) {
  const parts = given.toLowerCase().split(/[\s,;]+/).filter(Boolean);
  if (!words || !parts.length) return [];
  const rank = w => w.low === parts[0] ? 0 : w.low.startsWith(parts[0]) ? 1 : w.low.includes(parts[0]) ? 2 : 3;
  const found = words.filter(w => (!kinds || kinds.includes(w.kind)) && parts.every(p => w.all.includes(p)));
  return Object.assign(found.map((w, k) => [rank(w), k, w]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, most).map(x => x[2]), { all: found.length });
}

// ------------------------------------------------------------------------------------------------ while one types

/** The beginning of a name that ends at the caret, and where it begins. */
function begun() {
  const { value, selectionStart: caret, selectionEnd: end } = at("text"), found = /[A-Za-z][\w.]*$/.exec(value.slice(0, caret));
  return caret === end && found && !/^\w/.test(value.slice(caret)) ? { start: caret - found[0].length, caret, name: found[0] } : null;
}

/** Offer the names that begin as what is typed, and say how the operation is called that the caret is in. */
function offer() {
  const here = begun(), low = here?.name.toLowerCase() ?? "";
  const fits = low.length < 2 || !words ? [] : words.filter(w => w.kind !== "access" && w.low !== low && w.low.includes(low));
  fits.sort((a, b) => b.low.startsWith(low) - a.low.startsWith(low));
  offered = -1;
  at("words").replaceChildren(...fits.slice(0, OFFERED).map((w, k) => {
    const item = made("li", "", made("b", w.name), made("span", w.kind === "operation" ? w.usage.slice(w.name.length) : ` ${w.what}`));
    Object.assign(item, { id: `word-${k}`, title: w.what });
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.dataset.name = w.name + (w.kind === "operation" ? "(" : "");
    item.addEventListener("pointerdown", event => { event.preventDefault(); complete(item.dataset.name); });
    return item;
  }));
  show("words", fits.length);
  called();
}

function unoffered() {
  show("words", false);
  offered = -1;
  at("text").removeAttribute("aria-activedescendant");
}

/** Choose the next word that is offered, or the one before. */
function choose(by) {
  const items = at("words").children;
  offered = (offered + by + items.length + (offered < 0 && by < 0 ? 1 : 0)) % items.length;
  [...items].forEach((item, k) => item.setAttribute("aria-selected", k === offered));
  items[offered].scrollIntoView({ block: "nearest" });
  at("text").setAttribute("aria-activedescendant", items[offered].id);
}

/** Write a word in place of its beginning, as if it were typed. */
function complete(name) {
  const here = begun(), box = at("text");
  if (here) box.setSelectionRange(here.start, here.caret);
  document.execCommand("insertText", false, name);
  unoffered();
  called();
}

/** The keys that choose among the words that are offered; whether this was one of them. */
function choosing(event) {
  if (at("words").hidden || event.altKey || event.ctrlKey || event.metaKey) return false;
  if (event.key === "Escape") unoffered();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") choose(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && offered >= 0) complete(at("words").children[offered].dataset.name);
  else return false;
  event.preventDefault();
  return true;
}

const KEYS = "Enter keeps it in the history, Shift+Enter begins a line; on a number, Alt with an arrow changes it.";

/** Say how the operation is called whose brackets are open at the caret. */
function called() {
  const before = at("text").value.slice(0, at("text").selectionStart), open = [];
  for (const found of before.matchAll(/([A-Za-z]\w*)?(?:\[[^[\]()]*\])?\(|\)/g)) if (found[0] === ")") open.pop(); else open.push(found[1]);
  const name = open.reverse().find(Boolean), word = name && words?.find(w => w.name === name && w.kind === "operation");
  at("usage").textContent = word ? `${word.usage}: ${word.what}` : KEYS;
}

// ------------------------------------------------------------------------------------------------ what may have been meant

/** Buttons with what a text, or its word that is not known, may have meant. */
async function choices(error) {
  show("choices", false);
  if (!error) return;
  const mine = question, value = at("text").value.trim(), place = error.position ?? 0;
  const word = /^[\w.]+$/.test(value) ? value : /^[\w.]+/.exec(at("text").value.slice(place))?.[0] ?? "";
  await known();
  if (mine !== question || !/[A-Za-z]/.test(word)) return;
  const kinds = word === value ? ["operation", "atom", "tag", "element"] : ["operation", "atom"], found = searched(word, OFFERED, kinds);
  const fix = /^write ([A-Za-z]\w*)$/.exec(error.fix)?.[1], names = [...new Set([...(fix ? [fix] : []), ...found.map(w => w.name)])];
  if (!names.length || names.includes(word)) return;
  show("choices", true);
  at("choices").replaceChildren(made("span", "Did you mean "), ...names.map(name => button(name, () => replaced(word, place, name))),
    ...(found.all > OFFERED ? [button(`all ${found.all} …`, () => reference(word))] : []));
}

function replaced(word, place, name) {
  const { value } = at("text"), start = value.indexOf(word, value.slice(place).startsWith(word) ? place : 0);
  take(value.slice(0, start) + name + value.slice(start + word.length));
  at("text").focus();
}

// ------------------------------------------------------------------------------------------------ the reference

/** Open the list of all words, with those that a text is found in. */
async function reference(given = "") {
  at("search").value = given;
  at("reference").showModal();
  at("search").focus();
  await known();
  listed();
}

function listed() {
  const given = at("search").value.trim(), all = words ?? [];
  const found = given ? searched(given, LISTED) : Object.assign(all.slice(0, LISTED), { all: all.length });
  at("found").textContent = words ? `${found.all} of ${all.length} words` + (found.all > LISTED ? `, the first ${LISTED}` : "") : "loading …";
  at("matches").replaceChildren(...found.map(w => {
    const use = button(w.name, () => { at("reference").close(); used(w); });
    return made("li", "", use, made("span", ` ${w.kind} `), ...(w.usage === w.name ? [] : [made("code", w.usage)]), made("p", w.what));
  }));
}

/** Use a word of the reference: an access is who accesses the layout, an atom is drawn, all else is written at the caret. */
function used(w) {
  if (w.kind === "access") { accessing(w.name); changed(true); at("who").focus(); return; }
  if (w.kind === "atom") { take(w.name); at("text").focus(); return; }
  at("text").focus();
  document.execCommand("insertText", false, w.kind === "operation" ? `${w.name}(` : w.kind === "element" ? w.name : w.usage);
}
