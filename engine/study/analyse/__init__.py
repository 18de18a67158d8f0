# SPDX-License-Identifier: GPL-3.0-or-later
"""What a trajectory tells: averages with their errors, correlations, figures, a report.

`span` chooses the frames, `frame` measures one, `collect` goes through them, `report` writes tables
and text, `figures` draws. Only `figures` imports matplotlib.
"""
