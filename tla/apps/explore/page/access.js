// Who accesses the layout, what that costs, and the layout that has fewer conflicts.
"use strict";

let mendedSheets = [], mending = 0;

/** Who accesses it, as asked: a name of the list, or what is typed; "" for nobody. */
const access = () => at("who").value === OTHER ? at("access").value.trim() : at("who").value;

/** Set who accesses it. */
function accessing(given) {
  const names = Object.values(WHO).flat();
  at("who").value = !given ? "" : names.includes(given) ? given : OTHER;
  at("access").value = at("who").value === OTHER ? given : "";
  show("access-label", at("who").value === OTHER);
}

/** The width of an element that was taken, and what says it. */
function widths(found) {
  at("bits").placeholder = found?.bits ?? "";
  at("said").textContent = found && !at("bits").value ? found.said : "";
  at("said").classList.toggle("assumed", found?.said === "assumed");
}

/** What the count of an access says; what collides in it is marked in the grid. */
function accessed(found) {
  show("accessed", found);
  if (!found) return;
  const clash = found.degree !== 1, counted = found.degree !== null;
  at("accessed").className = clash ? "clash" : "free";
  const source = counted ? [classed("why", made("details", "", made("summary", "how it is counted"), made("p", found.fix)))] : [made("p", found.fix)];
  const mend = counted && clash && found.degree > 1 ? [Object.assign(button("Find the swizzle", mended), { id: "mend", className: "main" })] : [];
  at("accessed").replaceChildren(made("p", "", made("strong", found.text)), classed("line", made("div", "", ...mend, made("span", found.width), ...source)));
}

function unmended() {
  show("mended", false);
  mendedSheets = [];
}

/** Find the layout with fewer conflicts, and show it beside the one that is drawn. */
async function mended() {
  const mine = question;
  mending++;
  at("busy").textContent = "searching …";
  let found;
  try {
    found = await asked("mend");
  } catch (error) {
    found = { error: { what: `no answer: ${error.message}`, fix: "" } };
  } finally {
    mending--;
    at("busy").textContent = "";
  }
  if (mine !== question) return;
  show("mended", true);
  if (found.error) {
    at("mended-text").replaceChildren(made("p", found.error.what), made("p", found.error.fix));
    at("mended-figures").replaceChildren();
    return;
  }
  const same = !found.better;
  at("mended-title").textContent = same ? "No layout does better" : found.after.degree > 1 ? "With fewer conflicts" : "Without the conflict";
  at("mended-text").replaceChildren(
    classed("big", made("p", "", made("code", found.layout))),
    made("table", "", row("th", ["", "before", "after"]),
      row("td", ["wavefronts of the worst instruction", found.before.wavefronts, found.after.wavefronts]),
      row("td", ["conflict", ways(found.before.degree), ways(found.after.degree)])),
    pairs(classed("pairs", made("dl")), [
      ...(found.formula ? [["offset of (i, j)", found.formula]] : []),
      ["written by", `${found.written}: 16 bytes a lane, along what is contiguous`],
      ["why no better", found.why],
    ]),
    ...(found.bits.some(b => b.xor !== null) ? [bitsOf(found.bits)] : []),
    made("p", "", button("Take it", () => take(found.layout)), " ", button("Copy it", () => copy(found.layout, "the layout"))),
  );
  found.figures.forEach((figure, k) => { figure.title = `${["before", "after"][k]}: ${figure.title}`; });
  mendedSheets = laid(found.figures, at("mended-figures"));
  mendedSheets.forEach((s, k) => { s.turn(0); for (const n of s.cellsAt(found.offsets[k])) s.clash.add(n); });
  at("mended").scrollIntoView({ block: "nearest" });
  at("mended-title").tabIndex = -1;
  at("mended-title").focus({ preventScroll: true });
}

const ways = degree => degree > 1 ? `${degree}-way` : "none";

const row = (tag, texts) => made("tr", "", ...texts.map(t => made(tag, String(t))));

/** The bits of an offset, those of a row of banks first, with the bits that a swizzle xors into some. */
function bitsOf(bits) {
  const into = bits.map(b => b.xor === null ? "" : `⊕ ${b.xor}`), roles = [...new Set(bits.map(b => b.role))];
  const chooses = row("td", ["chooses", ...roles]);
  roles.forEach((role, k) => { chooses.children[k + 1].colSpan = bits.filter(b => b.role === role).length; });
  const table = made("table", "", made("caption", "The bits of the offset: a bit is xored with the one that stands below it"));
  table.append(row("th", ["bit", ...bits.map(b => b.bit)]), row("td", ["xor", ...into]), chooses);
  const box = Object.assign(classed("bits", made("div", "", table)), { tabIndex: 0 });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "the bits of the offset");
  return box;
}
