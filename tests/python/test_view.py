"""The live viewer of a simulator that a script owns."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import touchstone as ts

BALL = """<mujoco model='ball'><worldbody><geom type='plane' size='5 5 1'/>
  <body name='ball' pos='0 0 1'><freejoint/><geom size='.1' mass='1'/></body></worldbody></mujoco>"""


class Page:
    """What a browser does: a WebSocket, by hand, because nothing else here needs a package for it."""

    def __init__(self, port: int, path: str = "/live") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nOrigin: http://127.0.0.1:{port}\r\n\r\n"
        )
        self.socket.sendall(request.encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])

    def take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the server said goodbye")
            self.buffer += more
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def receive(self) -> tuple[int, bytes]:
        first, length = self.take(2)
        if length == 126:
            (length,) = struct.unpack(">H", self.take(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self.take(8))
        return first & 15, self.take(length)

    def text(self, kind: str) -> dict:
        while True:
            opcode, data = self.receive()
            if opcode == 1:
                message = json.loads(data)
                if message["type"] == kind:
                    return message

    def frame_time(self) -> float:
        while True:
            opcode, data = self.receive()
            if opcode == 2:
                (length,) = struct.unpack_from("<I", data)
                return float(json.loads(data[4 : 4 + length])["time"])

    def send(self, **command: object) -> None:
        data = json.dumps(command).encode()
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(bytes([0x81, 0x80 | len(data)]) + mask + masked)

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def sim() -> ts.Simulator:
    return ts.Simulator(ts.load_string(BALL), dt=1e-3)


def test_the_page_and_python_take_turns(sim: ts.Simulator) -> None:
    with sim.view(browser=False) as viewer, contextlib.closing(Page(viewer.port)) as page:
        assert page.status == 101
        assert page.text("hello")["type"] == "hello"
        assert page.frame_time() == 0.0
        sim.step(10)  # paused, yet what the script does is shown
        while page.frame_time() < 0.0099:
            pass
        page.send(type="step", count=5)
        page.text("state")
        assert sim.time == pytest.approx(0.015, abs=1e-12)
        page.send(type="reset")
        page.text("state")
        assert sim.time == 0.0
        page.send(type="play")
        page.text("state")
        while page.frame_time() < 0.03:
            sim.step()
        assert sim.time >= 0.03


def test_what_it_does_not_offer_is_refused(sim: ts.Simulator) -> None:
    with sim.view(browser=False) as viewer, contextlib.closing(Page(viewer.port)) as page:
        page.text("hello")
        page.send(type="solver", name="nbgs")  # the simulator is the script's: it keeps its options
        assert page.text("error")["message"]
        assert sim.solver == "auto"


def test_the_document(sim: ts.Simulator) -> None:
    viewer = sim.view(browser=False)
    with urllib.request.urlopen(viewer.url, timeout=20) as answer:
        assert b"<html" in answer.read(2000)
    assert viewer.url in viewer._repr_html_()
    assert "<iframe" in viewer._repr_html_()
    assert str(viewer.port) in repr(viewer)
    viewer.close()
    viewer.close()
    assert not viewer.is_open
    assert "closed" in repr(viewer)
    assert "iframe" not in viewer._repr_html_()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(viewer.url, timeout=5)


def test_the_token(sim: ts.Simulator) -> None:
    with sim.view(token=True, browser=False) as viewer:
        with contextlib.closing(Page(viewer.port)) as page:
            assert page.status == 403
        with contextlib.closing(Page(viewer.port, "/live?" + viewer.url.split("?")[1])) as page:
            assert page.status == 101


def test_bad_arguments(sim: ts.Simulator) -> None:
    with sim.view(browser=False) as viewer, pytest.raises(ts.Error, match=str(viewer.port)):
        sim.view(port=viewer.port, browser=False)
    with pytest.raises(ts.Error, match="70000"):
        sim.view(port=70000, browser=False)
    with pytest.raises(ts.Error, match="speed"):
        sim.view(speed=0.0, browser=False)


def test_it_ends_with_the_program() -> None:
    script = (
        "import touchstone as ts; sim = ts.scene('cube-slide').simulator(); v = sim.view(paused=False, browser=False); "
        "print(v.port, flush=True); import sys; sys.stdin.read()"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    page = Page(int(run.stdout.readline()))
    while page.frame_time() <= 0.0:
        pass
    time.sleep(0.1)
    run.communicate("", timeout=60)
    page.close()
    assert run.returncode == 0


def test_the_token_is_on_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from touchstone import _browser

    opened: list[str] = []
    monkeypatch.setattr(_browser.webbrowser, "open", opened.append)
    secret = "http://127.0.0.1:1/?token=0123456789abcdef"
    _browser.show(secret, True)
    _browser.show("http://127.0.0.1:1/", True)
    assert "0123" not in opened[0]
    file = urllib.request.url2pathname(opened[0][len("file://") :])
    with open(file, encoding="utf-8") as stream:
        assert f"url={secret}" in stream.read()
    assert os.stat(file).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(file)).st_mode & 0o777 == 0o700
    assert opened[1] == "http://127.0.0.1:1/", "without a token there is no secret"
