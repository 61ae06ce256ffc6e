"""Whether and how a page is opened."""

from __future__ import annotations

import atexit
import html
import os
import shutil
import sys
import tempfile
import webbrowser
from pathlib import Path


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _has_display() -> bool:
    return sys.platform != "linux" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ


def _link_to(url: str) -> str:
    """The address of a file that leads to the page and that only this user can read; it goes when Python ends.

    Everyone on the machine can read the words of a command (ps), so an address with a token must not be one.
    """
    folder = tempfile.mkdtemp(prefix="touchstone-")  # with permissions for this user alone
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder) / "open.html"
    address = html.escape(url)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(
            "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
            "<meta name='referrer' content='no-referrer'>\n"
            f"<meta http-equiv='refresh' content='0; url={address}'>\n<title>Touchstone</title>\n</head>\n"
            f"<body><a href='{address}'>Open the viewer</a></body>\n</html>\n"
        )
    return file.as_uri()


def show(url: str, wanted: bool | None) -> None:
    """Opens the page; by default where there is a display, but not in a notebook, which shows it itself."""
    if wanted if wanted is not None else (_has_display() and not _in_notebook()):
        webbrowser.open(_link_to(url) if "token=" in url else url)
