// What the lanes draw: traces (one, or several on one time axis), laid out as groups of lanes of events.

/**
 * Events of several traces under common numbers. A part is {data, shift, label, note, step, idle}: `shift` is
 * subtracted from its times; with `step` only that step's events are laid out.
 */
class Scene {
  constructor(parts) {
    this.parts = parts;
    this.bases = [];
    this.count = 0;
    for (const part of parts) {
      this.bases.push(this.count);
      this.count += part.data.count;
    }
    this.ts = new Float64Array(this.count);
    this.dur = new Float64Array(this.count);
    this.color = new Uint8Array(this.count);
    /** What a box says, as a position in `texts`. */
    this.text = new Int32Array(this.count);
    this.texts = [];
    /** What it says where that does not fit. */
    this.briefs = [];
    /** The step's number, or -1: drawn faint beside a chosen step. */
    this.step = new Int32Array(this.count);
    parts.forEach((part, at) => this.#take(part, this.bases[at]));
    this.laneOf = new Int32Array(this.count).fill(-1);
    this.matches = null;
    /** Counts what changes the look of the whole: layouts and searches. */
    this.version = 0;
  }

  #take({ data, shift }, base) {
    this.ts.set(data.ts.map((ts) => ts - shift), base);
    this.dur.set(data.dur, base);
    const first = this.texts.length;
    this.texts = this.texts.concat(data.strings, data.kernels.map((row) => row.short));
    this.briefs = this.briefs.concat(
      data.strings.map((name) => name.replace(/^aten::/, "")),
      data.kernels.map((row) => briefLabel(row, data.decoded)),
    );
    const kernels = first + data.strings.length;
    const starts = data.steps.map((step) => step.ts);
    for (let event = 0; event < data.count; event++) {
      this.color[base + event] = data.color(event);
      if (data.isHost(event)) {
        this.text[base + event] = first + data.hostName[event];
        const step = lowerBound(starts, data.ts[event] + 1) - 1;
        this.step[base + event] = step >= 0 && data.ts[event] < data.steps[step].end ? step : -1;
      } else {
        this.text[base + event] = kernels + data.kernelOf[event - data.hosts];
        this.step[base + event] = data.stepOf[event - data.hosts];
      }
    }
  }

  partOf(event) {
    let at = this.bases.length - 1;
    while (event < this.bases[at]) at--;
    return at;
  }

  /** [trace, its own number of the event]. */
  source(event) {
    const at = this.partOf(event);
    return [this.parts[at].data, event - this.bases[at]];
  }

  end(event) {
    return this.ts[event] + this.dur[event];
  }

  /** Lay out the lanes. `shown` says which kinds of host events have lanes: {host, runtime, python}. */
  layOut(shown) {
    this.version++;
    this.laneOf.fill(-1);
    this.lanes = [];
    this.groups = [];
    this.parts.forEach((part, at) => {
      const base = this.bases[at];
      let event = 0;
      const wanted = (e) => part.step == null || this.step[base + e] === part.step;
      const threads = part.data.threads.map(([label, , events]) => {
        const lanes = shown.host ? this.#nest(part.data, base, event, event + events, shown, wanted) : [];
        event += events;
        return { label, kind: "thread", lanes };
      });
      const streams = part.data.streams.map(([label, , events]) => {
        const lanes = this.#spread(base, event, event + events, wanted);
        event += events;
        return { label, kind: "stream", lanes };
      });
      this.#adopt(part, at, threads.filter((group) => group.lanes.length));
      this.#adopt(part, at, streams.filter((group) => group.lanes.length));
    });
  }

  #adopt(part, at, groups) {
    for (const group of groups) {
      group.part = at;
      group.lanes = group.lanes.map((events) => {
        const lane = this.#lane(events, group);
        lane.number = this.lanes.push(lane) - 1;
        for (const event of events) this.laneOf[event] = lane.number;
        return lane;
      });
      this.groups.push(group);
    }
    const own = this.groups.filter((group) => group.part === at);
    if (own.length) own[0].heading = part.label;
    // Under a heading a lone stream needs no label of its own.
    if (part.label && own.length === 1 && own[0].kind === "stream") own[0].label = "";
    const last = own.filter((group) => group.kind === "stream").at(-1);
    if (last) last.idle = part.idle;
  }

  #lane(events, group) {
    // Sums of durations tell how much of a pixel is covered without visiting what lies in it.
    const sums = new Float64Array(events.length + 1);
    for (let at = 0; at < events.length; at++) sums[at + 1] = sums[at] + this.dur[events[at]];
    return { events: Int32Array.from(events), sums, group };
  }

  /** Host events by depth: an event lies under the nearest earlier one that has not ended. */
  #nest(data, base, from, to, shown, wanted) {
    const lanes = [];
    const open = [];
    for (let event = from; event < to; event++) {
      const category = data.category[event];
      if (category === CATEGORY.PYTHON && !shown.python) continue;
      if ((category === CATEGORY.RUNTIME || category === CATEGORY.DRIVER) && !shown.runtime) continue;
      if (!wanted(event)) continue;
      while (open.length && data.end(open.at(-1)) <= data.ts[event]) open.pop();
      const depth = open.length;
      if (!lanes[depth]) lanes[depth] = [];
      lanes[depth].push(base + event);
      open.push(event);
    }
    return lanes;
  }

  /** Activity of one stream: one lane, and further ones for what overlaps. */
  #spread(base, from, to, wanted) {
    const lanes = [];
    const ends = [];
    for (let event = from; event < to; event++) {
      if (!wanted(event)) continue;
      const number = base + event;
      let lane = ends.findIndex((end) => end <= this.ts[number]);
      if (lane < 0) lane = lanes.push([]) - 1;
      lanes[lane].push(number);
      ends[lane] = this.end(number);
    }
    return lanes;
  }

  /** Mark the events whose name, decoded words or owner hold this text; returns those that have a lane, in time order. */
  search(text) {
    this.version++;
    const wanted = text.trim().toLowerCase();
    if (!wanted) {
      this.matches = null;
      for (const lane of this.lanes) lane.found = null;
      return [];
    }
    this.matches = new Uint8Array(this.count);
    const found = [];
    this.parts.forEach(({ data }, at) => {
      const base = this.bases[at];
      const names = data.strings.map((name) => name.toLowerCase().includes(wanted));
      const kernels = data.kernels.map((row) => {
        const facts = data.decoded[row.name];
        const texts = [row.name, row.short, row.owner, facts?.words, facts?.library, facts?.role];
        return texts.some((part) => part && part.toLowerCase().includes(wanted));
      });
      for (let event = 0; event < data.count; event++) {
        const hit = data.isHost(event) ? names[data.hostName[event]] : kernels[data.kernelOf[event - data.hosts]];
        if (!hit || this.laneOf[base + event] < 0) continue;
        this.matches[base + event] = 1;
        found.push(base + event);
      }
    });
    for (const lane of this.lanes) {
      lane.found = new Int32Array(lane.events.length + 1);
      lane.events.forEach((event, at) => (lane.found[at + 1] = lane.found[at] + this.matches[event]));
    }
    return found.sort((a, b) => this.ts[a] - this.ts[b]);
  }

  /** Pairs of events that a line joins when this one is pointed at: launch to activity, forward to backward. */
  links(event, most = 200) {
    const at = this.partOf(event);
    const base = this.bases[at];
    const { data } = this.parts[at];
    const own = event - base;
    const pairs = [];
    if (!data.isHost(own)) {
      const launch = data.launch(own);
      if (launch >= 0) pairs.push([base + launch, event, "launch"]);
    } else {
      for (const activity of data.launchedIn(own).subarray(0, most)) {
        pairs.push([base + data.launch(activity), base + activity, "launch"]);
      }
      const ahead = data.forward.get(own);
      if (ahead != null) pairs.push([base + ahead, event, "backward"]);
      for (const back of (data.backward.get(own) || []).slice(0, most)) pairs.push([event, base + back, "backward"]);
    }
    return pairs;
  }

  /** The nearest lane for an event that may be hidden (a launch while runtime calls are): itself, or what holds it. */
  visible(event) {
    if (this.laneOf[event] >= 0) return event;
    const at = this.partOf(event);
    const { data } = this.parts[at];
    const own = event - this.bases[at];
    if (!data.isHost(own)) return -1;
    const holder = data.around(own).reverse().find((around) => this.laneOf[this.bases[at] + around] >= 0);
    return holder == null ? -1 : this.bases[at] + holder;
  }
}

/** The first event of a lane that ends after a time: lanes do not overlap, so ends are in order, too. */
function firstEndingAfter(scene, lane, time) {
  let low = 0;
  let high = lane.events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scene.end(lane.events[middle]) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first event from `low` on that starts at or after a time: near ones are found in few steps. */
function firstStartingAt(scene, lane, time, low) {
  const { events } = lane;
  let step = 1;
  while (low + step < events.length && scene.ts[events[low + step]] < time) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, events.length);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scene.ts[events[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** From the first to the last moment of what is laid out. */
function sceneWindow(scene) {
  let [from, to] = [Infinity, -Infinity];
  for (const { events } of scene.lanes) {
    if (!events.length) continue;
    from = Math.min(from, scene.ts[events[0]]);
    to = Math.max(to, scene.end(events[events.length - 1]));
  }
  for (const { idle } of scene.groups) if (idle) to = Math.max(to, idle.to);
  return from < to ? [from, to] : [0, 1000];
}
