# SPDX-License-Identifier: GPL-3.0-or-later
"""bacsim_gui: the window, the canvas, the recorder and the command line of bacsim.

Importing this package imports nothing else; `bootstrap` sets the environment first.
"""

__version__ = "0.1.0"
