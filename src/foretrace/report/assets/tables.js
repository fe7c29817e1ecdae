// The tables of one trace: kernels, ops, steps.

const UNIT_WORDS = { tensor_core: "tensor core", cuda_core: "CUDA core", none: "moves data", unknown: "" };

function kernelTable(root, data, show) {
  const steps = Math.max(1, data.perStep);
  const perStep = data.perStep > 0;
  const time = (row) => row.time_in_steps_ns / steps;
  const unit = timeUnit(Math.max(0, ...data.kernels.map((row) => (row.unlinked ? 0 : time(row)))));
  const most = Math.max(1e-9, ...data.kernels.map((row) => row.share || 0));
  const color = (row) => COLORS[data.kernelColors[data.kernels.indexOf(row)]];
  const facts = (row) => data.decoded[row.name];
  const any = (test) => data.kernels.some(test);
  const columns = [
    {
      head: "Kernel or copy", kind: "name", value: (row) => row.short.toLowerCase(),
      cell: (row) => named(color(row), row.short, row.unlinked ? "unlinked" : row.graph ? "graph" : ""),
    },
    {
      head: perStep ? "a step" : "calls", number: true, title: "Calls in a step",
      value: (row) => row.per_step ?? null,
      cell: (row) => (row.per_step == null ? `${numberText(row.calls)} in all` : numberText(row.per_step)),
    },
    {
      head: "device time", number: true, title: perStep ? "Sum of durations in a step" : "Sum of durations in the file",
      value: (row) => (row.unlinked ? null : time(row)),
      cell: (row) => (row.unlinked ? timeText(row.time_ns) : timeText(time(row), unit)),
    },
    {
      head: "share", number: true, kind: "bars", title: "Of the linked device time in the steps",
      value: (row) => row.share,
      cell: (row) => (row.share == null ? "" : barCell(row.share / most, shareText(row.share), color(row))),
    },
    any((row) => facts(row)) && {
      head: "unit", wide: true, title: "Where it computes, as its name says",
      value: (row) => UNIT_WORDS[facts(row)?.unit] || null, cell: (row) => UNIT_WORDS[facts(row)?.unit] || "",
    },
    any((row) => row.occupancy?.theoretical_pct != null) && {
      head: "occupancy", number: true, wide: true, title: "Theoretical occupancy, from registers, threads and shared memory",
      value: (row) => row.occupancy?.theoretical_pct ?? null,
      cell: (row) => (row.occupancy?.theoretical_pct == null ? "" : `${numberText(row.occupancy.theoretical_pct)} %`),
    },
    { head: "launched by", wide: true, value: (row) => row.owner, cell: (row) => row.owner || "" },
    { head: "launch call", wide: true, value: (row) => row.launch, cell: (row) => row.launch || "" },
  ].filter(Boolean);
  return new DataTable(root, {
    name: "kernels and copies", noun: "row", columns, rows: data.kernels, sort: [2, -1],
    text: (row) => [row.name, row.short, row.owner, row.launch, facts(row)?.words].join(" "),
    detail: (row) => kernelDetail(data, row, show),
  });
}

function named(color, text, mark) {
  const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = `var(--${color})`;
  return element("span", { class: "named" }, swatch, element("span", {}, text), mark ? element("span", { class: "mark" }, mark) : "");
}

function kernelDetail(data, row, show) {
  const facts = data.decoded[row.name];
  const parts = [];
  if (facts?.words) parts.push(element("p", {}, facts.words));
  parts.push(element("p", { class: "raw-name" }, row.name));
  if (facts?.tokens?.length > 1) {
    const tokens = facts.tokens.map((token) =>
      element("tr", {}, element("th", { scope: "row" }, element("code", {}, token.text)), element("td", {}, token.meaning)),
    );
    parts.push(element("table", { class: "tokens" }, element("tbody", {}, ...tokens)));
  }
  const list = element("dl", { class: "facts" });
  const each = row.min_ns === row.max_ns ? timeText(row.max_ns) : `${timeText(row.min_ns)} to ${timeText(row.max_ns)}`;
  for (const [word, text] of [["calls", `${numberText(row.calls)}, ${each} each`], ...configuration(row)]) {
    list.append(element("dt", {}, word), element("dd", {}, text));
  }
  parts.push(list);
  parts.push(element("button", { type: "button", onclick: () => show(row) }, "Show it in the lanes"));
  return parts;
}

function opTable(root, data) {
  const device = data.ops.some((row) => row.device_total_ns);
  const most = Math.max(1, ...data.ops.map((row) => (device ? row.device_self_ns : row.cpu_self_ns)));
  const time = (key, head, title) => {
    const unit = timeUnit(Math.max(0, ...data.ops.map((row) => row[key])));
    return { head, title, number: true, value: (row) => row[key], cell: (row) => (row[key] ? timeText(row[key], unit) : "-") };
  };
  const self = time(device ? "device_self_ns" : "cpu_self_ns", device ? "device self" : "CPU self", "Its own, without ops inside it");
  const plain = self.cell;
  self.kind = "bars";
  self.cell = (row) => barCell(row[device ? "device_self_ns" : "cpu_self_ns"] / most, plain(row));
  const columns = [
    { head: "Op", kind: "name", value: (row) => row.name.toLowerCase(), cell: (row) => row.name },
    { head: "calls", number: true, value: (row) => row.calls, cell: (row) => numberText(row.calls) },
    self,
    device && { ...time("device_total_ns", "device total", "With the ops inside it"), wide: true },
    device && { head: "activities", number: true, wide: true, title: "Kernels, copies and memsets it launched itself",
      value: (row) => row.activities, cell: (row) => (row.activities ? numberText(row.activities) : "-") },
    device && { ...time("cpu_self_ns", "CPU self", "Its own, without what runs inside it"), wide: true },
    time("cpu_total_ns", "CPU total", "From its start to its end"),
  ].filter(Boolean);
  return new DataTable(root, {
    name: "ops, whole file", noun: "op", columns, rows: data.ops, sort: [2, -1], text: (row) => row.name,
  });
}

function stepTable(root, data, show) {
  const times = ["device_time_ns", "busy_ns", "cpu_time_ns", "lag_ns"];
  const unit = timeUnit(Math.max(0, ...data.steps.flatMap((row) => times.map((key) => row[key]))));
  const most = Math.max(1, ...data.steps.map((row) => row.device_time_ns));
  const count = (key) => ({ head: key, number: true, value: (row) => row[key], cell: (row) => numberText(row[key]) });
  const time = (key, head, title) => ({
    head, title, number: true, value: (row) => row[key], cell: (row) => timeText(row[key], unit), wide: key !== "cpu_time_ns",
  });
  const columns = [
    {
      head: "Step", kind: "name", value: (row) => row.ts,
      cell: (row) => element("span", { class: "named" }, row.name, row.cold ? element("span", { class: "mark" }, "cold") : ""),
    },
    count("kernels"), { ...count("memcpys"), wide: true }, { ...count("memsets"), wide: true },
    {
      head: "device time", number: true, kind: "bars", title: "Sum of durations", value: (row) => row.device_time_ns,
      cell: (row) => barCell(row.device_time_ns / most, timeText(row.device_time_ns, unit)),
    },
    time("busy_ns", "busy", "Each moment once, on the busiest device"),
    time("cpu_time_ns", "CPU time", "Length of the step's range on the host"),
    time("lag_ns", "lag", "The longest wait between a launch and its activity"),
    {
      head: "lanes", value: (row) => row.ts, kind: "action",
      cell: (row) => element("button", { type: "button", "aria-label": `Show ${row.name} in the lanes`, onclick: () => show(row) }, "show"),
    },
  ];
  return new DataTable(root, { name: "steps", noun: "step", columns, rows: data.steps, sort: [0, 1], page: 12, text: (row) => row.name });
}
