// One trace on the page: its lanes and tables, in the places that the template left for them.

class ReadingView {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    const place = (name) => root.querySelector(`[data-part="${name}"]`);
    this.lanesPlace = place("lanes");
    if (data.count) this.#lanes();
    else this.lanesPlace.replaceChildren(element("p", { class: "quiet" }, "The file holds no timed events to draw."));
    if (place("kernels")) kernelTable(place("kernels"), data, (row) => this.showKernel(row));
    if (place("ops")) opTable(place("ops"), data);
    if (place("steps")) stepTable(place("steps"), data, (row) => this.showStep(data.steps.indexOf(row)));
  }

  #lanes() {
    const { data } = this;
    const scene = new Scene([{ data, shift: 0 }]);
    const step = data.firstStep ?? -1;
    this.step = step;
    const tools = element("div", { class: "tools" });
    this.eventPanel = element("div", { class: "event-panel", "aria-live": "polite" });
    this.lanesPlace.replaceChildren(tools);
    const hasDevice = data.hosts < data.count;
    const shown = { host: true, runtime: true, python: false };
    // Without ops Python frames are all there is to see.
    if (!data.category.some((category) => category === CATEGORY.OP || category === CATEGORY.ANNOTATION)) shown.python = true;
    this.lanes = new Lanes(this.lanesPlace, scene, {
      panels: [["host", "CPU lanes: ops by thread. Arrow keys go from event to event.", ["thread"]],
        ["device", "GPU lanes: kernels and copies by stream. Arrow keys go from event to event.", ["stream"]]],
      shown, step, zero: step >= 0 ? data.steps[step].ts : data.window()[0],
      home: step >= 0 ? data.stepWindow(step) : data.window(),
      onselect: (event) => this.#tell(event),
    });
    this.lanes.fit = () => this.lanes.show(...this.home());
    this.chooser = stepChooser(data, (number) => this.showStep(number));
    this.chooser?.set(step);
    const search = searchBox(this.lanes);
    const relaid = () => {
      search.again();
      this.legend.replaceWith((this.legend = legend(scene)));
    };
    this.legend = legend(scene);
    const checks = [];
    if (data.category.includes(CATEGORY.PYTHON)) checks.push(shownBox(this.lanes, "python", "Python frames", relaid));
    if (data.category.some((each) => each === CATEGORY.RUNTIME || each === CATEGORY.DRIVER)) {
      checks.push(shownBox(this.lanes, "runtime", "runtime calls", relaid));
    }
    if (!hasDevice) this.lanesPlace.classList.add("no-device");
    tools.append(...[this.chooser?.box, search.box, ...checks, zoomButtons(this.lanes)].filter(Boolean));
    this.lanesPlace.append(this.legend, helpText(), this.eventPanel);
    this.#tell(-1);
  }

  home() {
    return this.step >= 0 ? this.data.stepWindow(this.step) : this.data.window();
  }

  showStep(step) {
    this.step = step;
    this.chooser?.set(step);
    if (step >= 0) this.lanes.zero = this.data.steps[step].ts;
    this.lanes.chooseStep(step, this.home());
    if (!inView(this.lanesPlace)) this.lanesPlace.scrollIntoView({ block: "nearest" });
  }

  /** Show an event by its position in the file's event list; says whether it is in these lanes. */
  showEvent(index) {
    const event = this.data.eventAt(index);
    if (event < 0 || !this.lanes) return false;
    const step = this.data.step(event);
    if (step >= 0 && this.step >= 0 && step !== this.step) this.showStep(step);
    this.lanesPlace.scrollIntoView({ block: "center" });
    this.lanes.select(event, { close: true });
    return true;
  }

  /** Say that an event is in the file and not in these lanes. */
  missing() {
    this.lanesPlace.scrollIntoView({ block: "center" });
    const text = "That event is not in these lanes: they hold a part of the file, or its times are not believed.";
    this.eventPanel?.replaceChildren(element("p", {}, text));
  }

  /** Show the first activity of a row of the kernel table, in the chosen step if there is one there. */
  showKernel(row) {
    const number = this.data.kernels.indexOf(row);
    const { kernelOf, stepOf, hosts } = this.data;
    let first = -1;
    for (let at = 0; at < kernelOf.length; at++) {
      if (kernelOf[at] !== number) continue;
      if (first < 0) first = at;
      if (stepOf[at] === this.step) {
        first = at;
        break;
      }
    }
    if (first >= 0) this.showEvent(this.data.index[hosts + first]);
  }

  #tell(event) {
    if (event < 0) {
      const text = "Point at an event, or click it, to see what it is and what launched it.";
      this.eventPanel.replaceChildren(element("p", { class: "quiet" }, text));
      return;
    }
    const { data } = this;
    const acts = [button("Zoom to it", "Zoom to it (Enter)", () => zoomTo(this.lanes, event))];
    if (data.isHost(event)) {
      const launched = data.launchedIn(event);
      if (launched.length) acts.push(button("Its first activity", "To the first activity it launched (L)", () => this.lanes.select(launched[0])));
    } else if (data.launch(event) >= 0) {
      acts.push(button("Its launch", "To the call that launched it (L)", () => follow(this.lanes)));
    }
    const ahead = data.forward.get(event);
    if (ahead != null) acts.push(button("Its forward op", "To the forward op", () => this.lanes.select(ahead)));
    this.eventPanel.replaceChildren(
      ...describedElements(describe(data, event), "h3"), element("div", { class: "actions" }, ...acts),
    );
  }
}

function inView(place) {
  const box = place.getBoundingClientRect();
  return box.top < window.innerHeight && box.bottom > 0;
}
