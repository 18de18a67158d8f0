# SPDX-License-Identifier: GPL-3.0-or-later
"""The parameters, built from the declaration, with the figures that follow from them."""

import math
from html import escape

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from bacsim_gui.panels.layout import Column, Figures, Group, label
from bacsim_gui.panels.rows import ParameterRow
from bacsim_gui.session import Session
from engine import schema


def group_names() -> tuple[str, ...]:
    """The groups of the declaration, those of live parameters first, each once.

    Not the hand's, which the mouse sets.
    """
    fields = schema.PARAM_FIELDS + schema.SETUP_FIELDS
    return tuple(dict.fromkeys(f.group for f in fields if f.group != "hand"))


class DerivedFigures(QWidget):
    """Figures that follow from the parameters: shown, never typed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.figures = Figures()
        rows = QVBoxLayout(self)
        # As wide as the fields above, which leave room for the way back to the default.
        rows.setContentsMargins(0, 0, 28, 0)
        rows.addWidget(self.figures)

    def show_values(self, session: Session, K: int) -> None:
        """Show what follows from the parameters, and the pace at K steps a frame."""
        for figure in schema.derived(session.setup, session.params):
            name = figure.name.replace("_", " ")
            text = "∞" if math.isinf(figure.value) else f"{figure.value:.4g}"
            self.figures.put(name, f"{text} {figure.unit}", figure.doc, figure.symbol)
        pace = schema.pace(session.setup, session.params, K * session.fps)
        doc = f"Of a fully active rod, with {K} steps a frame and {session.fps:g} frames a second."
        self.figures.put("pace", f"{pace:.3g} body widths/s", doc)


class ParameterPanel(QWidget):
    """All parameters by group, the warnings about them, and the button that applies a rebuild."""

    edited = pyqtSignal(str, object)
    restored = pyqtSignal(str)
    applied = pyqtSignal()
    safe_dt_wanted = pyqtSignal()
    grasped = pyqtSignal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: dict[str, ParameterRow] = {}
        self.heading = "Parameters"
        column = Column()
        column.setAccessibleName("parameters")
        units = label("Units: l length (in presets a body width), t time, f force", wrap=True)
        units.setContentsMargins(2, 0, 0, 2)
        units.setToolTip(f"<p>{escape(schema.unit_words())}.</p>")
        column.add(units)
        for name in group_names():
            column.add(self._group(name))
        self.derived = DerivedFigures()
        figures = Group("derived")
        figures.add(self.derived)
        column.add(figures)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self._card())
        outer.addWidget(column, 1)
        outer.addWidget(self._warning_box())
        outer.addWidget(self._footer())

    def show_values(self, session: Session, K: int) -> None:
        """Show the session; no signal is emitted. K is the number of steps of a frame."""
        for name, row in self.rows.items():
            row.show_value(
                session.value(name), session.default(name), pending=session.is_pending(name),
                refusal=session.refused.get(name, ""),
            )  # fmt: skip
        self.derived.show_values(session, K)
        self.title.setText(session.run.title)
        self.about.setText(session.run.look_for)
        self.about.setVisible(bool(session.run.look_for))
        self.warning.setText("\n".join(session.warnings))
        self.warning_box.setVisible(bool(session.warnings))
        unsafe = session.params.dt > schema.largest_safe_dt(session.setup, session.params)
        self.safe_dt.setVisible(unsafe)
        changed = session.unapplied
        self.apply.setText(f"Apply {len(changed)} changes" if len(changed) > 1 else "Apply")
        # Short: where panels are tabs, there is room for no more.
        self.heading = f"Parameters · {len(changed)}" if changed else "Parameters"
        self.apply.setEnabled(session.needs_apply)
        self._footer_box.setVisible(session.needs_apply)
        self._pending.setText(
            f"Not applied yet: {', '.join(changed)}" if changed else "The last rebuild failed"
        )

    def show_count(self, session: Session, rods: int) -> None:
        """Say how many rods the picture has where that is not what the run began with."""
        began = session.setup.rods
        self.rows["rods"].say("" if rods == began else f"{rods:,} in the picture now")

    def _group(self, name: str) -> Group:
        group = Group(name)
        rebuilt = False
        for field in schema.PARAM_FIELDS + schema.SETUP_FIELDS:
            if field.group == name:
                if not (field.live or rebuilt):
                    rebuilt = True
                    heading = label("applied by a rebuild")
                    heading.setContentsMargins(0, 8, 0, 2)
                    group.add(heading)
                row = ParameterRow(field)
                row.edited.connect(self.edited)
                row.grasped.connect(self.grasped)
                row.restored.connect(self.restored)
                self.rows[field.name] = row
                group.add(row)
        return group

    def _card(self) -> QFrame:
        card = QFrame()
        card.setProperty("role", "card")
        rows = QVBoxLayout(card)
        rows.setContentsMargins(14, 10, 12, 10)
        rows.setSpacing(4)
        self.title = label(role="heading")
        self.about = label(wrap=True)
        rows.addWidget(self.title)
        rows.addWidget(self.about)
        return card

    def _warning_box(self) -> QFrame:
        self.warning_box = QFrame()
        self.warning_box.setProperty("role", "warning-box")
        rows = QVBoxLayout(self.warning_box)
        rows.setContentsMargins(12, 8, 12, 8)
        self.warning = label(wrap=True)
        self.safe_dt = QPushButton("Use largest safe dt")
        self.safe_dt.clicked.connect(self.safe_dt_wanted)
        rows.addWidget(self.warning)
        rows.addWidget(self.safe_dt)
        self.warning_box.hide()
        return self.warning_box

    def _footer(self) -> QFrame:
        self._footer_box = QFrame()
        self._footer_box.setProperty("role", "footer")
        row = QHBoxLayout(self._footer_box)
        row.setContentsMargins(14, 8, 12, 8)
        self._pending = label(wrap=True)
        self.apply = QPushButton("Apply")
        self.apply.setProperty("accent", True)
        self.apply.setToolTip(
            "<p>Rebuild with these values and begin again with the same seed. Another number of "
            "rods keeps the packing fraction; the box follows. Reset and New seed begin again "
            "without them.</p>"
        )
        self.apply.clicked.connect(self.applied)
        row.addWidget(self._pending, 1)
        row.addWidget(self.apply)
        self._footer_box.hide()
        return self._footer_box
