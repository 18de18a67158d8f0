# SPDX-License-Identifier: GPL-3.0-or-later
"""Run docs/notebook.ipynb and keep what it shows: `python docs/make_notebook.py`.

A page on a code forge then has its pictures. What differs from run to run and tells nothing, such
as the times of cells, is left out.
"""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

PAGE = Path(__file__).with_name("notebook.ipynb")


def executed(folder: Path) -> nbformat.NotebookNode:
    """The notebook with what its cells show, run in `folder` with the Python that runs this.

    Raises `nbclient.exceptions.CellExecutionError` where a cell fails.
    """
    notebook = nbformat.read(PAGE, as_version=4)
    client = NotebookClient(
        notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    return client.execute()


if __name__ == "__main__":
    notebook = executed(PAGE.parent)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}  # not the version that it ran with
    nbformat.write(notebook, PAGE)
