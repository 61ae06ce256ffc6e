"""Files that our loader must refuse, with a message that names the file: what it does not support although ignoring
it would change the physics, and what MuJoCo refuses too."""

from pathlib import Path

import mujoco
import pytest
import touchstone_dump

REFUSED = sorted((Path(__file__).parent / "models" / "refused").glob("*.xml"))
UNSUPPORTED = {"flex", "muscle", "spatial_tendon"}  # MuJoCo simulates these


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in REFUSED])
def test_refused(path):
    with pytest.raises(touchstone_dump.LoadError, match=path.name):
        touchstone_dump.describe(path)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in REFUSED])
def test_mujoco_agrees(path):
    if path.stem in UNSUPPORTED:
        mujoco.MjModel.from_xml_path(str(path))
        return
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_ignored_on_request(name):
    path = Path(__file__).parent / "models" / "refused" / f"{name}.xml"
    assert touchstone_dump.describe(path, "--allow-ignored")["warnings"]
