// The page of `tla explore`. What is answered is shown as text alone: textContent, or drawn on a canvas. This file: elements, and what the page begins with.
"use strict";

const at = id => document.getElementById(id);
//: The page that is published, whose links work everywhere.
const PUBLIC = "https://tla-layouts.github.io/tla/explore/";
//: By role, titles and texts; the first of all is drawn while nothing is typed. A text may come with how it is looked at.
const EXAMPLES = {
  "CUDA and CuTe": [
    ["A tile of CuTe", "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"],
    ["A conflict of ldmatrix, and its mend", "(_64,_64):(_64,_1)", { "access": "ldmatrix.x4", "bits": "16" }],
    ["A swizzled tensor, as CuTe prints it", "Sw<3,4,3>_smem_ptr[16b](0x0) o (_8,_64):(_64,_1)"],
    ["The address that a kernel computes", 'layout_of("(row/8)*512 + (row%8)*64 + ((col/8) ^ (row%8))*8 + col%8", (64, 64), "row,col")', { "access": "ldmatrix.x4", "bits": "16" }],
    ["A divide, step by step", "A = (_8,_12):(_12,_1); zipped_divide(A, (_4, _3))"],
    ["An MMA: who holds what", "SM80_16x8x16_F32F16F16F32_TN"],
    ["A tiled copy", "make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (_16,_8):(_8,_1), (_1,_8):(_0,_1))"],
    ["Two layouts compared", "(_8,_8):(_8,_1), Sw<3,0,3> o _0 o (_8,_8):(_8,_1)"],
    ["A composition", "composition((6,2):(8,2), (4,3):(3,1))"],
    ["A product", "block = (_2,_5):(_5,_1); blocked_product(block, (_3,_4):(_1,_3))"],
  ],
  "Triton and AMD": [
    ["A tensor of Triton", "tensor<32x32xf16, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>>"],
    ["A layout of Gluon", "BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])"],
    ["An MFMA of AMD", "v_mfma_f32_16x16x16_f16"],
  ],
  "TPU and XLA": [
    ["A tiled array, and its padding", "bf16[20,250]{1,0:T(8,128)(2,1)}"],
    ["A relayout", "relayout(f32[16,32]{1,0:T(8,16)}, f32[16,32]{0,1})"],
    ["A memory reference of Mosaic", "memref<16x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>"],
  ],
  "Ascend": [
    ["A fractal of a matrix", "A = MakeLayout[half, zN](100, 60); GetTileLayout(A, (32, 32), (16, 16))"],
    ["Sizes that are not known", "MakeLayout[half, zN](M, N)"],
  ],
};
const FIRST = Object.values(EXAMPLES)[0][0][1];
const COLOURS = ["auto", "tile", "offset", "bank", "ub_bank", "thread", "value", "lane", "sublane", "packing", "none"];
//: Who may access a layout: groups of names, as tla.access.patterns() has them.
const WHO = {
  "NVIDIA, matrices": ["ldmatrix", "stmatrix"].flatMap(name => ["", ".trans"].flatMap(trans => [4, 2, 1].map(n => `${name}.x${n}${trans}`))),
  "NVIDIA, shared memory": ["cp.async.16", "16 bytes down the rows", "a row", "a column"],
  "NVIDIA, global memory": ["global row", "global column"],
  "AMD, LDS": ["ds_read_b128", "ds_read_b64", "ds_write_b128", "ds_write_b64", "ds_read_b128 gfx950", "ds_read_b64 gfx950", "ds_write_b128 gfx950", "ds_write_b64 gfx950", "ds_load_b128 gfx1100", "ds_load_b64 gfx1100", "ds_store_b128 gfx1100", "ds_store_b64 gfx1100", "ds_load_b128 gfx1200", "ds_load_b64 gfx1200", "ds_store_b128 gfx1200", "ds_store_b64 gfx1200", "global_load_lds_dword", "global_load_lds_dword gfx950", "global_load_lds_dwordx4 gfx950"],
  "Ascend, UB": ["UB rows", "UB column"],
};
const OTHER = "a tiled copy, an atom, Triton's, or (thread, value) …";
const SHOWN = ["offset", "index", "coordinate"];
const VIEWS = { "offsets": "offsets", "threads": "who holds what", "memory": "memory by banks" };
const ZOOM = { fit: 0, "10 %": 0.1, "25 %": 0.25, "50 %": 0.5, "75 %": 0.75, "100 %": 1, "150 %": 1.5, "200 %": 2 };
const FORMATS = { "SVG": "svg", "PNG": "png", "TikZ": "tikz", "HTML with hover": "html", "CSV of offsets": "csv", "text": "txt" };
const MARK = "#c01c5c";

/** An element with a text and children. */
function made(tag, text = "", ...children) {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}

function classed(name, element) { element.className = name; return element; }

/** A button with a text, and what it does. */
function button(text, does) {
  const element = Object.assign(made("button", text), { type: "button" });
  element.addEventListener("click", does);
  return element;
}

function show(id, visible) { at(id).hidden = !visible; }

/** Fill a dl with pairs of a name and a text. */
function pairs(element, entries) {
  element.replaceChildren(...entries.flatMap(([name, text]) => [made("dt", name), made("dd", text)]));
  return element;
}

function chosen(select, texts) { select.append(...texts.map(t => new Option(t, t))); }

/** A box that is shown by a button, and hidden by it, by Escape, or by a click elsewhere. */
function popup(opener, box) {
  const turn = open => { box.hidden = !open; opener.setAttribute("aria-expanded", open); };
  opener.addEventListener("click", () => turn(box.hidden));
  document.addEventListener("click", event => { if (!box.contains(event.target) && event.target !== opener) turn(false); });
  for (const element of [opener, box]) element.addEventListener("keydown", event => { if (event.key === "Escape") { turn(false); opener.focus(); } });
}
