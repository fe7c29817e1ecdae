// Drawing lanes on canvas: a box for each event that is wide enough, one bar a pixel for those that are not.

const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const HEADING_FONT = '600 11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
/** Narrower boxes are merged with what else lies in their pixel. */
const NARROW = 1.5;
/** Narrower boxes carry no text. */
const LABELLED = 24;

/** Widths of letters in the lanes' font, measured once each, so that a label is cut exactly and cheaply. */
class Ruler {
  constructor(context) {
    this.context = context;
    this.widths = new Map();
    this.full = new Map();
  }

  letter(letter) {
    let width = this.widths.get(letter);
    if (width == null) {
      this.context.font = FONT;
      width = this.context.measureText(letter).width;
      this.widths.set(letter, width);
    }
    return width;
  }

  width(text) {
    let width = this.full.get(text);
    if (width == null) {
      width = 0;
      for (const letter of text) width += this.letter(letter);
      this.full.set(text, width);
    }
    return width;
  }

  /** A text of the scene if it fits, else its brief form, cut where need be. */
  label(scene, at, room) {
    const text = scene.texts[at];
    return this.width(text) <= room ? text : this.fit(scene.briefs[at], room);
  }

  /** The text, cut with an ellipsis to this width; empty where not even three letters fit. */
  fit(text, room) {
    if (this.width(text) <= room) return text;
    let left = room - this.letter("…");
    let kept = 0;
    for (const letter of text) {
      left -= this.letter(letter);
      if (left < 0) break;
      kept += letter.length;
    }
    return kept < 3 ? "" : `${text.slice(0, kept)}…`;
  }
}

/** What a drawing of lanes needs to know: {scene, palette, ruler, from, span, width, step, selected, hovered}. */
function drawLane(context, view, lane, top, height) {
  const { scene, from, span, width, palette } = view;
  const { events, sums, found } = lane;
  const perNs = width / span;
  const to = from + span;
  const searching = scene.matches !== null;
  let fill = null;
  for (let at = firstEndingAfter(scene, lane, from); at < events.length; ) {
    const event = events[at];
    const start = scene.ts[event];
    if (start >= to) break;
    const x = (start - from) * perNs;
    const wide = scene.dur[event] * perNs;
    let next = at + 1;
    let color = palette.fills[scene.color[event]];
    let strong = searching ? scene.matches[event] === 1 : view.step < 0 || scene.step[event] === view.step;
    if (wide >= NARROW) {
      const left = Math.max(x, -1);
      const right = Math.min(x + wide, width + 1);
      const shade = strong ? color.full : color.faint;
      if (shade !== fill) context.fillStyle = fill = shade;
      // A hairline between neighbors, as long as there is room for one.
      context.fillRect(left, top, Math.max(right - left - (wide > 4 ? 1 : 0.25), 0.75), height);
      if (right - left >= LABELLED) {
        const text = view.ruler.label(scene, scene.text[event], right - left - 8);
        if (text) {
          context.fillStyle = fill = strong ? palette.ink : palette.faintInk;
          context.fillText(text, Math.max(left, 0) + 4, top + height / 2 + 0.5);
        }
      }
    } else {
      const pixel = Math.floor(x);
      next = firstStartingAt(scene, lane, from + (pixel + 1) / perNs, at);
      // The last of them may reach far beyond this pixel: it is a box of its own.
      if (next - at > 1 && scene.dur[events[next - 1]] * perNs >= NARROW) next--;
      next = Math.max(next, at + 1);
      const covered = (sums[next] - sums[at]) * perNs;
      if (searching) strong = found[next] > found[at];
      else strong ||= view.step >= 0 && anyOfStep(scene, events, at, next, view.step);
      if (next - at > 1) color = palette.fills[longest(scene, events, at, next)];
      const shade = !strong ? color.faint : searching || covered > 0.45 ? color.full : color.soft;
      if (shade !== fill) context.fillStyle = fill = shade;
      context.fillRect(pixel, top, 1, height);
    }
    at = next;
  }
}

/** The color of the longest of some events; of a crowd a few are looked at. */
function longest(scene, events, from, to) {
  const stride = Math.max(1, Math.floor((to - from) / 8));
  let best = events[from];
  for (let at = from; at < to; at += stride) {
    if (scene.dur[events[at]] > scene.dur[best]) best = events[at];
  }
  return scene.color[best];
}

function anyOfStep(scene, events, from, to, step) {
  return scene.step[events[from]] === step || scene.step[events[to - 1]] === step;
}

/** Between the last activity of a step and the next step's first: the device waits. */
function drawIdle(context, view, idle, top, height) {
  const { from, span, width, palette } = view;
  const left = Math.max(((idle.from - from) / span) * width, 0);
  const right = Math.min(((idle.to - from) / span) * width, width);
  if (right - left < 3) return;
  context.save();
  context.beginPath();
  context.rect(left + 1, top, right - left - 1, height);
  context.clip();
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = left - height; x < right; x += 7) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
  context.strokeStyle = palette.line;
  context.strokeRect(left + 1.5, top + 0.5, right - left - 2, height - 1);
  const needed = view.ruler.width(idle.text);
  const inside = needed + 14 <= right - left;
  if (inside) {
    context.fillStyle = palette.ground;
    context.fillRect(left + 5, top + 4, needed + 6, height - 8);
  }
  // Nothing of this strip lies behind it: where it is too narrow the words stand beside it.
  context.fillStyle = palette.quiet;
  context.fillText(idle.text, inside ? left + 8 : right + 5, top + height / 2 + 0.5);
}

/** Round distances for the marks of an axis, at least this many pixels apart. */
function tickDistance(span, width, least) {
  const rough = (span / width) * least;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= rough);
}

/** The time axis: marks counted from `zero`. */
function drawAxis(context, view, zero, height) {
  const { from, span, width, palette } = view;
  const distance = tickDistance(span, width, 96);
  const unit = timeUnit(Math.max(Math.abs(from - zero), Math.abs(from + span - zero), 1));
  const decimals = Math.max(0, Math.ceil(-Math.log10(distance / unit[0]) - 1e-9));
  context.font = FONT;
  context.textBaseline = "middle";
  context.fillStyle = palette.quiet;
  context.strokeStyle = palette.line;
  context.lineWidth = 1;
  context.beginPath();
  for (let tick = Math.ceil((from - zero) / distance); tick * distance + zero <= from + span; tick++) {
    const x = Math.round(((tick * distance + zero - from) / span) * width) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
    const value = (tick * distance) / unit[0];
    const text = `${value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
    context.fillText(tick === 0 ? "0" : `${text} ${unit[1]}`, x + 4, height / 2 + 1);
  }
  context.stroke();
}
