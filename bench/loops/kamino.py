"""Kamino (SolverKamino of the wheel `newton`) on the processor: the four-bar on the ground and the box of our scenes.

Run by an interpreter that has the wheel; prints JSON.
"""

import json
import statistics
import sys
import time

import newton
import numpy as np
import warp as wp

STEP, STEPS, WARM = 1e-3, 300, 50
FRICTION = 0.6


def shape_config():
    return newton.ModelBuilder.ShapeConfig(density=0.0, mu=FRICTION, margin=0.0, gap=0.0)


def box_inertia(mass, half):
    x, y, z = (2.0 * h for h in half)
    return wp.mat33(np.diag([mass / 12 * (y * y + z * z), mass / 12 * (x * x + z * z), mass / 12 * (x * x + y * y)]))


def add_box(builder, name, center, half, mass):
    body = builder.add_link(
        xform=wp.transform(center, wp.quat_identity()), mass=mass, inertia=box_inertia(mass, half), label=name
    )
    builder.add_shape_box(body, hx=half[0], hy=half[1], hz=half[2], cfg=shape_config())
    return body


def new_builder():
    builder = newton.ModelBuilder(up_axis=newton.Axis.Z)
    newton.solvers.SolverKamino.register_custom_attributes(builder)
    builder.begin_world(label="world")
    return builder


def box_on_plane():
    builder = new_builder()
    body = add_box(builder, "box", (0, 0, 0.101), (0.1, 0.1, 0.1), 1.0)
    builder.add_joint_free(parent=-1, child=body)
    return builder, []


def fourbar():
    """Four planks of 1 kg on hinges about y; returns the builder and the hinges as (body, point, body, point)."""
    builder = new_builder()
    z, width = 0.03, 0.05
    corners = [(0, 0, z), (0.5, 0, z), (0.5, 0, z + 0.3), (0, 0, z + 0.3)]
    sides = [(0, 1), (0, 3), (3, 2), (1, 2)]  # ground link, crank, coupler, rocker
    bodies, centers = [], []
    for k, (i, j) in enumerate(sides):
        a, b = np.array(corners[i]), np.array(corners[j])
        length = np.linalg.norm(b - a) / 2 - 0.6 * width
        half = (length, width / 2, width / 2) if abs(b - a)[0] > 0 else (width / 2, width / 2, length)
        centers.append((a + b) / 2)
        bodies.append(add_box(builder, f"plank{k}", tuple(centers[-1]), half, 1.0))
    joints = [builder.add_joint_free(parent=-1, child=bodies[0])]
    hinges = []
    for parent, child, corner in ((0, 1, 0), (1, 2, 3), (0, 3, 1), (2, 3, 2)):
        p_a, p_b = np.array(corners[corner]) - centers[parent], np.array(corners[corner]) - centers[child]
        joints.append(
            builder.add_joint_revolute(
                parent=bodies[parent],
                child=bodies[child],
                parent_xform=wp.transform(tuple(p_a), wp.quat_identity()),
                child_xform=wp.transform(tuple(p_b), wp.quat_identity()),
                axis=(0, 1, 0),
            )
        )
        hinges.append((bodies[parent], p_a, bodies[child], p_b))
    return builder, hinges


def place(pose, point):
    """The point of a body in the world: pose is position and quaternion (x, y, z, w)."""
    p, u, w = pose[:3], pose[3:6], pose[6]
    return p + point + 2.0 * np.cross(u, np.cross(u, point) + w * point)


def run(make):
    builder, hinges = make()
    builder.end_world()
    builder.add_ground_plane(cfg=shape_config())
    model = builder.finalize(device="cpu", skip_validation_joints=True)
    config = newton.solvers.SolverKamino.Config.from_model(model)
    config.use_collision_detector = True
    config.collision_detector.pipeline = "unified"
    config.collision_detector.max_contacts = 64
    for name in ("primal_tolerance", "dual_tolerance", "compl_tolerance"):
        setattr(config.padmm, name, 1e-6)
    config.padmm.max_iterations = 1000
    config.padmm.warmstart_mode = "containers"
    solver = newton.solvers.SolverKamino(model=model, config=config)
    state, following, control = model.state(), model.state(), model.control()
    times, error = [], 0.0
    for _ in range(STEPS):
        begin = time.thread_time_ns()
        solver.step(state, following, control, None, STEP)
        wp.synchronize()
        times.append(1e-9 * (time.thread_time_ns() - begin))
        state, following = following, state
        poses = state.body_q.numpy()
        for a, p_a, b, p_b in hinges:
            error = max(error, float(np.linalg.norm(place(poses[a], p_a) - place(poses[b], p_b))))
    return {"seconds": statistics.median(times[WARM:]), "error": error, "height": float(state.body_q.numpy()[0][2])}


def main():
    wp.config.quiet = True
    with wp.ScopedDevice("cpu"):
        results = {name: run(make) for name, make in (("box-on-plane", box_on_plane), ("fourbar-free", fourbar))}
    print(json.dumps({"version": newton.__version__, "results": results}))


if __name__ == "__main__":
    sys.exit(main())
