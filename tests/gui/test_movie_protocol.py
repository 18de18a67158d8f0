# SPDX-License-Identifier: GPL-3.0-or-later
import io
import struct
from dataclasses import replace

import numpy as np
import pytest

from bacsim_gui import movie_protocol as protocol
from bacsim_gui.movie_protocol import ProtocolError
from tests.gui.conftest import swarm


def sent(*jobs) -> io.BytesIO:
    pipe = io.BytesIO()
    for job, *arguments in jobs:
        job(pipe, *arguments)
    pipe.seek(0)
    return pipe


@pytest.mark.parametrize("rods", [0, 1, 250])
def test_a_frame_arrives_as_it_was_sent(rods: int) -> None:
    scene = replace(swarm(rods), values={"F_prop": 0.1, "rods": rods})
    message = protocol.receive(sent((protocol.send_frame, scene)))
    assert message is not None
    kind, content = message
    assert kind == protocol.FRAME
    got = protocol.scene_of(content)
    np.testing.assert_array_equal(got.rods, scene.rods)
    assert (got.space_size, got.length, got.radius) == (40.0, 4.0, 0.5)
    assert (got.step, got.time) == (7, 0.5)
    assert got.values == {"F_prop": 0.1, "rods": rods}


def test_a_frame_costs_16_bytes_a_rod() -> None:
    sizes = [len(sent((protocol.send_frame, swarm(n))).getvalue()) for n in (0, 1000)]
    assert sizes[1] - sizes[0] == 16_000
    assert sizes[0] < 150


def test_what_a_view_needs_of_rods_goes_along() -> None:
    speed, cluster = np.arange(250, dtype=np.float32), np.ones(250, np.float32)
    scene = replace(swarm(250), measures={"cluster": cluster, "speed": speed})
    message = protocol.receive(sent((protocol.send_frame, scene, ("speed", "overlap"))))
    assert message is not None
    got = protocol.scene_of(message[1])
    np.testing.assert_array_equal(got.rods, scene.rods)
    assert list(got.measures) == ["speed"]
    np.testing.assert_array_equal(got.measures["speed"], speed)


@pytest.mark.parametrize("rods", [0, 250])
def test_trails_go_along_with_rods_and_measures(rods: int) -> None:
    trails = np.arange(42, dtype=np.float32).reshape(7, 6)
    speed = np.arange(rods, dtype=np.float32)
    scene = replace(swarm(rods), measures={"speed": speed}, trails=trails)
    message = protocol.receive(sent((protocol.send_frame, scene, ("speed",))))
    assert message is not None
    got = protocol.scene_of(message[1])
    np.testing.assert_array_equal(got.rods, scene.rods)
    np.testing.assert_array_equal(got.measures["speed"], speed)
    np.testing.assert_array_equal(got.trails, trails)
    with pytest.raises(ProtocolError, match="bytes of rods"):
        protocol.scene_of(message[1][:-4])


def test_messages_follow_one_another_to_the_end() -> None:
    pipe = sent(
        (protocol.send_json, protocol.START, {"fps": 30}),
        (protocol.send_frame, swarm(3)),
        (protocol.send, protocol.FINISH),
    )
    kinds = []
    while (message := protocol.receive(pipe)) is not None:
        kinds.append(message[0])
    assert kinds == [protocol.START, protocol.FRAME, protocol.FINISH]


@pytest.mark.parametrize("kept", [1, 8, 9, 40])
def test_a_message_that_ends_early_is_refused(kept: int) -> None:
    whole = sent((protocol.send_frame, swarm(10))).getvalue()
    with pytest.raises(ProtocolError, match="ended"):
        protocol.receive(io.BytesIO(whole[:kept]))


@pytest.mark.parametrize("head", [(9, 5), (0, 5), (protocol.FRAME, 1 << 60)])
def test_a_message_of_unknown_kind_or_length_is_refused(head: tuple[int, int]) -> None:
    with pytest.raises(ProtocolError, match="is unknown"):
        protocol.receive(io.BytesIO(struct.pack("<BQ", *head) + b"12345"))


def test_a_frame_whose_length_does_not_fit_is_refused() -> None:
    message = protocol.receive(sent((protocol.send_frame, swarm(10))))
    assert message is not None
    for content in (message[1][:-1], message[1] + b"\0" * 15, message[1][:20], b"\0\0"):
        with pytest.raises(ProtocolError, match="bytes"):
            protocol.scene_of(content)


@pytest.mark.parametrize("head", [b"{}", b'{"space_size": 1, "colour": 2}', b"[1]", b"\xff"])
def test_a_frame_with_another_head_is_refused(head: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"head|JSON"):
        protocol.scene_of(struct.pack("<I", len(head)) + head + bytes(16))


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff"])
def test_what_is_no_json_object_is_refused(content: bytes) -> None:
    with pytest.raises(ProtocolError, match="no JSON"):
        protocol.json_of(content)
