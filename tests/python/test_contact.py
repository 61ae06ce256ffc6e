"""Contact problems, solvers, certificates, FCLIB files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DATA

import touchstone as ts


def test_a_sliding_point_mass_by_hand() -> None:
    # 2 kg that slides with 1 m/s and would fall with 0.1 m/s: normal impulse 0.2, friction 0.06 against the motion.
    problem = ts.ContactProblem.from_arrays(np.eye(3) / 2, [1.0, 0.0, -0.1], mu=0.3)
    solution = ts.solve(problem)
    assert solution.solved
    np.testing.assert_allclose(solution.impulse, [-0.06, 0.0, 0.2], atol=1e-9)
    np.testing.assert_allclose(solution.velocity, [0.97, 0.0, 0.0], atol=1e-9)
    assert ts.residuals(problem, solution.impulse).natv < 1e-9
    wrong = ts.residuals(problem, [0.0, 0.0, 0.2])
    assert wrong.natv > 1e-3


def test_primal_and_dual_views_agree() -> None:
    A = np.diag([2.0, 2.0, 2.0])
    problem = ts.ContactProblem()
    assert problem.add_contact(0.3) == 0
    problem.set_primal(A, np.eye(3), [1.0, 0.0, -0.1])
    np.testing.assert_allclose(problem.G, np.eye(3) / 2, atol=1e-15)
    np.testing.assert_allclose(problem.g, [1.0, 0.0, -0.1])
    solution = ts.solve(problem)
    np.testing.assert_allclose(solution.next_velocity, [0.97, 0.0, 0.0], atol=1e-9)
    problem.validate()


def test_all_kinds_of_blocks() -> None:
    problem = ts.ContactProblem()
    problem.add_equality(2)
    problem.add_limit()
    problem.add_box(-1.0, 2.0)
    problem.add_contact([0.5, 0.5, 0.01])
    assert problem.block_types == ["equality", "nonnegative", "box", "coulomb"]
    assert problem.block_rows == [0, 2, 3, 4, 8]
    problem.set_dual(np.eye(8), [1.0, -2.0, -3.0, 5.0, 0.0, 0.0, 0.0, -1.0])
    solution = ts.solve(problem)
    assert solution.solved
    np.testing.assert_allclose(solution.impulse[:4], [-1.0, 2.0, 3.0, -1.0], atol=1e-8)


def test_bad_problems_are_named() -> None:
    with pytest.raises(ts.Error, match="three for each contact"):
        ts.ContactProblem.from_arrays(np.eye(4), [0, 0, 0, 0], 0.5)
    with pytest.raises(ts.Error, match="G has shape 3 x 2, expected 3 x 3"):
        ts.ContactProblem.from_arrays(np.ones((3, 2)), [0, 0, 0], 0.5)
    bad = ts.ContactProblem.from_arrays(-np.eye(3), [0, 0, -1], 0.5)
    with pytest.raises(ts.Error):
        bad.validate()
    solution = ts.solve(bad)
    assert solution.status == "invalid problem"
    assert solution.message
    with pytest.raises(ts.Error, match=r"unknown|no solver"):
        ts.solve(bad, "newton")
    with pytest.raises(ts.Error, match="impulse"):
        ts.residuals(bad, [0, 0])


def test_the_catalogue() -> None:
    names = [info.name for info in ts.solvers()]
    assert {"auto", "nbgs", "ncp-admm", "ncp-ipm", "lcp-lemke", "ccp-admm"} <= set(names)
    assert len(names) == len(set(names))
    for info in ts.solvers():
        assert info.model
        assert info.algorithm
        assert "max_iterations" in info.options


def test_options_warm_start_and_history() -> None:
    problem = ts.problems.box_stack(3)
    solver = ts.Solver("nbgs", relative_tolerance=1e-9, max_iterations=20000, record_history=True)
    assert solver.options["record_history"] == "true"
    cold = solver.solve(problem)
    assert cold.solved
    assert len(cold.history) == cold.iterations
    assert cold.history[-1] <= 1e-9
    warm = solver.solve(problem, warm_start=cold.impulse)
    assert warm.iterations < cold.iterations / 10
    limited = ts.solve(problem, "nbgs", max_iterations=3)
    assert limited.status == "max iterations"
    assert limited.residuals.natv > cold.residuals.natv


def test_compare_orders_models_by_truth() -> None:
    problem = ts.problems.cube([1.0, 0.3, 0.0])
    answers = ts.compare(problem, ["auto", "ccp-admm", "lcp-lemke"], relative_tolerance=1e-10)
    assert list(answers) == ["auto", "ccp-admm", "lcp-lemke"]
    assert answers["auto"].residuals.natv_relative < 1e-8
    # The relaxations solve other models: their certificate as a true contact problem shows it.
    assert answers["ccp-admm"].residuals.natv > 1e-6
    assert answers["ccp-admm"].residuals.model_natv_relative < 1e-8
    assert answers["lcp-lemke"].residuals.natv > 1e-6


def test_generated_problems_repeat() -> None:
    a, b = ts.problems.random(contacts=6, seed=3), ts.problems.random(contacts=6, seed=3)
    np.testing.assert_array_equal(a.G, b.G)
    assert ts.solve(a).solved
    assert ts.problems.wall(100).nblock >= 100
    assert ts.problems.pile(50, seed=1).nblock >= 50
    assert ts.problems.chain(20).nv > 0


def test_fclib_round_trip(tmp_path: Path) -> None:
    problem = ts.problems.box_stack(2)
    problem.title = "a stack"
    for form in ("local", "global"):
        file = tmp_path / f"{form}.hdf5"
        ts.save_problem(file, problem, form)
        again = ts.load_problem(file)
        np.testing.assert_allclose(again.G, problem.G, atol=1e-12)
        np.testing.assert_allclose(again.g, problem.g, atol=1e-14)
        np.testing.assert_array_equal(again.mu, problem.mu)
        assert again.title == "a stack"
    with pytest.raises(ts.Error, match="local or global"):
        ts.save_problem(file, problem, "both")
    with pytest.raises(ts.InputError, match=r"nothing\.hdf5"):
        ts.load_problem(tmp_path / "nothing.hdf5")


def test_recorded_problems() -> None:
    file = DATA / "problems" / "Box_Stacks-i0122-82-5.hdf5"
    if not file.exists():
        pytest.skip("no recorded problems")
    problem = ts.load_problem(file)
    solution = ts.solve(problem)
    assert solution.solved
    assert solution.residuals.natv_relative < 1e-7


def test_an_invalid_problem_has_no_natv() -> None:
    solution = ts.solve(ts.ContactProblem.from_arrays(-np.eye(3), [1.0, 0.0, -0.1], mu=0.3))
    assert solution.status == "invalid problem"
    assert np.isnan(solution.residuals.natv)
    assert np.isnan(solution.residuals.natv_relative)


def test_references_name_authors_year_and_title() -> None:
    references = {info.name: info.reference for info in ts.solvers()}
    assert "J. Hwangbo, J. Lee, M. Hutter (2018): Per-Contact Iteration Method" in references["raisim"]
    assert "Contact Models in Robotics: a Comparative Analysis" in references["lcp-pgs"]


def test_a_little_unsymmetric_is_solved_with_a_warning() -> None:
    G = np.eye(3)
    G[0, 1], G[1, 0] = 0.05, -0.05
    solution = ts.solve(ts.ContactProblem.from_arrays(G, [1.0, 0.0, -0.1], mu=0.3))
    assert solution.solved
    assert "its skew part is 5 %" in solution.warning
    G[0, 1], G[1, 0] = 0.3, -0.3
    assert ts.solve(ts.ContactProblem.from_arrays(G, [1.0, 0.0, -0.1], mu=0.3)).status == "invalid problem"


def test_time_limit_and_infeasible() -> None:
    pile = ts.problems.pile(1500, 3, 1e4)
    late = ts.solve(pile, "nbgs", time_limit=0.05, max_iterations=10**7, relative_tolerance=1e-13)
    assert late.status in ("time limit", "stalled", "solved")
    assert late.seconds < 5.0
    squeezed = ts.ContactProblem()
    squeezed.add_limit()
    squeezed.add_limit()
    squeezed.set_dual([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0])
    assert ts.solve(squeezed).infeasible


def test_compliance_belongs_to_both_views() -> None:
    primal = ts.ContactProblem()
    primal.add_limit()
    primal.set_primal(A=[[2.0]], J=[[1.0]], v_free=[-1.0], R=0.5, b=[0.25])
    assert primal.R.tolist() == [0.5] and primal.b.tolist() == [0.25]
    assert primal.G.tolist() == [[1.0]] and primal.g.tolist() == [-0.75]
    dual = ts.ContactProblem()
    dual.add_limit()
    dual.set_dual([[1.0]], [-0.75], R=0.5)
    assert dual.R.tolist() == [0.5]
    dual.set_dual([[1.0]], [-0.75])
    assert dual.R.size == 0
    assert ts.solve(primal).impulse.tolist() == pytest.approx(ts.solve(dual).impulse.tolist())


def test_problems_of_a_simulation_have_both_views(quadruped: ts.Model) -> None:
    sim = ts.Simulator(quadruped)
    sim.step(300)
    problem = sim.contact_problem()
    assert problem.has_dual and problem.has_primal
    G = problem.J @ np.linalg.solve(problem.A, problem.J.T) + np.diag(problem.R)
    assert np.abs(G - problem.G).max() < 1e-9 * np.abs(G).max()
    assert np.abs(problem.J @ problem.v_free + problem.b - problem.g).max() < 1e-9
    kept = problem.A
    sim.step(50)
    assert (kept == problem.A).all()
