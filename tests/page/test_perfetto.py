"""`foretrace open`: the right page gets one file, once, from this machine only; nobody else gets anything."""

import http.client
import json
import re
import socket
import threading
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from build import Build
from foretrace.cli import cli, main
from foretrace.errors import TraceFormatError, UsageError
from foretrace.report.perfetto import ORIGIN, PORT, TraceServer
from foretrace.report.perfetto_lanes import overlap_rows, repaired_lanes
from foretrace.trace.load import load_trace

TEXT = b'{"traceEvents": []}'


@contextmanager
def serving(trace=TEXT, name="a trace.json", seconds=20.0):
    """A server on a free port; gives it and the list that its answer goes into."""
    server = TraceServer(trace, name, port=0)
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(server.serve(seconds)))
    thread.start()
    try:
        yield server, answers
    finally:
        server._done.set()
        thread.join(10)


def ask(server, *, method="GET", path=None, **headers):
    """(status, headers, body) of one request; the page's own unless said otherwise."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    given = {"Origin": ORIGIN, **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection.request(
        method,
        path or server.url.partition(str(server.port))[2],
        headers={name: value for name, value in given.items() if value is not None},
    )
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_the_viewer_gets_the_file_and_the_server_ends():
    with serving() as (server, answers):
        status, headers, body = ask(server)
    assert (status, body) == (200, TEXT)
    assert headers["Access-Control-Allow-Origin"] == ORIGIN
    assert headers["Cache-Control"] == "no-store"
    assert answers == [True]
    with pytest.raises(OSError, match="refused"):
        ask(server)


@pytest.mark.parametrize(
    "origin", [None, "null", "https://ui.perfetto.dev.example.com", "http://ui.perfetto.dev", "https://example.com"]
)
def test_another_origin_is_refused(origin):
    with serving() as (server, answers):
        status, headers, body = ask(server, Origin=origin)
        assert (status, body) == (403, b"")
        assert "Access-Control-Allow-Origin" not in headers
        assert answers == []


def test_a_wrong_token_another_file_and_another_method_are_refused():
    with serving() as (server, answers):
        token, name = server.url.split("/")[3:]
        assert len(token) >= 32
        for path in ("/", f"/{name}", f"/{token}", f"/{token}/", f"/{token}/x.json", f"/{'x' * len(token)}/{name}"):
            assert ask(server, path=path)[0] == 404
        assert ask(server, path=f"/{token}/../../etc/passwd")[0] == 404
        for method in ("HEAD", "POST", "PUT", "DELETE"):
            assert ask(server, method=method)[0] == 501
        assert answers == []


def test_a_host_name_that_points_here_is_refused():
    with serving() as (server, _):
        assert ask(server, Host="evil.example.com:9001")[0] == 421


def test_only_loopback_is_bound():
    with serving() as (server, _):
        assert server._server.server_address[0] == "127.0.0.1"
        for address in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
            if not address.startswith("127."):
                with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
                    socket.create_connection((address, server.port), timeout=2)


def test_the_browsers_question_before_a_request_is_answered_for_the_page_only():
    asking = {
        "Access_Control_Request_Method": "GET",
        "Access_Control_Request_Private_Network": "true",
    }
    with serving() as (server, answers):
        status, headers, _ = ask(server, method="OPTIONS", **asking)
        assert status == 204
        assert headers["Access-Control-Allow-Origin"] == ORIGIN
        assert headers["Access-Control-Allow-Private-Network"] == "true"
        assert ask(server, method="OPTIONS", Origin="https://example.com", **asking)[0] == 403
        assert answers == []


def test_it_ends_when_nobody_comes():
    assert TraceServer(TEXT, "x.json", port=0).serve(0.2) is False


def test_a_client_that_says_nothing_holds_nobody_up():
    with serving() as (server, answers), socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server)[0] == 200
    assert answers == [True]


def test_a_taken_port_is_said_in_one_sentence():
    first = TraceServer(TEXT, "x.json", port=0)
    try:
        with pytest.raises(UsageError, match=rf"port {first.port} of 127.0.0.1 is taken"):
            TraceServer(TEXT, "x.json", port=first.port)
    finally:
        first._server.server_close()


def test_a_real_browser_on_the_viewers_origin_fetches_it(browser):
    body = b'{"traceEvents": [{"ph": "X"}]}' * 1000
    with serving(body) as (server, answers):
        # Chromium asks the reader whether a page of the network may reach this machine; here the answer is yes.
        context = browser.new_context(permissions=["local-network-access"])
        page = context.new_page()
        context.route(
            "https://**", lambda route: route.fulfill(body="<title>stand-in</title>", content_type="text/html")
        )
        fetching = "url => fetch(url).then(answer => answer.text()).then(text => text.length, error => String(error))"
        page.goto("https://example.com/")
        assert "TypeError" in str(page.evaluate(fetching, server.url))
        page.goto(f"{ORIGIN}/")
        assert page.evaluate(fetching, server.url) == len(body)
        context.close()
    assert answers == [True]


# ---- the command ----


def overlapping() -> Build:
    """Two kernels that overlap on stream 7, one apart; each with the arrow from its launch."""
    built = Build().gpu().step(0, 0, 100).op("aten::mm", 1, 50)
    for name, ts, dur in (("A", 3.5, 3.776), ("B", 5.25, 2), ("C", 9, 1)):
        built.kernel(name, ts, dur, launched=2)
        number = built._correlation
        built.event(ph="s", id=number, pid=1, tid=1, ts=2, cat="ac2g", name="ac2g")
        built.event(ph="f", id=number, pid=0, tid=7, ts=ts, cat="ac2g", name="ac2g", bp="e")
    return built


@pytest.mark.case("F20")
def test_overlapping_activities_move_to_rows_of_their_own(tmp_path):
    path = overlapping().write(tmp_path / "t.json")
    trace = load_trace(path)
    assert overlap_rows(trace).tolist() == [0, 1, 0]
    text, moved = repaired_lanes(trace, path.read_bytes())
    assert moved == 1
    (tmp_path / "r.json").write_bytes(text)
    repaired = load_trace(tmp_path / "r.json")
    assert overlap_rows(repaired).tolist() == [0, 0, 0]
    assert repaired.activities.ts.tolist() == trace.activities.ts.tolist()
    assert repaired.activities.launch.tolist() == trace.activities.launch.tolist()
    events = json.loads(text)["traceEvents"]
    [kernel] = [event for event in events if event.get("name") == "B"]
    arrow = [event for event in events if event.get("ph") == "f" and event["id"] == kernel["args"]["correlation"]]
    assert [event["tid"] for event in arrow] == [kernel["tid"]]
    assert kernel["tid"] != 7
    [name] = [event for event in events if event.get("ph") == "M" and event["tid"] == kernel["tid"]]
    assert name["args"]["name"].endswith("(overlap 1)")
    assert json.loads(text)["deviceProperties"] == json.loads(path.read_bytes())["deviceProperties"]


def test_moved_events_keep_every_digit_of_their_times(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        '[{"ph":"X","cat":"kernel","name":"A","pid":0,"tid":7,"ts":1704161511420306.491,"dur":3.776,"args":{"tid":1}},\n'
        '{"ph":"X","cat":"kernel","name":"B","pid":0,"tid":7,"ts":1704161511420307.123,"dur":1,"args":{"tid":1}}]'
    )
    text, moved = repaired_lanes(load_trace(path), path.read_bytes())
    assert moved == 1
    assert b"1704161511420307.123" in text
    assert text.count(b'"args":{"tid":1}') == 2


def test_a_clean_trace_is_served_as_it_is(tmp_path):
    path = Build().gpu().kernel("A", 1, 2).kernel("B", 3, 2).write(tmp_path / "t.json")
    assert repaired_lanes(load_trace(path), path.read_bytes()) == (path.read_bytes(), 0)


def test_a_damaged_trace_is_not_rewritten(tmp_path):
    path = overlapping().write(tmp_path / "t.json")
    cut = path.read_bytes()[:-20]
    path.write_bytes(cut)
    with pytest.raises(TraceFormatError, match="open it without --repair-lanes"):
        repaired_lanes(load_trace(path), cut)


def free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def run_open(monkeypatch, *words):
    """Run the command with a client in place of the browser; (result, what the client got)."""
    if not free(PORT):
        pytest.skip(f"port {PORT} is taken on this machine")
    got, clients = [], []

    def browse(link):
        url = link.partition("url=")[2]
        assert url.startswith(f"http://127.0.0.1:{PORT}/")

        def fetch():
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
            connection.request("GET", url.partition(str(PORT))[2], headers={"Origin": ORIGIN})
            got.append(connection.getresponse().read())
            connection.close()

        clients.append(threading.Thread(target=fetch))
        clients[0].start()
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    result = CliRunner().invoke(cli, ["open", *words])
    # The command ends when all is sent, which is before the client has read it.
    for client in clients:
        client.join()
    return result, got


def test_open_serves_the_file_and_says_what_the_viewer_hides(tmp_path, monkeypatch):
    path = overlapping().write(tmp_path / "t.json")
    result, got = run_open(monkeypatch, str(path))
    assert result.exit_code == 0
    assert got == [path.read_bytes()]
    assert re.search(
        r"^https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:9001/[\w-]{32}/t\.json$", result.stdout, re.MULTILINE
    )
    assert "1 activity overlaps an earlier one on their stream" in result.stderr
    assert "--repair-lanes" in result.stderr


def test_open_repairs_lanes(tmp_path, monkeypatch):
    path = overlapping().write(tmp_path / "t.json")
    result, [got] = run_open(monkeypatch, str(path), "--repair-lanes")
    assert result.exit_code == 0
    assert "1 activity moved to rows of their own" in result.stderr
    assert {event["tid"] for event in json.loads(got)["traceEvents"] if event.get("cat") == "kernel"} == {7, 1_000_000}


def test_open_without_a_visitor_says_so(tmp_path, capsys):
    if not free(PORT):
        pytest.skip(f"port {PORT} is taken on this machine")
    path = overlapping().write(tmp_path / "t.json")
    with pytest.raises(SystemExit) as stop:
        main(["open", str(path), "--no-browser", "--wait", "1"])
    assert stop.value.code == 2
    assert "did not fetch the trace within 1 s" in capsys.readouterr().err
