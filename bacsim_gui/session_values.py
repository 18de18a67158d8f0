# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of the model as the user has set them, and what was refused.

The first of the three layers of `bacsim_gui.session`.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PyQt6.QtCore import QObject, pyqtSignal

from bacsim_gui.edits import Stroke
from bacsim_gui.presets import Run
from bacsim_gui.seam import Problem
from engine import schema
from engine.obstacle import Obstacle, checked_obstacles
from engine.params import Params
from engine.schema import ParameterError

if TYPE_CHECKING:
    from engine.snapshot import Trust

# How long a refusal stays beside a field that shows its old value again.
REFUSED_SECONDS = 15.0
# The parameters of the hand, which a tool holds and no field shows.
HAND = ("push_x", "push_y", "push_range", "push_force")


def without_hand(params: Params) -> Params:
    """The same with no hand among the rods: it belongs to a mouse button that is down now."""
    return replace(params, push_force=0.0)


class SessionValues(QObject):
    """Parameters, obstacles and what tools do to rods.

    `pending` is the `Setup` as edited; `setup` the one that is built. `refused` maps a parameter's
    name to the plain reason why its last value was not taken. `edits` counts what the user has
    edited.
    """

    changed = pyqtSignal()

    def __init__(self, run: Run, preset: str) -> None:
        super().__init__()
        self.refused: dict[str, str] = {}
        self._refused_at = 0.0
        self.problem: Problem | None = None
        self._failures = 0
        self.edits = 0
        self._strokes: tuple[tuple[int, Stroke], ...] = ()
        self._stroke_serial = 0
        self._built_failed = False
        self._of_state: tuple[str, ...] = ()
        self.adopt(run, preset)

    def adopt(self, run: Run, preset: str) -> None:
        """Take over what a preset or a file holds, without telling anybody yet."""
        self.run = run
        self.preset = preset
        self.setup = self.pending = run.setup
        self.params = without_hand(run.params)
        self.K = run.K
        self.fps = run.fps
        self.seed = run.seed
        self.obstacles = run.obstacles
        self._start = run.start
        # The parameters that the arrays to start from were made with.
        self._fits = run.params
        self.refused = {}

    # Parameters

    def edit(self, name: str, value: object) -> None:
        """Take a value that the user typed or dragged; an impossible one is refused."""
        try:
            if schema.field(name).live:
                params = schema.with_values(self.params, **{name: value})
                schema.check(self.setup, params)
                self._scale_obstacles(params.space_size)
                self.params = params
            else:
                self.pending = schema.with_values(self.pending, **{name: value})
            self.refused.clear()
            self.edits += 1
        except ParameterError as error:
            self.refused[name] = str(error)
            self._refused_at = time.monotonic()
        self.changed.emit()

    def _scale_obstacles(self, space_size: float) -> None:
        """Take obstacles along into a box of another size, as the engine does."""
        if space_size != self.params.space_size:
            factor = space_size / self.params.space_size
            self.obstacles = checked_obstacles(
                (one.scaled(factor) for one in self.obstacles), space_size, self.setup.boundary
            )

    def put_back(self, values: Mapping[str, Any], space_size: float) -> None:
        """Have these values of an earlier moment again, `obstacles` among them; no edit.

        `space_size` is the side of the box in which the obstacles were.
        """
        given = {name: value for name, value in values.items() if name != "obstacles"}
        live = {name: value for name, value in given.items() if schema.field(name).live}
        try:
            params = schema.with_values(self.params, **live)
            schema.check(self.setup, params)
            rest = {name: value for name, value in given.items() if name not in live}
            pending = schema.with_values(self.pending, **rest)
        except ParameterError as error:
            self.show_problem(str(error))
            return
        if "obstacles" in values:
            factor = params.space_size / space_size
            placed = (one.scaled(factor) for one in values["obstacles"])
            self.obstacles = checked_obstacles(placed, params.space_size, self.setup.boundary)
        else:
            self._scale_obstacles(params.space_size)
        self.params, self.pending = params, pending
        self.refused.clear()
        # Of values that are no more; what ended a movie is still to be known.
        if self.problem is not None and not self.problem.movie:
            self.problem = None
        self.changed.emit()

    def forget_refusals(self) -> None:
        """Refusals that have been in sight for long are of no use any more."""
        if self.refused and time.monotonic() - self._refused_at > REFUSED_SECONDS:
            self.refused.clear()
            self.changed.emit()

    def value(self, name: str) -> schema.Value:
        """The value of a parameter as the user sees it: edited, applied or not."""
        return getattr(self.params if schema.field(name).live else self.pending, name)

    def default(self, name: str) -> schema.Value:
        """The value of a parameter in the preset or file that was loaded."""
        return getattr(self.run.params if schema.field(name).live else self.run.setup, name)

    def restore(self, name: str) -> None:
        """Put one parameter back to its value in the preset or file that was loaded."""
        self.edit(name, self.default(name))

    def use_largest_safe_dt(self) -> None:
        """Set dt to the largest one with which contacts are stable."""
        self.edit("dt", schema.largest_safe_dt(self.setup, self.params))

    @property
    def unapplied(self) -> tuple[str, ...]:
        """The parameters that were edited but not yet applied by a rebuild."""
        return tuple(f.name for f in schema.SETUP_FIELDS if self.is_pending(f.name))

    def is_pending(self, name: str) -> bool:
        """Whether a parameter was edited but not yet applied by a rebuild."""
        return not schema.field(name).live and self.value(name) != getattr(self.setup, name)

    @property
    def needs_apply(self) -> bool:
        """Whether a rebuild would change something."""
        return self.pending != self.setup or self._built_failed

    @property
    def warnings(self) -> tuple[str, ...]:
        """Plain sentences about values, and a state, that run but should not be trusted."""
        return (*schema.warnings_for(self.setup, self.params), *self._of_state)

    def note_trust(self, trust: "Trust | None") -> None:
        """Take over what was measured of the present state."""
        told = trust and schema.warnings_of_state(trust.deepest_overlap, trust.crossed_pairs)
        if (told or ()) != self._of_state:
            self._of_state = told or ()
            self.changed.emit()

    # Tools

    def set_obstacles(self, obstacles: Iterable[Obstacle]) -> None:
        """Replace all obstacles; what is none, or too many, is refused."""
        try:
            self.obstacles = checked_obstacles(
                obstacles, self.params.space_size, self.setup.boundary
            )
        except ParameterError as error:
            self.show_problem(str(error))
            return
        self.edits += 1
        self.changed.emit()

    def stroke(self, stroke: Stroke) -> None:
        """Have the engine do what was done with a tool."""
        self._stroke_serial += 1
        self._strokes = (*self._strokes, (self._stroke_serial, stroke))
        self.changed.emit()

    @property
    def strokes_to_do(self) -> tuple[Stroke, ...]:
        """The strokes that are not yet in the newest state."""
        return tuple(stroke for _, stroke in self._strokes)

    def strokes_done(self, serial: int) -> None:
        """Forget the strokes up to that serial."""
        self._strokes = tuple(kept for kept in self._strokes if kept[0] > serial)

    def hand(self, x: float, y: float, within: float, force: float) -> None:
        """Push rods away from (x, y), or pull them near with a negative force; 0 lets go."""
        values = dict(zip(HAND, (x, y, within, force), strict=True))
        self.params = schema.with_values(self.params, **values)
        self.changed.emit()

    # Problems

    def show_problem(self, message: str, details: str = "") -> None:
        """Show something that went wrong outside the engine, which runs on."""
        self.problem = Problem(
            message, None, self._failures, False, None, None, None, details=details
        )
        self.changed.emit()

    def dismiss_problem(self) -> None:
        """Hide the problem that is shown."""
        self.problem = None
        self.changed.emit()

    def _whole(self, name: str, text: object, least: int) -> int | None:
        """A whole number that is no parameter of the model, or None when it is refused."""
        self.refused.pop(name, None)
        try:
            number = int(str(text))
        except ValueError:
            number = least - 1
        if least <= number < 2**31:
            return number
        self.refused[name] = (
            f"{name} = {text} is not possible. Give a whole number of at least {least}."
        )
        return None
