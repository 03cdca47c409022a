// What is below the drawing: the steps to it, its code, and files of it.
"use strict";

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
    unsaid(found.refused ?? {});
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

/** Name the languages that cannot say it, each with its reason. */
function unsaid(refused) {
  at("code-refused").replaceChildren(...(Object.keys(refused).length ? [
    made("details", "", made("summary", `not in ${Object.keys(refused).join(", ")}`), pairs(classed("pairs", made("dl")), Object.entries(refused))),
  ] : []));
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

/** The line of a shell that opens this page. */
const command = () => `tla explore '${text().replaceAll("'", `'"'"'`)}'`;

/** A link that opens this page anywhere: of a server on this machine it is that of the public page. */
function link() {
  const here = ["localhost", "127.0.0.1", "[::1]", ""].includes(location.hostname);
  return (here ? PUBLIC : location.href.split("#")[0]) + fragment();
}

// ------------------------------------------------------------------------------------------------ files

/** Give the browser a file to save. */
function saved(name, blob) {
  const a = Object.assign(made("a"), { href: URL.createObjectURL(blob), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  at("copied").textContent = `${name} is saved`;
}

/** Save the drawing in a format; a PNG is made here, of the SVG. */
async function exported(format) {
  try {
    const found = await asked("file", undefined, { format: format === "png" ? "svg" : format });
    if (found.error) at("copied").textContent = found.error.what;
    else if (format === "png") saved("layout.png", await painted(found.text));
    else saved(found.name, new Blob([found.text], { type: found.type }));
  } catch (error) {
    at("copied").textContent = `no answer: ${error.message}`;
  }
}

/** The pixels of an SVG, two for each of its units, but no more than a browser can hold. */
async function painted(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, 8192 / Math.max(image.naturalWidth, image.naturalHeight)), canvas = made("canvas"), pen = canvas.getContext("2d");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight].map(n => Math.max(1, Math.round(n * scale)));
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

async function copySvg() {
  try {
    const found = await asked("file", undefined, { format: "svg" });
    if (found.error) at("copied").textContent = found.error.what; else await copy(found.text, "the SVG");
  } catch (error) {
    at("copied").textContent = `no answer: ${error.message}`;
  }
}
