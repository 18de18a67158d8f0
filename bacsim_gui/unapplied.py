# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that were changed and not applied: they are given up only if the user says so."""

from PyQt6.QtWidgets import QMessageBox, QWidget

from bacsim_gui.panels.number import shown
from bacsim_gui.session import Session


def may_be_given_up(parent: QWidget, session: Session, doing: str) -> bool:
    """Whether to go on with what would lose values that wait for Apply; true where none does.

    `doing` is the text of the button that goes on, such as "Open and give it up".
    """
    names = session.unapplied
    if not names:
        return True
    told = ", ".join(
        f"{name} {shown(getattr(session.setup, name))} → {shown(session.value(name))}"
        for name in names
    )
    box = QMessageBox(
        QMessageBox.Icon.NoIcon, "bacsim", f"Changed, but not applied: {told}.", parent=parent
    )
    box.setInformativeText("Stay and press Apply to keep it, or go on without.")
    go_on = box.addButton(doing, QMessageBox.ButtonRole.DestructiveRole)
    stay = box.addButton("Stay", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(stay)
    box.setEscapeButton(stay)
    box.exec()
    return box.clickedButton() is go_on
