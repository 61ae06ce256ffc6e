"""Attributes that are left empty, and files that are parts of others: accepted where MuJoCo accepts them. The family
is generated from MuJoCo's own list of elements and attributes."""

import os
import re
import signal
import xml.etree.ElementTree as ET

import mujoco
import pytest
import touchstone_dump

BASE = """<mujoco model="m">
  <compiler angle="radian"/>
  <option timestep="0.001"><flag contact="enable"/></option>
  <default><geom rgba="1 0 0 1"/><joint damping="1"/><site size="0.1"/></default>
  <asset>
    <mesh name="mesh" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
    <hfield name="field" nrow="2" ncol="2" size="1 1 1 1"/>
    <material name="material" rgba="1 1 1 1"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="a" pos="0 0 1">
      <joint name="ja" type="hinge" axis="0 1 0"/>
      <geom name="ga" type="sphere" size="0.1"/>
      <site name="sa"/>
      <body name="b"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="jb"/><site name="sb"/></body>
    </body>
    <body name="c" pos="3 0 0"><freejoint name="free"/><geom name="gc" size="0.1"/></body>
  </worldbody>
  <contact><pair geom1="ga" geom2="gc"/><exclude body1="a" body2="c"/></contact>
  <equality>
    <connect body1="a" body2="c" anchor="0 0 0"/><weld body1="a" body2="c"/><joint joint1="ja" joint2="jb"/>
  </equality>
  <tendon><fixed name="t"><joint joint="ja" coef="1"/></fixed></tendon>
  <actuator>
    <motor joint="ja"/><position joint="ja" kp="1"/><velocity joint="ja"/><general joint="ja"/>
  </actuator>
  <sensor><jointpos joint="ja"/><framepos objtype="site" objname="sa"/><touch site="sb"/></sensor>
  <keyframe><key name="k" qpos="0 0 3 0 0 1 0 0 0"/></keyframe>
</mujoco>"""

# What MuJoCo refuses and we load, because we do not read it, or with a warning: attributes of the world, names of
# assets that do not exist (a blank is a name).
LENIENT = [
    "interp",
    "fuse",
    "simple",
    "sleep",
    "castshadow",
    "fluidshape",
    "group",
    "texuniform",
    "maxhullvert",
    "smoothnormal",
    "solver",
    "jacobian",
    "autoreset",
    "diagexact",
    "energy",
    "fwdinv",
    "invdiscrete",
    "ipc",
    "island",
    "midphase",
    "multiccd",
    "nativeccd",
    "sensor",
    "speculative",
    "warmstart",
    "passthrough",
    "savecanonical",
    "savecompiled",
    "saveinertial",
    "usethread",
    "material",
    "hfield",
    "mesh",
    "texture",
    "class",
]


def schema():
    """{(path of tags): attributes}, from the table that MuJoCo prints."""
    rows, stack, current = {}, [], None
    for line in mujoco.mj_printSchema(False, False).splitlines():
        head = re.match(r"^( *)\(?(\w+)\)?(\w*) \((.)\) *(.*)$", line)
        if head:
            depth = len(head.group(1)) // 3
            tag = "worldbody" if head.group(3) == "body" else head.group(2)
            stack = [*stack[:depth], tag]
            current = rows.setdefault(tuple(stack), [])
            current += head.group(5).split()
        elif line.strip():
            current += line.split()
    return rows


def attributes_of(path, tag):
    known = schema()
    if tag == "body" or path == ("mujoco", "worldbody", tag):
        return known[("mujoco", "worldbody")] if tag == "body" else known[("mujoco", "worldbody", tag)]
    return known.get((*path,), [])


def paths(root):
    """(element, its path in the schema) of everything in the base."""
    stack = [(root, ("mujoco",))]
    while stack:
        element, path = stack.pop()
        yield element, path
        for child in element:
            inside = ("mujoco", "worldbody") if "worldbody" in path else path
            stack.append((child, (*inside, child.tag)))


def cases():
    seen = set()
    for element, path in paths(ET.fromstring(BASE)):
        for attribute in attributes_of(path, element.tag):
            if (path, attribute) in seen or attribute == "file":
                continue
            seen.add((path, attribute))
            yield path, attribute


def mujoco_loads(text):
    """The message of MuJoCo's error, empty if it loads. In a process of its own: some input makes it hang."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        message = ""
        try:
            mujoco.MjModel.from_xml_string(text)
        except (ValueError, RuntimeError) as error:
            message = str(error) or "refused"
        os.write(writer, message.encode()[:1000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        message = stream.read().decode(errors="replace")
    return message if os.waitpid(child, 0)[1] == 0 else "it hangs or crashes"


def ours_loads(file):
    try:
        touchstone_dump.describe(file)
    except touchstone_dump.LoadError as error:
        return str(error)
    return ""


def with_empty(path, attribute, value):
    root = ET.fromstring(BASE)
    for element, where in paths(root):
        if where == path:
            element.set(attribute, value)
            break
    return ET.tostring(root, encoding="unicode")


@pytest.mark.parametrize("value", ["", "  "], ids=["empty", "blank"])
def test_empty_attributes(tmp_path, value):
    assert not mujoco_loads(BASE)
    checked, wrong = 0, []
    for path, attribute in cases():
        text = with_empty(path, attribute, value)
        file = tmp_path / "m.xml"
        file.write_text(text)
        theirs, ours = mujoco_loads(text), ours_loads(file)
        checked += 1
        lenient = attribute in LENIENT or path == ("mujoco", "worldbody")
        if bool(theirs) != bool(ours) and not (theirs and lenient):
            wrong.append(f"{'/'.join(path)}@{attribute}: MuJoCo '{theirs.splitlines()[:1]}', ours '{ours}'")
    assert checked > 200
    assert not wrong, "\n".join(wrong)


FRAGMENTS = [
    "<mujocoinclude/>",
    '<mujocoinclude><body><geom size="1"/></body></mujocoinclude>',
    "<body/>",
    "<worldbody/>",
    "<geom/>",
    "<foo/>",
    "<mujoco/>",
    '<mujoco><body><geom size="1"/></body></mujoco>',
    '<mujoco><body><geom size="a" class="none"/></body></mujoco>',
    '<mujoco><body><body><joint class="none"/></body></body></mujoco>',
    '<mujoco><frame><geom size="1"/></frame></mujoco>',
    '<mujoco><worldbody><geom size="1"/></worldbody><body><geom size="1"/></body></mujoco>',
    '<mujoco><body name="a"/><actuator><motor joint="x"/></actuator></mujoco>',
    "",
    "<mujoco>",
]


@pytest.mark.parametrize("text", FRAGMENTS)
def test_fragments(tmp_path, text):
    file = tmp_path / "m.xml"
    file.write_text(text)
    assert bool(mujoco_loads(text)) == bool(ours_loads(file))
    if not mujoco_loads(text):
        assert touchstone_dump.describe(file)["sizes"]["nbody"] == mujoco.MjModel.from_xml_string(text).nbody
