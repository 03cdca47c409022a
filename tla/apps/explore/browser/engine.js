// The answers of the page where there is no server: a worker that runs Python makes them. ask.js asks `engine`, where there is one.
"use strict";

{
  //: An answer takes no longer [milliseconds]: then its worker is ended, and another one begins.
  const MOST = 10000;
  const asked = [];   // the questions that wait, the one that is being answered first
  let worker = null, ready = false, late = 0;

  /** The answer of a path to a question, as tla explore's server has it. */
  globalThis.engine = async (path, question, signal) => {
    if (path === "/words") return listed();
    worker ??= begun();
    if (path === "/answer" && !ready) {   // what is drawn while nothing is typed is there before Python is
      const first = await (await fetch("first.json")).json();
      if (JSON.stringify(first.question) === JSON.stringify(question)) return first.answer;
    }
    return queued(path, question, signal);
  };

  const queued = (path, question, signal) => new Promise((found, failed) => {
    worker ??= begun();
    const one = { path, question, found, failed, sent: false };
    signal?.addEventListener("abort", () => {
      if (!one.sent && asked.includes(one)) asked.splice(asked.indexOf(one), 1);
      failed(new DOMException("another question", "AbortError"));
    });
    asked.push(one);
    next();
  });

  /** The words of the language: they are in a file. */
  const listed = async () => (await fetch("words.json")).json();

  function begun() {
    if (location.protocol === "file:") throw needs("this folder from a web server: run python -m http.server in it, and open the address that it prints");
    if (typeof WebAssembly === "undefined") throw needs("a browser with WebAssembly");
    show("loading", true);
    const made = new Worker("worker.js", { type: "module" });
    made.addEventListener("error", event => broken(`worker.js cannot be run${event.message ? `: ${event.message}` : ""}`));
    made.addEventListener("message", ({ data }) => {
      if (data.failed) broken(data.failed);
      else if (data.answer) answered(data.answer);
      else progress(data);
    });
    return made;
  }

  /** An error that says what the page needs. */
  function needs(what) { return Object.assign(new Error("the page cannot load"), { fix: `it needs ${what}` }); }

  function broken(why) {
    ended();
    const error = needs(`each file of its folder, and a browser of 2024 or later: ${why}`);
    for (const one of asked.splice(0)) one.failed(error);
    refused({ what: `no answer: ${error.message}`, expected: "", fix: error.fix, position: null });
  }

  function ended() {
    worker?.terminate();
    worker = null;
    ready = false;
    clearTimeout(late);
    show("loading", false);
  }

  function progress({ loaded, of, what }) {
    at("loaded").max = of;
    at("loaded").value = loaded;
    at("loaded-text").textContent = what;
    if (what) return;
    ready = true;
    show("loading", false);
    next();
  }

  function next() {
    const one = asked[0];
    if (!ready || !one || one.sent) return;
    one.sent = true;
    worker.postMessage([one.path, one.question]);
    late = setTimeout(() => {
      const rest = asked.splice(1);
      ended();
      asked.splice(0, 1, ...rest);
      const fix = "give sizes values, look at a part, or take smaller extents";
      one.found({ error: { what: "an answer of more than 10 seconds", expected: "less work", fix, position: null } });
      if (asked.length) worker = begun();
    }, MOST);
  }

  if ("serviceWorker" in navigator && location.protocol !== "file:" && isSecureContext) navigator.serviceWorker.register("service.js").catch(() => {});

  function answered(text) {
    clearTimeout(late);
    asked.shift().found(JSON.parse(text));
    next();
  }
}
