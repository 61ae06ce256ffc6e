"""Whether and how a page is opened."""

from __future__ import annotations

import os
import sys
import webbrowser


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _has_display() -> bool:
    return sys.platform != "linux" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ


def show(url: str, wanted: bool | None) -> None:
    """Opens the page; by default where there is a display, but not in a notebook, which shows it itself."""
    if wanted if wanted is not None else (_has_display() and not _in_notebook()):
        webbrowser.open(url)
