// One scrolling part of the lanes: its rows, and a canvas as large as what is seen of it.

const HEIGHTS = { thread: 17, stream: 24 };
const GAP = 1;
const LABEL = 16;
const HEADING = 22;
const BETWEEN = 7;

class Panel {
  constructor(name, label, kinds) {
    this.name = name;
    this.kinds = kinds;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.spacer = element("div", { class: "spacer" }, this.canvas);
    this.element = element(
      "div",
      { class: "panel", "data-panel": name, tabindex: "0", role: "application", "aria-label": label },
      this.spacer,
    );
    this.context = this.canvas.getContext("2d");
  }

  /** Give each lane of the scene that belongs here its place. */
  layOut(scene) {
    this.rows = [];
    this.labels = [];
    let top = 2;
    for (const group of scene.groups) {
      if (!this.kinds.includes(group.kind)) continue;
      if (group.heading) {
        this.labels.push({ top: top + 2, height: HEADING, text: group.heading, note: scene.parts[group.part].note });
        top += HEADING;
      }
      if (group.label) {
        this.labels.push({ top, height: LABEL, text: group.label, quiet: true });
        top += LABEL;
      }
      for (const lane of group.lanes) {
        const height = HEIGHTS[group.kind];
        this.rows.push({ lane, top, height, idle: lane === group.lanes[0] ? group.idle : null });
        top += height + GAP;
      }
      top += BETWEEN;
    }
    this.height = this.rows.length ? top - BETWEEN + 2 : 0;
    this.spacer.style.height = `${this.height}px`;
    this.element.hidden = !this.rows.length;
  }

  get seen() {
    return this.element.clientHeight;
  }

  resize(width, ratio) {
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${this.seen}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(this.seen * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  draw(view) {
    this.context.fillStyle = view.palette.ground;
    this.context.fillRect(0, 0, view.width, this.seen);
    this.paint(this.context, view, this.element.scrollTop, this.seen);
  }

  /** Paint what lies from `scroll` on in this height. */
  paint(context, view, scroll, seen) {
    context.textBaseline = "middle";
    for (const row of this.rows) {
      const top = row.top - scroll;
      if (top > seen || top + row.height < 0) continue;
      context.font = FONT;
      if (row.idle) drawIdle(context, view, row.idle, top, row.height);
      drawLane(context, view, row.lane, top, row.height);
    }
    for (const label of this.labels) {
      const top = label.top - scroll;
      if (top <= seen && top + label.height >= 0) this.#label(context, view, label, top);
    }
  }

  #label(context, view, label, top) {
    const middle = top + label.height / 2 + 1;
    context.font = label.quiet ? FONT : HEADING_FONT;
    context.fillStyle = label.quiet ? view.palette.quiet : view.palette.text;
    const text = label.quiet ? view.ruler.fit(label.text, view.width - 12) : label.text;
    context.fillText(text, 4, middle);
    if (!label.note) return;
    const after = 4 + context.measureText(text).width + 10;
    context.font = FONT;
    context.fillStyle = view.palette.quiet;
    context.fillText(view.ruler.fit(label.note, view.width - after - 4), after, middle);
  }

  /** The row at this height of the panel as it is scrolled. */
  rowAt(y) {
    const at = y + this.element.scrollTop;
    return this.rows.find((row) => at >= row.top && at < row.top + row.height + GAP) || null;
  }

  rowOf(lane) {
    return this.rows.find((row) => row.lane.number === lane) || null;
  }

  scrollTo(row) {
    const { element: box } = this;
    if (row.top < box.scrollTop) box.scrollTop = Math.max(0, row.top - LABEL - 4);
    else if (row.top + row.height > box.scrollTop + this.seen) box.scrollTop = row.top + row.height - this.seen + 8;
  }
}
