// Pointer, wheel and keys for the lanes.

/** A scroll that began outside the lanes stays the page's until the wheel rests this long (ms). */
const WHEEL_REST = 250;

function attachInput(lanes) {
  attachWheel(lanes);
  attachPointer(lanes);
  attachKeys(lanes);
  attachOverview(lanes);
}

function attachWheel(lanes) {
  let last = -Infinity;
  let owner = "page";
  window.addEventListener(
    "wheel",
    (event) => {
      const inside = lanes.stage.contains(event.target);
      if (event.timeStamp - last > WHEEL_REST || event.ctrlKey) owner = inside ? "lanes" : "page";
      last = event.timeStamp;
      if (!inside || owner !== "lanes") return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        lanes.pan((sideways * lines) / lanes.width);
      } else {
        const x = event.clientX - lanes.stage.getBoundingClientRect().left;
        lanes.zoom(Math.exp((-event.deltaY * lines * (event.ctrlKey ? 6 : 1)) / 400), x);
      }
      pointAt(lanes, event);
    },
    { passive: false, capture: true },
  );
}

function panelUnder(lanes, event) {
  const panel = lanes.panels.find((each) => each.element.contains(event.target));
  if (!panel) return null;
  const box = panel.element.getBoundingClientRect();
  return { panel, x: event.clientX - box.left, y: event.clientY - box.top };
}

/** Show what is under the pointer. */
function pointAt(lanes, event) {
  const at = panelUnder(lanes, event);
  const found = at ? lanes.eventAt(at.panel, at.x, at.y) : -1;
  if (found !== lanes.hovered) {
    lanes.hovered = found;
    lanes.redraw();
  }
  if (found < 0) {
    lanes.tip.hidden = true;
    return;
  }
  if (lanes.tipOf !== found || lanes.tip.hidden) {
    lanes.tipOf = found;
    lanes.tip.replaceChildren(...describedElements(describe(...lanes.scene.source(found))));
    lanes.tip.hidden = false;
  }
  // Beside the pointer, within the window: below it if there is room, else above.
  const { offsetWidth: width, offsetHeight: height } = lanes.tip;
  const { clientX: x, clientY: y } = event;
  const below = y + 18 + height < window.innerHeight;
  lanes.tip.style.left = `${Math.max(8, Math.min(x + 14, window.innerWidth - width - 8))}px`;
  lanes.tip.style.top = `${below ? y + 18 : Math.max(4, y - height - 12)}px`;
}

function attachPointer(lanes) {
  const pointers = new Map();
  let moved = 0;
  let pinch = 0;
  const { stage } = lanes;
  const onPanel = (event) => lanes.panels.some((panel) => panel.element.contains(event.target));

  stage.addEventListener("pointerdown", (event) => {
    const at = panelUnder(lanes, event);
    // A press on the scroll bar is the scroll bar's.
    if (!at || event.button !== 0 || at.x > lanes.width) return;
    pointers.set(event.pointerId, event);
    moved = 0;
    pinch = spread(pointers);
  });
  window.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch" && stage.contains(event.target)) pointAt(lanes, event);
      return;
    }
    pointers.set(event.pointerId, event);
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved < 4) return;
    lanes.tip.hidden = true;
    stage.classList.add("dragging");
    if (pointers.size === 2) {
      const now = spread(pointers);
      const middle = [...pointers.values()].reduce((sum, each) => sum + each.clientX / 2, 0);
      if (pinch > 0 && now > 0) lanes.zoom(now / pinch, middle - stage.getBoundingClientRect().left);
      pinch = now;
    }
    lanes.pan(-dx / pointers.size / lanes.width);
    const at = panelUnder(lanes, before);
    if (at && event.pointerType !== "touch") at.panel.element.scrollTop -= dy;
  });
  const release = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    stage.classList.remove("dragging");
    pinch = spread(pointers);
    if (event.type === "pointerup" && moved < 4) {
      const at = panelUnder(lanes, event);
      if (at) lanes.select(lanes.eventAt(at.panel, at.x, at.y), { reveal: false });
    }
  };
  window.addEventListener("pointerup", release);
  window.addEventListener("pointercancel", release);
  stage.addEventListener("pointerleave", () => {
    lanes.hovered = -1;
    lanes.tip.hidden = true;
    lanes.redraw();
  });
  stage.addEventListener("dblclick", (event) => {
    if (onPanel(event) && lanes.selected >= 0) zoomTo(lanes, lanes.selected);
  });
}

/** The distance between two pointers; 0 unless there are two. */
function spread(pointers) {
  if (pointers.size !== 2) return 0;
  const [one, other] = pointers.values();
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
}

/** Fill the width with an event. */
function zoomTo(lanes, event) {
  lanes.show(lanes.scene.ts[event], lanes.scene.end(event), 0.1);
  lanes.reveal(event);
}

const KEYS = {
  w: (lanes) => lanes.zoom(1.35),
  s: (lanes) => lanes.zoom(1 / 1.35),
  "+": (lanes) => lanes.zoom(1.35),
  "=": (lanes) => lanes.zoom(1.35),
  "-": (lanes) => lanes.zoom(1 / 1.35),
  a: (lanes) => lanes.pan(-0.15),
  d: (lanes) => lanes.pan(0.15),
  f: (lanes) => lanes.fit(),
  0: (lanes) => lanes.show(...lanes.whole),
  ArrowRight: (lanes) => step(lanes, 1),
  ArrowLeft: (lanes) => step(lanes, -1),
  ArrowDown: (lanes) => change(lanes, 1),
  ArrowUp: (lanes) => change(lanes, -1),
  Enter: (lanes) => lanes.selected >= 0 && zoomTo(lanes, lanes.selected),
  l: (lanes) => follow(lanes),
  Escape: (lanes) => lanes.select(-1),
};

function attachKeys(lanes) {
  let over = false;
  lanes.stage.addEventListener("pointerenter", () => (over = true));
  lanes.stage.addEventListener("pointerleave", () => (over = false));
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inside = lanes.stage.contains(document.activeElement);
    // Keys are the lanes' while they have the focus, or the pointer is on them and nothing else has it.
    if (!inside && !(over && document.activeElement === document.body)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!KEYS[key]) return;
    event.preventDefault();
    KEYS[key](lanes);
  });
}

/** The next or previous event of the selected one's lane; without a selection the first one in view. */
function step(lanes, by) {
  if (lanes.selected < 0 || lanes.scene.laneOf[lanes.selected] < 0) {
    lanes.select(firstInView(lanes));
    return;
  }
  const { events } = lanes.scene.lanes[lanes.scene.laneOf[lanes.selected]];
  const next = events[events.indexOf(lanes.selected) + by];
  if (next != null) lanes.select(next);
}

/** The nearest event in the lane above or below. */
function change(lanes, by) {
  if (lanes.selected < 0 || lanes.scene.laneOf[lanes.selected] < 0) {
    lanes.select(firstInView(lanes));
    return;
  }
  const order = lanes.panels.flatMap((panel) => panel.rows.map((row) => row.lane));
  const middle = lanes.scene.ts[lanes.selected] + lanes.scene.dur[lanes.selected] / 2;
  const lane = order[order.findIndex((each) => each.number === lanes.scene.laneOf[lanes.selected]) + by];
  if (!lane) return;
  let at = Math.min(firstEndingAfter(lanes.scene, lane, middle), lane.events.length - 1);
  const before = lane.events[at - 1];
  if (before != null && lanes.scene.ts[lane.events[at]] > middle) {
    const after = lanes.scene.ts[lane.events[at]] - middle;
    if (middle - lanes.scene.end(before) < after) at--;
  }
  lanes.select(lane.events[at]);
}

/** The first event in view, on a stream if there is one. */
function firstInView(lanes) {
  const rows = lanes.panels.flatMap((panel) => panel.rows);
  const ranked = [...rows.filter((row) => row.lane.group.kind === "stream"), ...rows];
  for (const { lane } of ranked) {
    const event = lane.events[firstEndingAfter(lanes.scene, lane, lanes.from)];
    if (event != null && lanes.scene.ts[event] < lanes.from + lanes.span) return event;
  }
  return -1;
}

/** Along the line: from an activity to its launch, from a launch or an op to its first activity. */
function follow(lanes) {
  if (lanes.selected < 0) return;
  const [pair] = lanes.scene.links(lanes.selected).filter(([, , kind]) => kind === "launch");
  if (!pair) return;
  const [data, own] = lanes.scene.source(lanes.selected);
  lanes.select(data.isHost(own) ? pair[1] : lanes.scene.visible(pair[0]));
}

function attachOverview(lanes) {
  let held = false;
  const go = (event) => {
    const x = event.clientX - lanes.overview.getBoundingClientRect().left;
    const [first, last] = lanes.whole;
    lanes.move(first + (x / lanes.width) * (last - first) - lanes.span / 2, lanes.span);
  };
  lanes.overview.addEventListener("pointerdown", (event) => {
    held = true;
    lanes.overview.setPointerCapture(event.pointerId);
    go(event);
  });
  lanes.overview.addEventListener("pointermove", (event) => held && go(event));
  lanes.overview.addEventListener("pointerup", () => (held = false));
}
