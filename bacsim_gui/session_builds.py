# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs that the user begins, and the earlier states that are looked back at.

The second of the three layers of `bacsim_gui.session`.
"""

import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from bacsim_gui.presets import Run
from bacsim_gui.seam import Build, Movie
from bacsim_gui.session_values import SessionValues, without_hand
from bacsim_gui.view import View
from engine.obstacle import checked_obstacles
from engine.params import Params
from engine.snapshot import Checkpoint, Snapshot, Start

# What is put aside while the user looks back, for when that ends.
_ASIDE = (
    "run", "preset", "setup", "pending", "params", "obstacles", "seed", "running", "_start",
    "_fits",
)  # fmt: skip


class SessionBuilds(SessionValues):
    """Begins runs and branches; knows the state that is looked at.

    `looking` is the earlier state that the user looks at, None for the present: until that ends,
    all that is shown and edited is of a branch that might go on from it, and the present run keeps
    what it has.
    """

    def __init__(self, run: Run, preset: str) -> None:
        super().__init__(run, preset)
        self.view = View()
        self.auto = self.running = False
        self.movie: Movie | None = None
        self.looking: Snapshot | None = None
        self._thinned = False
        self._aside: dict[str, Any] = {}
        self._serial = 0
        self._build: Build | None = None

    # Builds

    def apply_setup(self) -> None:
        """Rebuild with the edited `Setup`. Another number of rods keeps φ: the box follows."""
        self._forget_aside()
        run = self.current_run().with_values(**asdict(self.pending))
        self._scale_obstacles(run.params.space_size)
        self.setup, self.params, self._start = run.setup, run.params, run.start
        # What stands at a wall has its place anew where that is taken away.
        self.obstacles = checked_obstacles(
            self.obstacles, self.params.space_size, self.setup.boundary
        )
        self._order_build("setup applied")

    def reset(self) -> None:
        """Begin again from the same start and seed, with the present parameters."""
        self._leave_the_past()
        self._order_build("reset")

    def new_seed(self) -> None:
        """Begin again from a new random start."""
        self.set_seed(str(secrets.randbelow(2**31)))

    def set_seed(self, text: str) -> None:
        """Begin again from the random start of the seed that was typed."""
        seed = self._whole("seed", text, 0)
        if seed is None:
            self.changed.emit()
            return
        self._leave_the_past()
        self.seed = seed
        self._start = None
        self._order_build("new seed")

    def begin(self) -> None:
        """Order the first build: what the session was made with."""
        self._order_build("first start")

    def load_run(self, run: Run, preset: str = "", base: Run | None = None) -> None:
        """Begin again with all that a preset (its name given) or a file holds.

        Where `run` is the preset with other values, `base` is what they are restored to.
        """
        self._leave_the_past()
        self.adopt(run, preset)
        self.run = base or run
        self._order_build("preset" if preset else "file")

    def resume(self, kept: Checkpoint, notes: Mapping[str, Any]) -> None:
        """Stand, paused, where a checkpoint was taken, to go on with the same bits.

        `notes` are those of `save_checkpoint`; title, K, frames a second and view come from them.
        """
        self._leave_the_past()
        setup, params, start = kept.began
        title = str(notes.get("title", "own run"))
        K, fps = int(notes.get("K", self.K)), float(notes.get("fps", self.fps))
        self.adopt(Run(title, "", setup, params, K, fps, kept.seed, start), "")
        self.setup = self.pending = kept.setup
        self.params = without_hand(kept.params)
        self.obstacles = kept.obstacles
        self.auto = self.running = False
        if "view" in notes:
            self.view = View.from_dict(notes["view"])
        self._order_build("checkpoint", kept)

    # Earlier states

    @property
    def thinned(self) -> bool:
        """Whether what is looked at lacks rods."""
        return self.looking is not None and self._thinned

    def look_back(
        self, snapshot: Snapshot, run: Run | None = None, *, thinned: bool = False
    ) -> None:
        """Pause, and show an earlier state and its parameters in place of the present.

        `run` is the one that it is a state of, where that is not this one. A `thinned` state lacks
        rods, so nothing can be measured of it. Not while recording.
        """
        if self.movie is not None:
            return
        if self.looking is None:
            self.params = without_hand(self.params)
            self._aside = {name: getattr(self, name) for name in _ASIDE}
        if run is not None:
            self.run, self.preset, self.seed = run, "", run.seed
            self.setup = self.pending = run.setup
        self.looking, self.running = snapshot, False
        self.params = without_hand(snapshot.params)
        self.obstacles = snapshot.obstacles
        self._thinned = thinned
        self.refused = {}
        self.changed.emit()

    def look_at_now(self) -> None:
        """Show the present again, which goes on if it ran."""
        self._leave_the_past()
        self.changed.emit()

    def go_on_from_here(self) -> None:
        """Make a branch of what is looked at, with the parameters as they are edited by now."""
        if self.looking is None:
            return
        snapshot, ran = self.looking, self._aside["running"]
        self._forget_aside()
        self._start, self._fits = Start.of(snapshot), snapshot.params
        # There may have been more rods, or fewer.
        if self.pending.rods == self.setup.rods:
            self.pending = replace(self.pending, rods=snapshot.n)
        self.setup = replace(self.setup, rods=snapshot.n)
        self.running = ran
        # The rods fit the parameters that they had; what was edited is set thereafter.
        self._order_build("earlier state", began=without_hand(snapshot.params))

    def take_back_rods(self, before: Snapshot) -> None:
        """Go on with the rods of an earlier state of this run, under the values of now.

        To begin again is still to begin where the run did. Not while looking back or recording.
        """
        self._order_build(
            "earlier state", began=without_hand(before.params), start=Start.of(before)
        )

    def _leave_the_past(self) -> None:
        """Let the present be what is shown, edited and run."""
        for name, value in self._aside.items():
            setattr(self, name, value)
        self._forget_aside()

    def _forget_aside(self) -> None:
        self.looking, self._aside = None, {}

    def _order_build(
        self, reason: str, kept: Checkpoint | None = None, began: Params | None = None,
        start: Start | None = None,
    ) -> None:  # fmt: skip
        self._serial += 1
        self._strokes = ()
        self._built_failed = False
        placed = ("space_size", "length", "radius")
        fits = all(getattr(began or self.params, n) == getattr(self._fits, n) for n in placed)
        if start is None and not fits:
            # Arrays made for another box or other rods would overlap.
            self._start = None
        self.problem = None
        # Its metadata would no longer be true of what follows.
        self.movie = None
        setup = self.setup if start is None else replace(self.setup, rods=len(start.pos))
        self._build = Build(
            self._serial, setup, began or self.params, self.seed, start or self._start, reason,
            self.run.title, kept, branch=began is not None, obstacles=self.obstacles,
            began_with=self.setup.rods,
        )  # fmt: skip
        self.changed.emit()

    def current_run(self) -> Run:
        """What is set now, in the form of a preset, so that it can be saved and found again."""
        return replace(
            self.run, setup=self.setup, params=without_hand(self.params), K=self.K, seed=self.seed,
            start=self._start, obstacles=self.obstacles,
        )  # fmt: skip
