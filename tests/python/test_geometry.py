"""Transforms and collision queries against closed forms."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import touchstone as ts

HERE = ts.Transform()


def test_transforms_compose(rng: np.random.Generator) -> None:
    X = ts.Transform(rng.normal(size=3), rng.normal(size=4))
    Y = ts.Transform.from_axis_angle([0, 0, 1], np.pi / 2, position=[1, 0, 0])
    p = rng.normal(size=3)
    np.testing.assert_allclose((X @ Y).apply(p), X.apply(Y.apply(p)), atol=1e-12)
    np.testing.assert_allclose((X @ Y).matrix, X.matrix @ Y.matrix, atol=1e-12)
    np.testing.assert_allclose((X @ X.inverse()).matrix, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(Y.apply([[1, 0, 0], [0, 0, 5]]), [[1, 1, 0], [1, 0, 5]], atol=1e-12)
    np.testing.assert_allclose(ts.Transform.from_matrix(X.matrix).matrix, X.matrix, atol=1e-12)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(X)).matrix, X.matrix)
    with pytest.raises(ts.Error, match="not orthogonal"):
        ts.Transform.from_matrix(2 * np.eye(4))
    with pytest.raises(ts.Error, match="quaternion has length 0"):
        ts.Transform(quaternion=[0, 0, 0, 0])


def test_signed_distances() -> None:
    ball, crate = ts.Shape.sphere(0.1), ts.Shape.box([0.2, 0.2, 0.2])
    apart = ts.distance(ball, ts.Transform([0, 0, 1]), crate, HERE)
    assert apart.distance == pytest.approx(0.7, abs=1e-12)
    np.testing.assert_allclose(apart.normal, [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(apart.point_a, [0, 0, 0.9], atol=1e-12)
    np.testing.assert_allclose(apart.point_b, [0, 0, 0.2], atol=1e-12)
    deep = ts.distance(ball, ts.Transform([0, 0, 0.25]), crate, HERE)
    assert float(deep) == pytest.approx(-0.05, abs=1e-9)
    assert deep.status == "converged"
    assert ts.distance(
        ts.Shape.capsule(0.1, 0.5), ts.Transform([1, 0, 0]), ts.Shape.plane(), ts.Transform([0, 0, -1])
    ).distance == pytest.approx(0.4, abs=1e-12)


def test_contact_points_of_a_resting_box() -> None:
    crate = ts.Shape.box([0.2, 0.2, 0.2])
    points = ts.collide(crate, ts.Transform([0, 0, 0.199]), ts.Shape.plane(), HERE)
    assert len(points) == 4
    for point in points:
        assert point.distance == pytest.approx(-1e-3, abs=1e-12)
        np.testing.assert_allclose(point.normal, [0, 0, -1], atol=1e-12)
    assert ts.collide(crate, ts.Transform([0, 0, 1]), ts.Shape.plane(), HERE) == []


def test_overlaps_with_a_margin() -> None:
    ball = ts.Shape.sphere(0.5)
    there = ts.Transform([1.1, 0, 0])
    assert not ts.overlaps(ball, HERE, ball, there)
    assert ts.overlaps(ball, HERE, ball, there, margin=0.11)


def test_rays() -> None:
    hit = ts.raycast(ts.Shape.cylinder(0.5, 1.0), HERE, [2, 0, 0.3], [-1, 0, 0])
    assert hit.hit
    assert hit.distance == pytest.approx(1.5, abs=1e-9)
    np.testing.assert_allclose(hit.normal, [1, 0, 0], atol=1e-9)
    assert ts.raycast(ts.Shape.sphere(1), HERE, [2, 0, 0], [1, 0, 0]).status == "miss"
    assert ts.raycast(ts.Shape.sphere(1), HERE, [0, 0, 0], [1, 0, 0]).status == "inside"


def test_meshes_and_height_fields() -> None:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    cube = ts.Shape.mesh(corners)
    assert ts.distance(cube, HERE, ts.Shape.sphere(0.5), ts.Transform([3, 0, 0])).distance == pytest.approx(
        1.5, abs=1e-9
    )
    field = ts.Shape.height_field(np.full((5, 5), 0.3), 4.0, 4.0)
    hit = ts.raycast(field, HERE, [0.3, 0.2, 2], [0, 0, -1])
    assert hit.distance == pytest.approx(1.7, abs=1e-9)
    with pytest.raises(ts.Error, match="triangle 0 refers to vertex 9"):
        ts.Shape.mesh(corners, [[0, 1, 9]])
    with pytest.raises(ts.Error, match="vertices"):
        ts.Shape.mesh(corners[:, :2])


def test_shapes_check_their_sizes() -> None:
    with pytest.raises(ts.Error, match="size of -1"):
        ts.Shape.sphere(-1)
    assert ts.Shape.sphere(1.0).volume() == pytest.approx(4 / 3 * np.pi, rel=1e-12)
    assert "box" in repr(ts.Shape.box([1, 2, 3]))
