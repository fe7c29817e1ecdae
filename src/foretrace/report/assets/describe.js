// What is said of one event: in the box beside the pointer, and in the panel under the lanes.

/** {title, sentence, name, facts: [[word, text], ...]} of an event of a trace. */
function describe(data, event) {
  return data.isHost(event) ? describeHost(data, event) : describeActivity(data, event);
}

function describeHost(data, event) {
  const kind = COLOR_WORDS[COLORS[data.color(event)]];
  const facts = [["CPU time", timeText(data.dur[event])]];
  const shapes = data.shapes[event];
  if (shapes >= 0) facts.push(["inputs", data.strings[shapes]]);
  const launched = data.launchedIn(event);
  if (launched.length) {
    let time = 0;
    for (const activity of launched) time += data.dur[activity];
    facts.push(["launches", `${countText(launched.length, "activity", "activities")}, ${timeText(time)} of device time`]);
  }
  const path = data.around(event).slice(-4).map((around) => data.name(around));
  if (path.length) facts.push(["inside", path.join(" > ")]);
  if (data.forward.has(event)) facts.push(["backward of", data.name(data.forward.get(event))]);
  const back = data.backward.get(event);
  if (back) facts.push(["its backward", back.slice(0, 3).map((op) => data.name(op)).join(", ")]);
  return { title: data.name(event), kind, sentence: "", name: "", facts };
}

function describeActivity(data, event) {
  const row = data.kernel(event);
  const facts = [["device time", timeText(data.dur[event])]];
  const decoded = data.decoded[row.name];
  const launch = data.launch(event);
  if (launch === -1) facts.push(["launch", "before the recording began, or dropped: it belongs to no step and no op"]);
  else {
    const delay = -data.launchDelay[event - data.hosts];
    facts.push(["launch", `${row.launch || "unknown call"}, ${timeText(Math.abs(delay))} ${delay < 0 ? "after" : "before"} it started`]);
  }
  const owner = data.ownerOf[event - data.hosts];
  if (owner >= 0) {
    const path = [...data.around(owner).slice(-3), owner].map((around) => data.name(around));
    facts.push(["owner", path.join(" > ")]);
    const shapes = data.shapes[owner];
    if (shapes >= 0) facts.push(["inputs", data.strings[shapes]]);
  } else if (row.owner) facts.push(["owner", row.owner]);
  facts.push(...configuration(row));
  if (row.graph) facts.push(["graph", "launched by a graph replay: the ops inside are not recorded"]);
  const kind = row.kind === "kernel" ? COLOR_WORDS[COLORS[data.color(event)]] : row.kind;
  return { title: row.short, kind, sentence: decoded?.words || "", name: row.name === row.short ? "" : row.name, facts };
}

/** Launch configuration and occupancy of a row of the kernel table. */
function configuration(row) {
  const facts = [];
  if (row.bytes != null && row.calls) {
    const each = row.bytes / row.calls;
    facts.push(["moved", `${bytesText(each)} each${row.time_ns ? `, ${bytesText(row.bytes / (row.time_ns / 1e9))}/s` : ""}`]);
  }
  if (row.grid && row.block) {
    const threads = row.block.reduce((a, b) => a * b);
    facts.push(["grid", `${row.grid.join(" x ")} blocks of ${countText(threads, "thread")}`]);
  }
  if (row.registers != null) {
    const shared = row.shared_memory != null ? `, ${bytesText(row.shared_memory)} shared memory a block` : "";
    facts.push(["uses", `${countText(row.registers, "register")} a thread${shared}`]);
  }
  const occupancy = occupancyText(row.occupancy);
  if (occupancy) facts.push(["occupancy", occupancy]);
  return facts;
}

function occupancyText(occupancy) {
  if (!occupancy) return "";
  const parts = [];
  if (occupancy.theoretical_pct != null) {
    parts.push(`${numberText(occupancy.theoretical_pct)} % theoretical`);
    if (occupancy.limiter) parts[0] += `, limited by ${occupancy.limiter.replaceAll("_", " ")}`;
  }
  if (occupancy.reported_pct != null) parts.push(`the trace says ${occupancy.reported_pct} %`);
  return parts.join("; ");
}

/** The description as elements: a heading, a sentence, the raw name, and a list of facts. */
function describedElements(description, heading = "p") {
  const facts = element("dl", { class: "facts" });
  for (const [word, text] of description.facts) facts.append(element("dt", {}, word), element("dd", {}, text));
  return [
    element(heading, { class: "event-title" }, description.title, " ", element("span", { class: "kind" }, description.kind)),
    description.sentence && element("p", { class: "event-words" }, description.sentence),
    description.name && element("p", { class: "raw-name" }, description.name),
    facts,
  ].filter(Boolean);
}
