// An index expression of a kernel, whose layout is read back: a form that writes layout_of("...", (64, 64), language="cuda").
"use strict";

const LANGUAGES = ["c", "cpp", "cuda", "hip", "opencl", "python", "numpy", "sympy", "tvm", "jax", "pallas", "triton", "mlir", "latex"];

/** A text in quotes that do not stand in it; null where all do. */
function quoted(text) {
  const mark = ['"', "'", '"""', "'''"].find(quotes => !text.includes(quotes) && !text.endsWith(quotes[0]));
  return mark ? mark + text + mark : null;
}

function expressed() {
  const text = quoted(at("expression-text").value.trim()), coords = at("expression-coords").value.trim();
  at("expression-text").setCustomValidity(text ? "" : "leave one kind of quotes out of it");
  if (!at("expressed").reportValidity()) return;
  const values = at("expression-values").value.trim(), shape = at("expression-shape").value.trim();
  const extents = shape && (shape.includes(",") ? `, (${shape})` : `, ${shape}`);
  const more = [["language", at("expression-language").value], ["coords", coords], ["values", values]].filter(([, said]) => said);
  at("expression").close();
  take(`layout_of(${text}${extents}${more.map(([name, said]) => `, ${name}=${quoted(said) ?? `"${said}"`}`).join("")})`, {});
}

chosen(at("expression-language"), LANGUAGES);
at("expression-language").value = "cuda";
at("open-expression").addEventListener("click", () => {
  if (at("error").textContent && !at("expression-text").value) at("expression-text").value = at("text").value;  // an address, typed as it is
  at("expression").showModal();
});
at("close-expression").addEventListener("click", () => at("expression").close());
at("expression-text").addEventListener("input", () => at("expression-text").setCustomValidity(""));
at("expressed").addEventListener("submit", event => { event.preventDefault(); expressed(); });
