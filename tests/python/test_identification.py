"""What the examples of gradients find is true."""

import sys

import numpy as np
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "examples" / "python"))


@pytest.mark.parametrize("seed", [1, 2])
def test_friction_and_inertia_of_a_tossed_block(seed):
    import identify_cube as example

    found, costs = example.identify(example.measure(seed), np.array([0.6, 0.001, 0.001, 0.001]))
    assert costs[0] > 50
    assert 0.8 < costs[-1] < 1.2  # what noise alone leaves
    np.testing.assert_allclose(found[0], example.TRUTH[0], rtol=0.03)
    np.testing.assert_allclose(found[1:], example.TRUTH[1:], rtol=0.15)
    ratios = found[1:] / found[1]  # the flight shows them best
    np.testing.assert_allclose(ratios, example.TRUTH[1:] / example.TRUTH[1], rtol=0.02)


def test_mass_and_friction_of_a_pushed_box():
    import identify_box as example

    truth = np.array([2.0, 0.35])
    noise = 1e-3 * np.random.default_rng(3).normal(size=example.STEPS)
    found = example.identify(example.simulate(*truth)[0] + noise, (1.0, 0.6))
    np.testing.assert_allclose(found, truth, rtol=0.03)


def test_a_shot_reaches_its_target():
    import billiards as example

    shot = example.Shot()
    velocity, errors = example.aim(shot, np.array([1.5, 0.0]), iterations=15)
    assert errors[0] > 0.2
    assert errors[-1] < 1e-3
    np.testing.assert_allclose(shot.end(velocity)[0], example.TARGET, atol=1e-3)
