// Figures made by Bokeh: its script lies in the page compressed, and is unpacked when there is a figure to show.

let bokeh = null;

/** Bokeh's own script, run once. The page's policy knows it by its hash. */
function loadBokeh() {
  bokeh ||= (async () => {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await gunzip(document.getElementById("bokeh").textContent.trim()));
    // It keeps the console's functions as it finds them, and tells there that the level was set.
    const { log } = console;
    console.log = () => {};
    document.head.append(script);
    window.Bokeh.set_log_level("error");
    console.log = log;
  })();
  return bokeh;
}

/** Put each figure into its place, in the theme's colors; again when the theme changes. */
async function drawCharts(charts) {
  if (!charts.length) return;
  await loadBokeh();
  const theme = isDark() ? "dark" : "light";
  document.documentElement.dataset.charts = theme;
  for (const { id, items } of charts) {
    const place = document.getElementById(id);
    place.replaceChildren();
    await window.Bokeh.embed.embed_item(structuredClone(items[theme]), place);
  }
}
