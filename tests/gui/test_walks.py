# SPDX-License-Identifier: GPL-3.0-or-later
"""The ten walks of the guide, each on the real window from the start of a preset."""

import pytest

from tests.gui import walks
from tests.gui.windows import begin

pytestmark = pytest.mark.gl


@pytest.mark.parametrize("walk", walks.WALKS, ids=lambda walk: walk.__name__)
def test_a_walk_arrives(walk, one_window, tmp_path):
    begin(one_window)
    walk(one_window, tmp_path, lambda name: None)
    assert one_window.session.problem is None
