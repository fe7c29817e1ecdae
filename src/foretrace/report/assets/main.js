// The page's beginning: unpack what it holds, build the views, follow the theme and the links to events.

const page = { data: [], readings: [], lanes: [], charts: [], comparison: false };
window.foretrace = page;

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

function attachTheme() {
  const toggle = document.getElementById("theme");
  const redraw = () => {
    for (const lanes of page.lanes) {
      lanes.repaint();
      lanes.draw();
    }
  };
  const follow = () => {
    redraw();
    drawCharts(page.charts);
  };
  toggle.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    toggle.setAttribute("aria-pressed", String(isDark()));
    follow();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
  attachPrint(redraw);
}

/** Paper is white, has nothing folded, and does not scroll: the lanes are drawn anew for it. */
function attachPrint(redraw) {
  let before = null;
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
    before = document.documentElement.dataset.theme ?? null;
    document.documentElement.dataset.theme = "light";
    redraw();
    for (const lanes of page.lanes) lanes.stage.append(lanes.picture(1000));
  });
  window.addEventListener("afterprint", () => {
    for (const paper of document.querySelectorAll("canvas.paper")) paper.remove();
    for (const each of folded) each.open = false;
    if (before === null) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = before;
    redraw();
  });
}

/** `#event-R-N` leads to event N of reading R. */
async function followLink() {
  const match = /^#event-(\d+)-(\d+)$/.exec(location.hash);
  if (!match) return;
  const number = Number(match[1]);
  if (page.comparison) await showVariant(number, false);
  const view = await openReading(number);
  if (view && !view.showEvent(Number(match[2]))) view.missing();
}

/** The data of a reading, unpacked once. */
function dataOf(number) {
  page.data[number] ||= unpack(`payload-${number}`).then((payload) => new TraceData(payload));
  return page.data[number];
}

/** The view of a reading, built when it is first asked for. */
function openReading(number) {
  page.readings[number] ||= dataOf(number).then((data) => {
    const view = new ReadingView(document.querySelector(`[data-reading="${number}"]`), data);
    if (view.lanes) page.lanes.push(view.lanes);
    return view;
  });
  return page.readings[number];
}

async function start() {
  attachTheme();
  if (!("DecompressionStream" in window)) {
    document.getElementById("trouble").textContent = "This browser is too old to unpack the page's data; use a release of 2023 or later.";
    return;
  }
  try {
    const data = JSON.parse(document.getElementById("page-data").textContent);
    page.comparison = Boolean(data.comparison);
    if (data.comparison) await startComparison(data.comparison);
    else if (data.readings) await openReading(0);
    window.addEventListener("hashchange", followLink);
    // A link to the event that is already named shall lead there again.
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#event-"]');
      if (link && link.getAttribute("href") === location.hash) followLink();
    });
    followLink();
    document.documentElement.dataset.ready = "";
    if (data.charts) page.charts = (await unpack("payload-charts")).content.charts;
    await drawCharts(page.charts);
    document.documentElement.dataset.charted = "";
  } catch (error) {
    document.getElementById("trouble").textContent = `The page's data could not be shown: ${error.message}`;
    throw error;
  }
}

start();
