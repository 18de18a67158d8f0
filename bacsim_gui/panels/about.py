# SPDX-License-Identifier: GPL-3.0-or-later
"""What this program is, in which version, and under which licence."""

from html import escape

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QMessageBox, QWidget

from bacsim_gui import __version__
from engine import schema

LICENCE = "https://www.gnu.org/licenses/gpl-3.0.html"


class AboutDialog(QMessageBox):
    """May stay open beside the window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setModal(False)
        self.setWindowTitle("About bacsim")
        self.setIconPixmap(parent.windowIcon().pixmap(64, 64))
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setText(f"<b>bacsim {__version__}</b><br>A desktop laboratory for swarming bacteria.")
        self.setInformativeText(
            f"Units: {escape(schema.unit_words())}.<br><br>"
            "Free software without any warranty, under the "
            f'<a href="{LICENCE}">GNU General Public License</a>, version 3 or later.'
        )
