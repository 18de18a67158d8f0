# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the tests of native code run at all."""

import shutil

from engine.native import library


def test_where_there_is_a_compiler_there_is_native_code():
    """Or its tests would be skipped, and nobody would know."""
    if any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        assert library.native().problem == ""
        assert library.targets()[0] == library.native().target
        assert library.targets()[-1] == "plain"
