"""What the page costs: to open, to pan and zoom, and to mail."""

import gzip
import random
import time
from pathlib import Path

import pytest

from build import Build
from foretrace.report.data import reading
from foretrace.report.html import trace_page
from foretrace.report.page.payload import payload
from foretrace.trace.load import load_trace

H200 = Path(__file__).parents[1] / "recordings" / "h200"

# Zooms in and out and moves, one change a frame, by the same events that a mouse makes; gives frames a second.
MOVE = """
async () => {
  const lanes = foretrace.lanes[0];
  lanes.stage.scrollIntoView({block: "center"});
  const panel = lanes.panels[0].element;
  const box = panel.getBoundingClientRect();
  const before = lanes.frames;
  const start = performance.now();
  for (let frame = 0; frame < 60; frame++) {
    const deltaY = frame < 20 ? -60 : frame < 40 ? 60 : 0;
    const deltaX = frame < 40 ? 0 : 40;
    panel.dispatchEvent(new WheelEvent("wheel", {
      deltaX, deltaY, bubbles: true, cancelable: true,
      clientX: box.left + box.width / 3, clientY: box.top + 40,
    }));
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  const seconds = (performance.now() - start) / 1000;
  return [(lanes.frames - before) / seconds, lanes.frames - before];
}
"""


def step_of(events: int, copies: int = 1) -> bytes:
    """A trace of one step of so many events: ops three to six deep, each with a launch and a kernel."""
    chance = random.Random(7)  # noqa: S311 - the same step each time
    built = Build().gpu()
    now, device, made = 0.0, 50.0, 0
    while made < events // copies - 1:
        depth, length = chance.randint(2, 5), chance.uniform(8, 60)
        for level in range(depth):
            built.op(f"aten::op_{chance.randint(0, 40)}", now + level / 2, length - level, dims=[[8, 16, 1024, 64]])
        device = max(device, now + depth + 4)
        took = chance.choice([1.5, 2, 3, 8, 20, 90])
        name = f"void kernel_{chance.randint(0, 60)}<float, int>(float*)"
        built.kernel(name, device, took, launched=now + depth / 2, grid=[10, 1, 1], block=[128, 1, 1])
        device += took + chance.choice([0, 0.5, 3])
        now += length + 1
        made += depth + 2
    some, far = list(built.events), max(now, device) + 1
    for copy in range(1, copies):
        for event in some:
            args = event["args"]
            if "correlation" in args:
                args = {**args, "correlation": args["correlation"] + copy * 1_000_000}
            built.events.append({**event, "ts": event["ts"] + copy * far, "args": args})
    return built.step(0, 0, copies * far).text()


@pytest.mark.parametrize(("events", "copies", "seconds"), [(20_000, 1, 3), (200_000, 10, 8)])
def test_a_large_step_opens_soon_and_moves_smoothly(opened, keep, tmp_path, events, copies, seconds):
    path = tmp_path / "step.json"
    path.write_bytes(step_of(events, copies))
    html = trace_page(reading(load_trace(path)))
    start = time.perf_counter()
    with opened(html) as page:
        page.settle()
        assert time.perf_counter() - start < seconds
        assert page.evaluate("foretrace.lanes[0].scene.count") > 0.95 * events
        rate, frames = page.evaluate(MOVE)
        assert frames >= 55
        assert rate >= 20
        keep(page, f"step-of-{events}", full=False)


@pytest.mark.parametrize("name", ["p3_naive", "p3_sdpa_math", "p3_sdpa_flash", "m_llama_eager", "m_llama_sdpa_stack"])
def test_the_data_is_a_tenth_of_the_traces_json_at_most(name):
    path = H200 / f"{name}.json.gz"
    packed, _ = payload(reading(load_trace(path)))
    assert len(packed) <= len(gzip.decompress(path.read_bytes())) / 10


def test_the_same_trace_gives_the_same_page():
    pages = [trace_page(reading(load_trace(H200 / "p3_naive.json.gz")), charts=False) for _ in range(2)]
    assert pages[0] == pages[1]
