// Variants side by side: one step of each on one time axis, and below that one variant on its own.

async function startComparison({ names, notes, periods, difference }) {
  if (!names.length) return;
  for (const opener of document.querySelectorAll("button[data-variant]")) {
    opener.addEventListener("click", () => showVariant(Number(opener.dataset.variant), true));
  }
  const data = await Promise.all(names.map((_, at) => dataOf(at)));
  drawStrips(document.getElementById("strips"), data, names, notes, periods);
  await showVariant(difference ? 1 : fastest(data), false);
}

/** The step that is drawn for a trace: of those its figures are over, the first that takes what most of them take. */
function typicalStep(data) {
  const used = data.steps.map((step, at) => at).filter((at) => data.steps[at].used);
  if (!used.length) return null;
  // From first to last activity: in the first steps the host may still be ahead by too little to keep the device busy.
  const lengths = used.map((at) => {
    const device = deviceWindow(data, at);
    return device ? device[1] - device[0] : data.steps[at].cpu_time_ns;
  });
  const middle = [...lengths].sort((a, b) => a - b)[(lengths.length - 1) >> 1];
  return used[lengths.findIndex((length) => Math.abs(length - middle) <= 0.02 * middle)];
}

/** [start, end] of a step's device activity (of all, without steps); null where it has none. */
function deviceWindow(data, step) {
  let [from, to] = [Infinity, -Infinity];
  data.stepOf.forEach((own, at) => {
    if (step != null && own !== step) return;
    from = Math.min(from, data.ts[data.hosts + at]);
    to = Math.max(to, data.end(data.hosts + at));
  });
  return from < to ? [from, to] : null;
}

function fastest(data) {
  const times = data.map((each) => {
    const step = typicalStep(each);
    return step == null ? Infinity : each.steps[step].device_time_ns || each.steps[step].cpu_time_ns;
  });
  return Math.max(0, times.indexOf(Math.min(...times)));
}

function drawStrips(root, data, names, notes, periods) {
  const onDevice = data.some((each) => each.hosts < each.count);
  const parts = data.map((each, at) => {
    const step = typicalStep(each);
    const device = deviceWindow(each, step);
    const shift = device ? device[0] : step == null ? each.window()[0] : each.steps[step].ts;
    const part = { data: each, shift, step, label: names[at], note: notes[at] };
    // From the end of the step's work to the next step's first, if that is worth a mark.
    const waits = device && periods[at] && step != null ? shift + periods[at] - device[1] : 0;
    if (waits > 0.05 * periods[at]) {
      part.idle = { from: device[1] - shift, to: periods[at], text: `idle ${timeText(waits)}` };
    }
    return part;
  });
  const scene = new Scene(parts);
  const tools = element("div", { class: "tools" });
  const panel = element("div", { class: "event-panel", "aria-live": "polite" });
  root.append(tools);
  const tell = (event) => {
    if (event < 0) {
      const text = onDevice
        ? "Each strip is the GPU's stream in one step, from the step's first device activity to, hatched, the next step's. Point at a kernel, or click it, to see what it is."
        : "Each group is one step on the CPU. Point at an op, or click it, to see what it is.";
      panel.replaceChildren(element("p", { class: "quiet" }, text));
      return;
    }
    panel.replaceChildren(...describedElements(describe(...scene.source(event)), "h3"));
  };
  const shown = { host: !onDevice, runtime: true, python: false };
  const lanes = new Lanes(root, scene, {
    panels: [["all", "One step of each variant. Arrow keys go from event to event.", ["thread", "stream"]]],
    shown, overview: false, onselect: tell,
  });
    const search = searchBox(lanes);
  let colors = legend(scene);
  const relaid = () => {
    search.again();
    colors.replaceWith((colors = legend(scene)));
    lanes.fit();
  };
  tools.append(...[search.box, onDevice && shownBox(lanes, "host", "with CPU ops", relaid), zoomButtons(lanes)].filter(Boolean));
  root.append(colors, helpText(), panel);
  tell(-1);
  page.lanes.push(lanes);
  page.strips = lanes;
}

/** Show one variant's own part of the page. */
async function showVariant(number, scroll) {
  for (const section of document.querySelectorAll(".variant")) section.hidden = Number(section.dataset.reading) !== number;
  for (const tab of document.querySelectorAll(".tabs button")) {
    tab.setAttribute("aria-pressed", String(Number(tab.dataset.variant) === number));
  }
  await openReading(number);
  if (scroll) document.getElementById("each").scrollIntoView();
}
