// What stands over the lanes: step chooser, search, what is shown, zoom.

let fields = 0;

function button(text, label, act, more = {}) {
  return element("button", { type: "button", "aria-label": label, title: label, onclick: act, ...more }, text);
}

/** A step chooser for one trace: `choose(step)` with a step's number, or -1 for all. */
function stepChooser(data, choose) {
  if (!data.steps.length) return null;
  const id = `field-${fields++}`;
  const select = element("select", { id, onchange: () => choose(Number(select.value)) });
  select.append(element("option", { value: -1 }, `all ${countText(data.steps.length, "step")}`));
  const held = new Set(data.stepOf);
  data.steps.forEach((step, at) => {
    const what = data.kernels.length ? `${countText(step.kernels, "kernel")}, ${timeText(step.device_time_ns)}` : timeText(step.cpu_time_ns);
    const option = element("option", { value: at }, `${step.name}: ${what}${step.cold ? " (cold)" : ""}`);
    // A step whose events the lanes leave out cannot be shown.
    option.disabled = data.kernels.length > 0 && step.kernels + step.memcpys + step.memsets > 0 && !held.has(at);
    select.append(option);
  });
  const go = (by) => {
    let at = Number(select.value);
    do at += by;
    while (select.options[at + 1]?.disabled);
    if (at < 0 || at >= data.steps.length) return;
    select.value = String(at);
    choose(at);
  };
  const box = element(
    "div", { class: "tool" },
    element("label", { for: id }, "Step"), select,
    button("‹", "Previous step", () => go(-1)), button("›", "Next step", () => go(1)),
  );
  return { box, set: (step) => (select.value = String(step)) };
}

function searchBox(lanes) {
  let found = [];
  let at = -1;
  let waiting = 0;
  const count = element("span", { class: "count", role: "status" });
  const say = () => {
    if (!lanes.scene.matches) count.textContent = "";
    else count.textContent = found.length ? `${at < 0 ? "" : `${numberText(at + 1)} of `}${numberText(found.length)}` : "no match";
  };
  const look = () => {
    clearTimeout(waiting);
    waiting = 0;
    found = lanes.scene.search(input.value);
    at = -1;
    lanes.redraw();
    say();
  };
  const go = (by) => {
    if (waiting) look();
    if (!found.length) return;
    // The first match at or after what is in view, then one by one.
    if (at < 0) {
      at = found.findIndex((event) => lanes.scene.end(event) >= lanes.from);
      if (at < 0) at = 0;
      if (by < 0) at = (at - 1 + found.length) % found.length;
    } else at = (at + by + found.length) % found.length;
    lanes.select(found[at], { close: true });
    say();
  };
  const input = element("input", {
    type: "search", class: "search", placeholder: "Search kernels and ops", "aria-label": "Search the lanes by name",
    autocomplete: "off", spellcheck: "false",
    oninput: () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 120);
    },
    onkeydown: (event) => {
      if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape" && input.value) {
        input.value = "";
        look();
      } else return;
      event.preventDefault();
    },
  });
  const box = element(
    "div", { class: "tool" }, input,
    button("‹", "Previous match", () => go(-1)), button("›", "Next match", () => go(1)), count,
  );
  return { box, again: () => input.value && look() };
}

/** A check box that says whether some kind of event has lanes. */
function shownBox(lanes, key, text, after) {
  const box = element("input", {
    type: "checkbox",
    onchange: () => {
      lanes.shown[key] = box.checked;
      lanes.layOut();
      after();
    },
  });
  box.checked = lanes.shown[key];
  return element("label", { class: "tool check" }, box, text);
}

function zoomButtons(lanes) {
  const large = button("⤢", "Larger lanes", () => {
    const on = lanes.root.classList.toggle("large");
    large.setAttribute("aria-pressed", String(on));
    lanes.layOut();
  }, { "aria-pressed": "false" });
  return element(
    "div", { class: "tool" },
    button("+", "Closer (W)", () => lanes.zoom(1.5)), button("−", "Further away (S)", () => lanes.zoom(1 / 1.5)),
    button("fit", "Fit the step (F)", () => lanes.fit()), large,
  );
}

/** The colors that occur, in words. */
function legend(scene) {
  const seen = new Set();
  for (const lane of scene.lanes) for (const event of lane.events) seen.add(scene.color[event]);
  const items = COLORS.map((name, at) => {
    if (!seen.has(at)) return null;
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = `var(--${name})`;
    return element("li", {}, swatch, COLOR_WORDS[name]);
  });
  return element("ul", { class: "legend", "aria-label": "Colors" }, ...items);
}

function helpText() {
  const keys = [
    ["W S", "closer, further"], ["A D", "left, right"], ["F", "fit the step"], ["0", "all"],
    ["← → ↑ ↓", "from event to event"], ["Enter", "zoom to it"], ["L", "along its launch line"], ["Esc", "let go"],
  ];
  const parts = keys.flatMap(([key, what]) => [element("kbd", {}, key), ` ${what}  `]);
  return element("p", { class: "help" }, "Wheel zooms, drag moves. ", ...parts);
}
