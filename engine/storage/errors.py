# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong with files, in plain words."""


class StorageError(RuntimeError):
    """A file that cannot be written or read; the message names it and says what to do."""
