# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a machine is said in one plain sentence, with a remedy."""

import json
import os
import subprocess

import pytest

from bacsim_gui.bootstrap import own_program, own_program_environment
from bacsim_gui.device import nvidia_card
from bacsim_gui.selftest import Graphics, is_software, judged, remote_desktop

CARD = Graphics("NVIDIA Corporation", "NVIDIA H200/PCIe", "4.6.0 NVIDIA 570.1", (4, 6))
MESA = Graphics("Mesa", "llvmpipe (LLVM 15.0.6, 256 bits)", "4.5 Mesa 22.3.6", (4, 5))
AT_HOME = {"DISPLAY": ":0"}


def told(graphics=CARD, platform="xcb", device="CPU", note="", card="", environment=AT_HOME):
    return [str(one) for one in judged(graphics, platform, device, note, card, environment)]


def test_on_a_machine_that_is_as_it_should_be_nothing_is_said():
    assert told() == []
    assert told(device="NVIDIA H200", card="NVIDIA H200") == []
    assert judged(None, "", "", "", "NVIDIA H200", {}) == []  # nothing is known yet


@pytest.mark.parametrize(
    ("facts", "what", "remedy"),
    [
        ({"graphics": MESA}, "The processor draws the picture (llvmpipe", "Install the driver"),
        (
            {"graphics": MESA, "environment": {"DISPLAY": ":10", "XRDP_SESSION": "1"}},
            "The processor draws", "Under xrdp, VirtualGL",
        ),
        (
            {"graphics": MESA, "environment": {"DISPLAY": ":1", "SSH_CONNECTION": "1.2.3.4 5"}},
            "The processor draws", "bacsim movie",
        ),
        (
            {"environment": {"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "1.2.3.4 5"}},
            "shown by ssh -X", "VirtualGL",
        ),
        (
            {"graphics": Graphics("Broadcom", "V3D 4.2", "OpenGL ES 3.1", (3, 1), es=True)},
            "Only OpenGL ES is offered here (V3D 4.2)", "LIBGL_ALWAYS_SOFTWARE=1",
        ),
        (
            {"graphics": Graphics("Intel", "GMA", "2.1 Mesa", (2, 1), instanced=False)},
            "OpenGL 2.1 Mesa of GMA is too old: rods need 3.3", "newer graphics driver",
        ),
        ({"platform": "wayland"}, "Qt runs on Wayland", "without QT_QPA_PLATFORM"),
        ({"platform": "offscreen"}, "no OpenGL", "bacsim movie"),
        (
            {"card": "NVIDIA H200"},
            "NVIDIA H200 is here, but JAX computes on the processor", "bacsim[cuda12]",
        ),
        ({"note": "H200 is not used: too old. To use it, update."}, "H200 is not used", "update"),
    ],
)  # fmt: skip
def test_each_trouble_has_its_sentence_and_its_remedy(facts, what, remedy):
    (said,) = told(**facts)
    assert what in said
    assert remedy in said


def test_an_old_version_that_has_what_is_needed_is_left_alone():
    # Mesa gives some contexts 3.1 with the extension.
    assert told(Graphics("Mesa", "Card", "3.1 Mesa", (3, 1), instanced=True)) == []


def test_a_card_behind_virtualgl_is_no_software():
    assert not is_software(CARD)
    assert is_software(Graphics("Google", "SwiftShader Device", "4.1", (4, 1)))
    assert is_software(Graphics("Microsoft", "GDI Generic", "1.1.0", (1, 1)))
    assert remote_desktop({"VNCDESKTOP": "host:1"}) == "VNC"
    assert remote_desktop({"VNCDESKTOP": ""}) == ""


def test_the_card_is_that_of_the_system():
    assert isinstance(nvidia_card(), str)


@pytest.mark.gl
def test_the_probe_tells_the_opengl_of_a_window_or_why_there_is_none():
    def probe(**variables):
        environment = own_program_environment() | variables
        command = own_program("graphics")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    found = probe(DISPLAY=os.environ["DISPLAY"])
    assert found["platform"] == "xcb"
    assert "llvmpipe" in found["graphics"]["renderer"] or found["graphics"]["vendor"]
    assert found["graphics"]["number"] >= [2, 1]
    assert found["screens"][0].endswith("at 1")
    assert "does not answer" in probe(DISPLAY=":987")["problem"]
