// The lanes: threads over streams on one time axis, with what can be done to them. Input is in lanes_input.js.

/** The closest look: this many nanoseconds over the whole width. */
const CLOSEST = 20;

class Lanes {
  /**
   * `panels` as [name, label, kinds of groups]; `shown` as Scene.layOut takes it; `home` the window [from, to] to open
   * with (all, if left out); `zero` the time that the axis counts from.
   */
  constructor(root, scene, { panels, shown, home, zero = 0, step = -1, overview = true, onselect = null }) {
    this.root = root;
    this.scene = scene;
    this.shown = shown;
    this.zero = zero;
    this.step = step;
    this.selected = -1;
    this.hovered = -1;
    this.onselect = onselect;
    this.frames = 0;
    this.panels = panels.map(([name, label, kinds]) => new Panel(name, label, kinds));
    this.overview = element("canvas", { class: "overview", "aria-hidden": "true" });
    this.overview.hidden = !overview;
    this.overviewCopy = document.createElement("canvas");
    this.axis = element("canvas", { class: "axis", "aria-hidden": "true" });
    this.overlay = element("canvas", { class: "overlay", "aria-hidden": "true" });
    this.tip = element("div", { class: "tip", role: "tooltip", hidden: true });
    this.stage = element("div", { class: "stage" }, this.overview, this.axis);
    this.stage.append(...this.panels.map((panel) => panel.element), this.overlay);
    root.append(this.stage, this.tip);
    this.ruler = new Ruler(this.axis.getContext("2d"));
    this.palette = readPalette();
    this.layOut();
    this.fit = () => this.show(...(home || this.whole));
    this.fit();
    for (const panel of this.panels) panel.element.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.resize()).observe(this.stage);
    attachInput(this);
  }

  /** Read the theme's colors again. */
  repaint() {
    this.palette = readPalette();
    this.redraw();
  }

  layOut() {
    this.scene.layOut(this.shown);
    this.whole = sceneWindow(this.scene);
    for (const panel of this.panels) panel.layOut(this.scene);
    this.resize();
  }

  resize() {
    const box = this.panels.find((panel) => !panel.element.hidden);
    this.width = Math.max(50, (box ? box.element : this.stage).clientWidth);
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    for (const panel of this.panels) panel.resize(this.width, ratio);
    for (const [canvas, height] of [[this.overview, 26], [this.axis, 20], [this.overlay, this.stage.clientHeight]]) {
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${height}px`;
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.draw();
  }

  /** Show this part of the time axis, with a margin around it. */
  show(from, to, margin = 0.02) {
    const span = Math.max(to - from, CLOSEST);
    this.move(from - margin * span, span * (1 + 2 * margin));
  }

  /** Show `span` nanoseconds from `from` on, kept within the recording. */
  move(from, span) {
    const [first, last] = this.whole;
    const room = 0.05 * (last - first) + CLOSEST;
    this.span = Math.min(Math.max(span, CLOSEST), last - first + 2 * room);
    this.from = Math.min(Math.max(from, first - room), last + room - this.span);
    this.redraw();
  }

  /** Zoom by a factor (above 1: closer) around a pixel of the width. */
  zoom(factor, x = this.width / 2) {
    const at = this.from + (x / this.width) * this.span;
    const span = Math.max(this.span / factor, CLOSEST);
    this.move(at - (x / this.width) * span, span);
  }

  pan(share) {
    this.move(this.from + share * this.span, this.span);
  }

  /** The step's own events are drawn in full, all others faint; -1 for all. */
  chooseStep(step, window) {
    this.step = step;
    this.show(...window);
  }

  timeAt(x) {
    return this.from + (x / this.width) * this.span;
  }

  xOf(time) {
    return ((time - this.from) / this.span) * this.width;
  }

  /** The event at a pixel of a panel; narrow ones are met within two pixels. */
  eventAt(panel, x, y) {
    const row = panel.rowAt(y);
    if (!row) return -1;
    const { events } = row.lane;
    const time = this.timeAt(x);
    const near = (2 / this.width) * this.span;
    let best = -1;
    let nearest = near;
    for (let at = firstEndingAfter(this.scene, row.lane, time - near); at < events.length; at++) {
      const event = events[at];
      const start = this.scene.ts[event];
      if (start > time + near) break;
      if (start <= time && time < this.scene.end(event)) return event;
      const distance = Math.min(Math.abs(start - time), Math.abs(this.scene.end(event) - time));
      if (distance <= nearest) [best, nearest] = [event, distance];
    }
    return best;
  }

  select(event, { reveal = true, close = false } = {}) {
    this.selected = event;
    if (event >= 0 && reveal) this.reveal(event, close);
    if (this.onselect) this.onselect(event);
    this.redraw();
  }

  /** Bring an event into view; `close`: near enough to read it. */
  reveal(event, close = false) {
    const visible = this.scene.visible(event);
    const start = this.scene.ts[event];
    const length = this.scene.dur[event];
    const inside = start >= this.from && start + length <= this.from + this.span;
    const pixels = (length / this.span) * this.width;
    if (close && (pixels < 60 || !inside)) {
      const span = Math.max(length * 8, CLOSEST);
      this.move(start + length / 2 - span / 2, span);
    } else if (!inside) {
      const span = Math.max(this.span, length * 1.2);
      this.move(start + length / 2 - span / 2, span);
    }
    for (const panel of this.panels) {
      const row = visible >= 0 && panel.rowOf(this.scene.laneOf[visible]);
      if (row) panel.scrollTo(row);
    }
  }

  redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => this.draw());
  }

  draw() {
    if (this.pending) cancelAnimationFrame(this.pending);
    this.pending = 0;
    if (!this.width || this.span == null) return;
    this.frames++;
    if (!this.overview.hidden) this.#drawOverview();
    const axis = this.axis.getContext("2d");
    axis.clearRect(0, 0, this.width, 20);
    drawAxis(axis, this, this.zero, 20);
    for (const panel of this.panels) if (!panel.element.hidden) panel.draw(this);
    this.#drawOverlay();
  }

  /** All that is in view, however far it scrolls, on one canvas of this width: for paper. */
  picture(width) {
    const panels = this.panels.filter((panel) => !panel.element.hidden);
    const height = Math.min(20 + panels.reduce((sum, panel) => sum + panel.height + 1, 0), 2400);
    const canvas = element("canvas", { class: "paper", "aria-hidden": "true", width: 2 * width, height: 2 * height });
    const context = canvas.getContext("2d");
    const view = { ...this, width, ruler: this.ruler };
    context.setTransform(2, 0, 0, 2, 0, 0);
    context.fillStyle = this.palette.ground;
    context.fillRect(0, 0, width, height);
    drawAxis(context, view, this.zero, 20);
    let top = 20;
    for (const panel of panels) {
      context.fillStyle = this.palette.line;
      context.fillRect(0, top, width, 1);
      context.setTransform(2, 0, 0, 2, 0, 2 * (top + 1));
      panel.paint(context, view, 0, panel.height);
      context.setTransform(2, 0, 0, 2, 0, 0);
      top += panel.height + 1;
    }
    return canvas;
  }

  /** All of the recording in little: device activity, with the part in view framed. */
  #drawOverview() {
    const context = this.overview.getContext("2d");
    const ratio = this.overview.width / this.width;
    const [first, last] = this.whole;
    const key = [this.overview.width, this.palette.ground, this.step, this.scene.version].join();
    const view = {
      scene: this.scene, palette: this.palette, ruler: { label: () => "" },
      from: first, span: last - first || 1, width: this.width, step: this.step,
    };
    if (this.overviewKey !== key) {
      this.overviewKey = key;
      this.overviewCopy.width = this.overview.width;
      this.overviewCopy.height = this.overview.height;
      const copy = this.overviewCopy.getContext("2d");
      copy.setTransform(ratio, 0, 0, ratio, 0, 0);
      copy.fillStyle = this.palette.ground;
      copy.fillRect(0, 0, this.width, 26);
      const streams = this.scene.groups.filter((group) => group.kind === "stream").slice(0, 6);
      const groups = streams.length ? streams : this.scene.groups.slice(0, 3);
      const height = Math.min(20, Math.floor(20 / Math.max(groups.length, 1)));
      groups.forEach((group, at) => drawLane(copy, view, group.lanes[0], 3 + at * height, height - 1));
    }
    context.drawImage(this.overviewCopy, 0, 0, this.width, 26);
    const left = ((this.from - first) / view.span) * this.width;
    const right = left + (this.span / view.span) * this.width;
    context.globalAlpha = 0.6;
    context.fillStyle = this.palette.band;
    context.fillRect(0, 0, Math.max(0, left), 26);
    context.fillRect(Math.min(right, this.width), 0, this.width, 26);
    context.globalAlpha = 1;
    context.strokeStyle = this.palette.accent;
    context.strokeRect(Math.max(left, 0) + 0.5, 0.5, Math.max(2, Math.min(right, this.width) - Math.max(left, 0) - 1), 25);
  }

  /** Where an event is drawn, in the overlay's pixels; clamped to its panel where that is scrolled. */
  place(event) {
    const shown = this.scene.visible(event);
    if (shown < 0) return null;
    for (const panel of this.panels) {
      const row = panel.element.hidden ? null : panel.rowOf(this.scene.laneOf[shown]);
      if (!row) continue;
      const top = row.top - panel.element.scrollTop;
      const offset = panel.element.offsetTop;
      const low = Math.min(Math.max(top, 0), panel.seen);
      const high = Math.min(Math.max(top + row.height, 0), panel.seen);
      const left = this.xOf(this.scene.ts[event]);
      const right = this.xOf(this.scene.end(event));
      return { left, right: Math.max(right, left + 1), top: offset + low, bottom: offset + high, shown: high > low };
    }
    return null;
  }

  #drawOverlay() {
    const context = this.overlay.getContext("2d");
    context.clearRect(0, 0, this.width, this.overlay.clientHeight);
    const shown = [...new Set([this.selected, this.hovered])].filter((event) => event >= 0);
    for (const event of shown) {
      for (const [from, to, kind] of this.scene.links(event)) this.#link(context, from, to, kind);
    }
    for (const event of shown) {
      const box = this.place(event);
      if (!box || !box.shown) continue;
      context.strokeStyle = this.palette.text;
      context.lineWidth = event === this.selected ? 2 : 1;
      const left = Math.max(box.left, -4);
      context.strokeRect(left, box.top, Math.min(box.right, this.width + 4) - left, box.bottom - box.top);
    }
  }

  #link(context, from, to, kind) {
    const start = this.place(from);
    const end = this.place(to);
    if (!start || !end) return;
    const launch = kind === "launch";
    const x1 = launch ? (start.left + start.right) / 2 : start.right;
    const x2 = launch ? end.left : end.left;
    if (Math.max(x1, x2) < -50 || Math.min(x1, x2) > this.width + 50) return;
    const down = end.top >= start.bottom;
    const y1 = down ? start.bottom : (start.top + start.bottom) / 2;
    const y2 = down ? end.top : (end.top + end.bottom) / 2;
    const bend = Math.max(12, Math.abs(y2 - y1) / 2);
    context.strokeStyle = this.palette.accent;
    context.lineWidth = 1.25;
    context.setLineDash(launch ? [] : [4, 3]);
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = this.palette.accent;
    context.beginPath();
    context.arc(x2, y2, 2.5, 0, 7);
    context.fill();
  }
}
