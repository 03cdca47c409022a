// What the controls of the page do.
"use strict";

chosen(at("colours"), COLOURS);
chosen(at("shown"), SHOWN);
chosen(at("zoom"), Object.keys(ZOOM));
at("view").append(...Object.entries(VIEWS).map(([name, title]) => new Option(title, name)));
at("who").append(new Option("nobody", ""), ...Object.entries(WHO).map(([title, names]) => {
  const group = Object.assign(made("optgroup"), { label: title });
  chosen(group, names);
  return group;
}), new Option(OTHER, OTHER));
at("zoom").value = "100 %";
at("cards").append(...Object.entries(EXAMPLES).map(([role, examples]) => classed("role", made("div", "", made("h3", role),
  classed("cards", made("ul", "", ...examples.map(([title, example, how]) => {
    const card = button(title, () => { take(example, how ?? {}); at("text").focus(); });
    card.append(made("code", example));
    return made("li", "", card);
  })))))));
at("formats").append(...Object.entries(FORMATS).map(([title, format]) => button(`Save ${title}`, () => exported(format))),
  Object.assign(button("Copy the SVG", copySvg), { id: "svg" }));
popup(at("export"), at("formats"));

at("text").addEventListener("input", () => { changed(false); known().then(offer); });
at("text").addEventListener("change", () => { draft = false; });
at("text").addEventListener("blur", unoffered);
for (const kind of ["click", "keyup"]) at("text").addEventListener(kind, called);
at("text").addEventListener("keydown", event => {
  if (choosing(event)) return;
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); unoffered(); changed(true); }
  const up = event.key === "ArrowUp", asked = event.altKey && !event.ctrlKey && !event.metaKey;   // plain arrows move in the text
  if ((up || event.key === "ArrowDown") && asked && stepNumber(up, event.shiftKey)) event.preventDefault();
});

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

at("asked").addEventListener("submit", event => event.preventDefault());
at("who").addEventListener("change", () => {
  show("access-label", at("who").value === OTHER);
  if (at("who").value === OTHER) at("access").focus();
  changed(true);
});
at("colours").addEventListener("change", () => changed(true));
at("view").addEventListener("change", () => { viewed = at("view").value; changed(true); });
for (const id of ["bits", "access", "tile"]) at(id).addEventListener("input", () => changed(false));
at("shown").addEventListener("change", () => { note(true); for (const s of [...sheets, ...mendedSheets]) s.turn(s.g); });
at("zoom").addEventListener("change", () => { note(true); for (const s of [...sheets, ...mendedSheets]) s.zoom(); });
at("sizes").addEventListener("submit", event => {
  event.preventDefault();
  take([...at("sizes").querySelectorAll("input")].map(x => `${x.name} = ${x.value}; `).join("") + at("text").value);
});
at("more").addEventListener("click", () => at("more").setAttribute("aria-expanded", at("more").getAttribute("aria-expanded") !== "true"));
at("link").addEventListener("click", () => copy(link(), "the link"));
at("command").addEventListener("click", () => copy(command(), "the command"));
at("copy-code").addEventListener("click", () => copy(codes[tab], `the ${tab}`));
at("open-reference").addEventListener("click", () => reference());
at("close-reference").addEventListener("click", () => at("reference").close());
at("search").addEventListener("input", listed);
at("search").addEventListener("keydown", event => { if (event.key === "Escape") { event.preventDefault(); at("reference").close(); } });   // not only its text goes
new IntersectionObserver(seen => { if (seen.some(x => x.isIntersecting) && !codes && answer) code(); }).observe(at("codes"));
addEventListener("resize", () => { for (const s of [...sheets, ...mendedSheets]) s.zoom(); });
addEventListener("popstate", fromAddress);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const s of [...sheets, ...mendedSheets]) s.soon(); });
called();
fromAddress();
