// Colors that mean something: what a kernel does, what an event of the host is. Their values are in page.css.

/** Color names; an event's color is a position here, and `--NAME` is its value in the style sheet. */
const COLORS = [
  "matrix", "attention", "reduce", "element", "move", "fill", "talk", "other",
  "op", "annotation", "runtime", "python", "overhead",
];
const COLOR = Object.fromEntries(COLORS.map((name, at) => [name, at]));

/** Kernel roles (foretrace.names) by color. */
const ROLE_COLOR = {
  gemm: "matrix", convolution: "matrix",
  attention_forward: "attention", attention_backward: "attention",
  attention_decode: "attention", attention_combine: "attention",
  softmax: "reduce", normalization: "reduce", reduction: "reduce",
  elementwise: "element", cast: "element", random: "element", optimizer: "element",
  copy: "move", gather: "move", scatter: "move", sort: "move",
  memset: "fill", communication: "talk",
};
const KIND_COLOR = { memcpy: "move", memset: "fill" };

/** What the legend says of a color. */
const COLOR_WORDS = {
  matrix: "GEMM, convolution", attention: "fused attention", reduce: "softmax, norm, reduction",
  element: "elementwise", move: "copy, gather, sort", fill: "memset", talk: "communication", other: "other kernel",
  op: "op", annotation: "annotation", runtime: "runtime call", python: "Python frame", overhead: "profiler overhead",
};

/** Categories (foretrace.trace.kineto.Category) of host events. */
const CATEGORY = { OP: 1, ANNOTATION: 2, PYTHON: 3, RUNTIME: 4, DRIVER: 5, OVERHEAD: 10 };
const CATEGORY_COLOR = { 1: "op", 2: "annotation", 3: "python", 4: "runtime", 5: "runtime", 10: "overhead" };

/** The color of a row of the kernel table. */
function kernelColor(row, decoded) {
  const facts = decoded[row.name];
  return KIND_COLOR[row.kind] || (facts && ROLE_COLOR[facts.role]) || "other";
}

/** The least that a box says of a kernel: the color tells the rest. */
function briefLabel(row, decoded) {
  const facts = decoded[row.name];
  if (row.kind !== "kernel") return row.kind === "memcpy" ? "copy" : row.kind;
  if (!facts || facts.role === "other") return row.short;
  if (facts.role === "gemm") return "GEMM";
  if (facts.role.startsWith("attention")) return "attention";
  return (["elementwise", "reduction", "copy"].includes(facts.role) && facts.op) || facts.role;
}

/** The theme's colors, read once a theme: fills in three strengths, and what lines and text are drawn with. */
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const ground = value("lane-ground");
  const fills = COLORS.map((name) => {
    const full = value(name);
    return { full, soft: mix(full, ground, 0.62), faint: mix(full, ground, 0.26) };
  });
  return {
    fills, ground,
    ink: value("lane-ink"), quiet: value("quiet"), line: value("line"), accent: value("accent"), text: value("text"),
    band: value("lane-band"), faintInk: mix(value("lane-ink"), ground, 0.55),
  };
}

/** `share` of the first color over the second, both as #rrggbb. */
function mix(over, under, share) {
  const part = (text, at) => parseInt(text.slice(1 + 2 * at, 3 + 2 * at), 16);
  const mixed = [0, 1, 2].map((at) => Math.round(share * part(over, at) + (1 - share) * part(under, at)));
  return `#${mixed.map((level) => level.toString(16).padStart(2, "0")).join("")}`;
}
