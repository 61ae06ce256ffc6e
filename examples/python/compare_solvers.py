"""Compare solvers on the contact problem of one step: the same problem, each answer with its certificate."""

import touchstone as ts

sim = ts.Simulator(ts.load("quadruped:flat"), dt=1e-3)
sim.reset("home")
sim.state.v[0] = 1.0  # the feet slide
sim.step(20)
problem = sim.contact_problem()
print(problem)

answers = ts.compare(problem, relative_tolerance=1e-8)
print(f"{'solver':14} {'status':15} {'iterations':>10} {'ms':>8} {'natv (m/s)':>11} {'own model':>11}")
for name, answer in answers.items():
    r = answer.residuals
    print(
        f"{name:14} {answer.status:15} {answer.iterations:10d} {1e3 * answer.seconds:8.3f} "
        f"{r.natv:11.1e} {r.model_natv:11.1e}"
    )
print("natv: how far from Signorini's and Coulomb's laws; own model: from the model that the solver relaxes them to.")
