"""Scenes of the benchmark that no file holds, written as MJCF into a folder. Each function returns the path."""

import math
import random


def write(folder, name, body, options="", assets="", rest=""):
    path = folder / f"{name}.xml"
    path.write_text(
        f"<mujoco><option timestep='0.002' {options}/><size memory='1G'/>{assets}<worldbody>{body}</worldbody>"
        f"{rest}</mujoco>"
    )
    return path


def bin_walls(half, height):
    """A floor and four walls of boxes, 0.1 m thick."""
    walls = [f"<geom type='plane' size='{4 * half} {4 * half} 1'/>"]
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        centre = f"{x * (half + 0.05)} {y * (half + 0.05)} {height / 2}"
        size = (0.05 if x else half + 0.1, 0.05 if y else half + 0.1, height / 2)
        walls.append(f"<geom type='box' pos='{centre}' size='{size[0]} {size[1]} {size[2]}'/>")
    return "".join(walls)


def random_turn(draw, most):
    axis = [draw.gauss(0, 1) for _ in range(3)]
    angle = draw.uniform(0, most)
    norm = math.sqrt(sum(a * a for a in axis))
    quaternion = [math.cos(angle / 2), *(math.sin(angle / 2) * a / norm for a in axis)]
    return " quat='" + " ".join(f"{q:.6f}" for q in quaternion) + "'"


def pile(folder, name, half, per_side, layers, spacing, rise, jitter, geom, turned, assets=""):
    """`per_side`^2 bodies a layer, layers `rise` apart, dropped into a bin. `geom`: of a body, by its number."""
    draw = random.Random(7)
    bodies = []
    for layer in range(layers):
        for i in range(per_side):
            for j in range(per_side):
                x, y = ((k - (per_side - 1) / 2) * spacing + draw.uniform(-jitter, jitter) for k in (i, j))
                z = 0.06 + layer * rise
                turn = random_turn(draw, math.pi / 3) if turned else ""
                shape = geom(len(bodies))
                bodies.append(f"<body pos='{x:.5f} {y:.5f} {z:.5f}'{turn}><freejoint/>{shape}</body>")
    return write(folder, name, bin_walls(half, layers * spacing) + "\n".join(bodies), assets=assets)


def box_pile(folder):
    box = "<geom type='box' size='.05 .04 .03' mass='0.5'/>"
    return pile(folder, "box_pile", 0.32, 5, 4, 0.125, 0.13125, 0.004, lambda _: box, True)


def sphere_pile(folder):
    sphere = "<geom size='.05' mass='0.5'/>"
    return pile(folder, "sphere_pile", 0.51, 10, 10, 0.101, 0.1014, 0.0004, lambda _: sphere, False)


def mixed_pile(folder):
    """3,072 spheres, boxes, capsules and cylinders, turned, in layers that fall on each other."""
    shapes = ("type='sphere' size='.05'", "type='box' size='.05 .04 .03'", "type='capsule' size='.03 .03'")
    shapes += ("type='cylinder' size='.04 .03'",)
    geom = lambda k: f"<geom {shapes[k % len(shapes)]} mass='0.5'/>"  # noqa: E731
    return pile(folder, "mixed_pile", 1.0, 16, 12, 0.125, 0.13, 0.004, geom, True)


def meshes(folder, count):
    """Balls with bumps and dents, 162 vertices each, as a scanner would give them; both engines take their hulls."""
    draw = random.Random(11)
    assets = []
    for k in range(count):
        path = folder / f"bumpy_{k}.obj"
        path.write_text(bumpy_ball(draw))
        assets.append(f"<mesh name='m{k}' file='{path.resolve()}'/>")
    geom = lambda k: f"<geom type='mesh' mesh='m{k}' mass='0.3'/>"  # noqa: E731
    per_side, layers = 3, math.ceil(count / 9)
    path = pile(folder, "meshes", 0.22, per_side, layers, 0.13, 0.13, 0.004, geom, True, "")
    text = path.read_text()
    bodies = text.split("<body ")
    text = "<body ".join(bodies[: count + 1])
    if len(bodies) > count + 1:
        text += "</worldbody></mujoco>"
    path.write_text(text.replace("<worldbody>", "<asset>" + "".join(assets) + "</asset><worldbody>", 1))
    return path


def bumpy_ball(draw):
    """A subdivided icosahedron whose vertices are moved in and out by a few random waves; OBJ."""
    golden = (1 + math.sqrt(5)) / 2
    points = [(-1, golden, 0), (1, golden, 0), (-1, -golden, 0), (1, -golden, 0), (0, -1, golden), (0, 1, golden)]
    points += [(0, -1, -golden), (0, 1, -golden), (golden, 0, -1), (golden, 0, 1), (-golden, 0, -1), (-golden, 0, 1)]
    faces = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6)]
    faces += [(7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10)]
    faces += [(8, 6, 7), (9, 8, 1)]
    for _ in range(2):
        middle, finer = {}, []
        for face in faces:
            own = []
            for a, b in zip(face, (face[1], face[2], face[0]), strict=True):
                key = (min(a, b), max(a, b))
                if key not in middle:
                    middle[key] = len(points)
                    points.append(tuple((x + y) / 2 for x, y in zip(points[a], points[b], strict=True)))
                own.append(middle[key])
            finer += [(face[0], own[0], own[2]), (face[1], own[1], own[0]), (face[2], own[2], own[1]), tuple(own)]
        faces = finer
    waves = [([draw.gauss(0, 2) for _ in range(3)], draw.uniform(0, 6), draw.uniform(0.05, 0.15)) for _ in range(4)]
    lines = []
    for point in points:
        norm = math.sqrt(sum(x * x for x in point))
        unit = [x / norm for x in point]
        phases = (sum(w * x for w, x in zip(wave, unit, strict=True)) + phase for wave, phase, _ in waves)
        radius = 0.05 * (1 + sum(a * math.sin(x) for (_, _, a), x in zip(waves, phases, strict=True)))
        lines.append("v " + " ".join(f"{radius * x:.6f}" for x in unit))
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    return "\n".join(lines) + "\n"


def pyramid(folder, base):
    """Boxes of 0.1 m in rows of base, base - 1, ... 1."""
    bodies = []
    for row in range(base):
        for i in range(base - row):
            x, z = 0.11 * (i + 0.5 * row), 0.05 + 0.1 * row
            bodies.append(
                f"<body pos='{x:.4f} 0 {z:.4f}'><freejoint/><geom type='box' size='.05 .05 .05' mass='1'/></body>"
            )
    return write(folder, "pyramid", "<geom type='plane' size='5 5 1'/>" + "".join(bodies))


def dominoes(folder, count):
    """A row of them; the first one falls."""
    bodies = []
    for i in range(count):
        tilt = " euler='0 14 0'" if i == 0 else ""
        shape = "<geom type='box' size='.006 .03 .06' mass='.05'/>"
        bodies.append(f"<body pos='{0.05 * i:.3f} 0 {0.0615 if i == 0 else 0.06}'{tilt}><freejoint/>{shape}</body>")
    return write(folder, "dominoes", "<geom type='plane' size='5 5 1'/>" + "".join(bodies))


def gripper(folder):
    """Two fingers on slides hold a box against gravity."""
    joint = "<joint name='{0}' type='slide' axis='{1} 0 0' damping='2'/>"
    pad = "<geom type='box' size='.01 .02 .03' mass='.1'/>"
    body = (
        f"<body pos='-.045 0 .5'>{joint.format('left', 1)}{pad}</body>"
        f"<body pos='.045 0 .5'>{joint.format('right', -1)}{pad}</body>"
        "<body pos='0 0 .5'><freejoint/><geom type='box' size='.03 .03 .03' mass='.2'/></body>"
    )
    motors = "".join(f"<position joint='{name}' kp='400' ctrlrange='0 .03'/>" for name in ("left", "right"))
    return write(folder, "gripper", body, rest=f"<actuator>{motors}</actuator>")


def hand(folder, data):
    """The Shadow hand closes on a cube that lies on its palm."""
    model = data / "shadow_hand/right_hand.xml"
    if not model.exists():
        return None
    body = (
        "<geom type='plane' size='5 5 .1'/>"
        "<frame pos='0 0 .3'><attach model='hand' body='rh_forearm' prefix='s_'/></frame>"
        "<body pos='.33 0 .375'><freejoint/><geom type='box' size='.03 .03 .03' mass='.1' condim='4'/></body>"
    )
    options = "cone='elliptic' impratio='10' integrator='implicitfast'"
    return write(folder, "hand", body, options, f"<asset><model name='hand' file='{model.resolve()}'/></asset>")


def with_condim(folder, model, condim):
    """A copy of a model whose contacts have torsion and rolling friction."""
    if not model.exists():
        return None
    text = model.read_text()
    for old in (1, 3, 4):
        text = text.replace(f'condim="{old}"', f'condim="{condim}"')
    path = folder / f"{model.stem}_condim{condim}.xml"
    path.write_text(text)
    return path
