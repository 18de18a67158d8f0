# SPDX-License-Identifier: GPL-3.0-or-later
"""bacsim_gui: the window, the canvas, the recorder and the command line of bacsim."""
