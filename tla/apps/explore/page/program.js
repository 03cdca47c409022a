// The memory of an HLO program, whose file is dropped on the page, or chosen.
"use strict";

//: A longer text is for the command [characters].
const LARGEST = 2 ** 24;
let report = null;

/** Read a file, and show where its memory goes. */
async function program(file) {
  report = null;
  at("program-title").textContent = `Memory of ${file.name}`;
  at("report").replaceChildren(made("p", "working …"));
  show("save-report", false);
  if (!at("program").open) at("program").showModal();
  try {
    const bytes = file.name.endsWith(".gz") ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
    const text = file.size > LARGEST ? null : await new Response(bytes).text();
    if (text === null || text.length > LARGEST) {
      told({ what: "a file of more than 16 MiB", fix: `run tla hlo ${file.name} -o report.html` });
      return;
    }
    const found = await asked("report", undefined, { text });
    if (found.error) told(found.error); else reported(found);
  } catch (error) {
    told({ what: `no answer: ${error.message}`, fix: error.fix ?? "see whether it is the text of a program" });
  }
}

function told({ what, expected, fix }) {
  at("report").replaceChildren(made("p", what), ...(expected ? [made("p", `expected: ${expected}`)] : []), made("p", `fix: ${fix}`));
}

/** Show a report: a page of ours, which is parsed and not run; what is clicked in its picture is found in its table. */
function reported(found) {
  const page = new DOMParser().parseFromString(found.text.replace(/<style>[^<]*<\/style>/, ""), "text/html");   // page.css has its own
  page.querySelector("h1").remove();   // the dialog has its own
  at("report").replaceChildren(...page.body.children);
  for (const link of at("report").querySelectorAll("a")) {
    link.addEventListener("click", event => {
      event.preventDefault();
      const row = at(link.getAttribute("href").slice(1));
      at("report").querySelector("tr.main")?.classList.remove("main");
      row.classList.add("main");
      row.scrollIntoView({ block: "center" });
    });
  }
  report = found;
  show("save-report", true);
}

addEventListener("dragover", event => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
addEventListener("drop", event => {
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  event.preventDefault();
  program(file);
});
at("open-program").addEventListener("click", () => at("program-file").click());
at("program-file").addEventListener("change", () => { const [file] = at("program-file").files; at("program-file").value = ""; if (file) program(file); });
at("close-program").addEventListener("click", () => at("program").close());
at("save-report").addEventListener("click", () => saved(report.name, new Blob([report.text], { type: report.type })));
