# SPDX-License-Identifier: GPL-3.0-or-later
"""What a swarm is like: order, clusters, correlations, fields, motion.

`device` computes a few averages with each snapshot, inside the compiled program. The other modules
take plain arrays and work in float64, by NumPy and scipy; their memory grows with N, or N log N,
never with N². docs/analyse.md lists them all with formula, unit and source.

`order` (polar, nematic, hexatic, activity, speed) · `pairs` (near rods: core distances, overlaps,
crossings) · `clusters` · `density` (local density, number fluctuations) · `correlation` (g(r),
velocity correlation) · `fields` (velocity, vorticity, energy spectrum) · `defects` · `motion` (MSD,
orientation autocorrelation).
"""
