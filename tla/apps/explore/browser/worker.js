// Python in the browser: it loads Pyodide and tla from this folder, and answers the questions of the page one by one.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const sizes = await (await fetch("sizes.json")).json(), total = Object.values(sizes).reduce((n, size) => n + size, 0);
const real = self.fetch.bind(self);
let loaded = 0;

/** Say how much is loaded, of what comes with every start. */
function tell(what) { postMessage({ loaded: Math.min(loaded, total), of: total, what }); }

/** What a fetch gives, counted as it comes. */
self.fetch = async (...given) => {
  const reply = await real(...given), name = String(given[0]?.url ?? given[0]).split("/").pop();
  if (!reply.ok) throw new Error(`${name} is not there: the server answers ${reply.status}`);
  if (globalThis.caches && await caches.match(reply.url)) {   // as it is: a browser remembers what it has compiled of a file that is kept
    loaded += Object.entries(sizes).find(([path]) => path.endsWith(name))?.[1] ?? 0;
    tell(`loading ${name}`);
    return reply;
  }
  const count = new TransformStream({ transform(part, to) { loaded += part.length; tell(`loading ${name}`); to.enqueue(part); } });
  return new Response(reply.body.pipeThrough(count), { headers: reply.headers, status: reply.status });
};

let answered = null;

async function started() {
  tell("loading Python");
  const python = await loadPyodide({ indexURL: new URL("pyodide/", self.location).href });
  python.unpackArchive(await (await fetch("tla.zip")).arrayBuffer(), "zip", { extractDir: "/lib/tla-site" });
  tell("starting");
  python.runPython("import sys; sys.path.insert(0, '/lib/tla-site')");
  answered = python.runPython("import json\nfrom tla.apps.explore.answer import as_json\nlambda path, question: as_json(path, json.loads(question))");
  answered("/answer", '{"text": "(2,3):(3,1)"}');   // what every answer imports
}

const python = started();

onmessage = async ({ data: [path, question] }) => {
  try {
    await python;
    postMessage({ answer: answered(path, JSON.stringify(question)) });
  } catch (error) {
    postMessage({ failed: String(error.message ?? error).trim().split("\n").pop() });
  }
};

python.then(() => { loaded = total; tell(""); }, error => postMessage({ failed: String(error.message ?? error) }));
