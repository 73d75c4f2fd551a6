"""The server listens on this machine only, and gives no public links."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest

pytest.importorskip("viser", reason="the viewer needs viser")

from tests.report.made_up import model, ring_of_cameras
from vgpa.scene import Reconstruction
from vgpa.viewer.load import FINAL, ViewedModel, ViewedRun
from vgpa.viewer.serve import Server, serve


def run_of(*models: Reconstruction) -> ViewedRun:
    return ViewedRun(tuple(ViewedModel(str(k), m, {FINAL: m.poses}) for k, m in enumerate(models)), None)


@pytest.fixture
def server() -> Iterator[Server]:
    running = serve(run_of(model(ring_of_cameras(5), 30), model(ring_of_cameras(3), 0)), "127.0.0.1", 8123)
    yield running
    running.stop()


def test_it_serves_a_page_on_this_machine(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert server.url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(server.url, timeout=10) as answer:
        assert b"<html" in answer.read().lower()
    assert capsys.readouterr().out == ""


def test_it_gives_no_public_links(server: Server) -> None:
    assert server.request_share_url() is None


def test_a_taken_port_becomes_another(server: Server) -> None:
    second = serve(run_of(model(ring_of_cameras(3), 5)), "127.0.0.1", server.get_port())
    second.stop()
    assert second.get_port() != server.get_port()
