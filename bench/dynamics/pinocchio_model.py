"""Writes what Pinocchio's URDF parser made of a file as text for bench/peers/bench_pinocchio.cpp."""

import numpy as np


def joint_axis(joint):
    """The axis of a joint with one dof, zero for others."""
    if joint.nv != 1:
        return np.zeros(3)
    data = joint.createData()
    joint.calc(data, np.zeros(joint.nq))
    subspace = np.asarray(data.S).reshape(6, -1)[:, 0]
    return subspace[3:] if np.any(subspace[3:]) else subspace[:3]


def write_model(model, path):
    lines = [" ".join(repr(float(x)) for x in model.gravity.linear)]
    for i in range(1, model.njoints):
        joint, placement, inertia = model.joints[i], model.jointPlacements[i], model.inertias[i]
        axis = np.zeros(3) if "Unaligned" not in joint.shortname() else joint_axis(joint)
        tensor = inertia.inertia
        numbers = [
            *placement.rotation.flatten(),
            *placement.translation,
            *axis,
            inertia.mass,
            *inertia.lever,
            *(tensor[0, 0], tensor[0, 1], tensor[0, 2], tensor[1, 1], tensor[1, 2], tensor[2, 2]),
        ]
        text = " ".join(repr(float(x)) for x in numbers)
        lines.append(f"{model.names[i]} {joint.shortname()} {model.parents[i]} {text}")
    path.write_text("\n".join(lines) + "\n")
