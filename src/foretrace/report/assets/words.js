// Numbers and small pieces of page, as people read them. Text from a trace only ever becomes textContent.

const UNITS = [
  [1e9, "s", 3],
  [1e6, "ms", 3],
  [1e3, "us", 1],
  [1, "ns", 0],
];

/** The unit for times up to this many nanoseconds: [divisor, name, decimals], as foretrace.units has it. */
function timeUnit(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return UNITS[0];
  if (size >= 1e5) return UNITS[1];
  return size >= 1e3 ? UNITS[2] : UNITS[3];
}

function timeText(ns, unit = timeUnit(ns)) {
  return `${timeNumber(ns, unit)} ${unit[1]}`;
}

function timeNumber(ns, [divisor, , decimals]) {
  const text = (ns / divisor).toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return ns > 0 && !/[1-9]/.test(text) ? `<${(10 ** -decimals).toFixed(decimals)}` : text;
}

function shareText(share) {
  const percent = 100 * share;
  if (percent > 0 && percent < 1) return percent < 0.05 ? "<0.1 %" : `${percent.toFixed(1)} %`;
  return `${percent.toFixed(0)} %`;
}

function bytesText(size) {
  for (const [scale, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (Math.abs(size) >= scale) return `${Number((size / scale).toPrecision(3))} ${unit}`;
  }
  return `${size} B`;
}

function numberText(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

function countText(number, one, many = `${one}s`) {
  return number === 1 ? `1 ${one}` : `${number ? numberText(number) : "no"} ${many}`;
}

/** An element with attributes (`class`, `title`, ...) and children; strings become text. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}
