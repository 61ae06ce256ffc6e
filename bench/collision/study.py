"""The paper's figures and tables with our numbers, and what these say about the paper's statements."""

from html import escape

from page import line_plot, table

CLOSE = (0.0, 0.1)  # m, as in the paper
SHALLOW = (-0.05, -0.001)


def at(sweep, query, key, variant, low, high):
    """Mean over the distances between low and high."""
    chosen = [row for d, row in zip(sweep["distances"], sweep[query], strict=True) if low <= d <= high]
    return sum(row[variant][key] for row in chosen) / len(chosen)


def meshes(data):
    return data.get("robots") or data["hulls 500"]


def verdicts(data):
    """Each statement with the numbers that decide it."""
    found = []

    def statement(source, words, holds, figure):
        found.append({"source": source, "statement": words, "confirmed": bool(holds), "figure": figure})

    e, m = data["ellipsoids"], meshes(data)
    plain, polyak, nesterov = (at(e, "distance", "mean", v, *CLOSE) for v in ("GJK", "Polyak", "Nesterov"))
    statement(
        "Fig. 7a, Tab. III",
        "Ellipsoids close to each other: Nesterov needs at most half of GJK's iterations (7 against 16)",
        nesterov <= 0.5 * plain,
        f"{nesterov:.1f} against {plain:.1f}",
    )
    statement("Fig. 7a", "... and fewer than Polyak", nesterov < polyak, f"{nesterov:.1f} against {polyak:.1f}")
    far = {v: at(e, "distance", "mean", v, 1.0, 1.0) for v in ("GJK", "Polyak", "Nesterov")}
    statement(
        "Fig. 7a",
        "Distant ellipsoids: Nesterov's momentum is detrimental",
        far["Nesterov"] > far["GJK"],
        f"{far['Nesterov']:.1f} against {far['GJK']:.1f}",
    )
    statement(
        "Fig. 7a",
        "... while Polyak stays competitive with GJK (within a quarter)",
        far["Polyak"] <= 1.25 * far["GJK"],
        f"{far['Polyak']:.1f} against {far['GJK']:.1f}",
    )
    shallow = {v: at(e, "overlap", "mean", v, *SHALLOW) for v in ("GJK", "Polyak", "Nesterov")}
    for name in ("Nesterov", "Polyak"):
        statement(
            "Fig. 7b",
            f"Shallow overlap of ellipsoids: {name} needs at most GJK's iterations",
            shallow[name] <= 1.02 * shallow["GJK"],
            f"{shallow[name]:.1f} against {shallow['GJK']:.1f}",
        )
    normal, raw = (at(m, "distance", "mean", v, *CLOSE) for v in ("Nesterov, normalised", "Nesterov"))
    statement(
        "Fig. 8",
        "Meshes close to each other: normalised directions reduce Nesterov's iterations",
        normal < raw,
        f"{normal:.1f} against {raw:.1f}",
    )
    for query in ("distance", "overlap"):
        times = {
            v: 1e9 * at(m, query, "time", v, -0.01, 0.1) for v in ("GJK", "Polyak", "Nesterov, normalised", "Nesterov")
        }
        for name in ("Polyak", "Nesterov, normalised", "Nesterov"):
            statement(
                "Fig. 9, 10, Tab. I",
                f"Meshes close or shallow, {query}: {name} is faster than GJK",
                times[name] < times["GJK"],
                f"{times[name]:.0f} ns against {times['GJK']:.0f} ns",
            )
        for name in ("Polyak", "Nesterov, normalised"):
            median = data["speed_ups"][query][name]["median"]
            statement(
                "Fig. 11",
                f"Most problems, {query}: {name} is faster than GJK (median ratio above 1)",
                median > 1,
                f"{median:.2f}",
            )
    cube, largest = data["qp"][0], data["qp"][-1]
    statement(
        "Tab. II",
        "Cubes: GJK is more than 10 times faster than a QP solver",
        cube["qp"] > 10 * cube["gjk"]["GJK"]["time"],
        f"{cube['qp'] / cube['gjk']['GJK']['time']:.0f} times",
    )
    statement(
        "Tab. II",
        f"Large meshes ({largest['vertices']} vertices): GJK is thousands of times faster",
        largest["qp"] > 1000 * largest["gjk"]["GJK"]["time"],
        f"{largest['qp'] / largest['gjk']['GJK']['time']:.0f} times",
    )
    warm = data["warm"]["variants"]
    best = min(warm["GJK"], key=lambda g: warm["GJK"][g]["time"])
    statement("Fig. 12", "GJK's best warm start is the previous separation", best == "previous", f"it is: {best}")
    for name in ("GJK", "Nesterov, normalised"):
        times = {g: 1e9 * v["time"] for g, v in warm[name].items()}
        statement(
            "Fig. 12",
            f"{name}: the centres are a better start than none",
            times["centres"] < times["none"],
            f"{times['centres']:.0f} ns against {times['none']:.0f} ns",
        )
        statement(
            "Fig. 12",
            f"{name}: the transformed previous solution is a worse start than the centres",
            times["transformed"] > times["centres"],
            f"{times['transformed']:.0f} ns against {times['centres']:.0f} ns (ours moves the whole simplex)",
        )
    for kind in ("overlapping", "close"):
        row = data["simplex_ellipsoids"][kind]
        slow = min(row["Frank-Wolfe"]["mean"], row["NESMINO"]["mean"])
        statement(
            "Tab. III",
            f"Ellipsoids, {kind}: Nesterov's GJK takes at least 3 times fewer iterations than Frank-Wolfe and NESMINO",
            slow >= 3 * row["Nesterov"]["mean"],
            f"{row['Nesterov']['mean']:.1f} against {row['Frank-Wolfe']['mean']:.0f} and {row['NESMINO']['mean']:.0f}",
        )
    for kind, row in data["simplex_cubes"].items():
        means = {name: entry["mean"] for name, entry in row.items()}
        statement(
            "Tab. III",
            f"Cubes, {kind}: NESMINO takes more than 100 times GJK's iterations, and Frank-Wolfe more than NESMINO",
            means["NESMINO"] > 100 * means["GJK"] and means["Frank-Wolfe"] > means["NESMINO"],
            f"GJK {means['GJK']:.1f}, NESMINO {means['NESMINO']:.0f}, Frank-Wolfe {means['Frank-Wolfe']:.0f}",
        )
    return found


def print_verdicts(found):
    for v in found:
        print(
            f"{'confirmed' if v['confirmed'] else 'NOT confirmed':<14}{v['source']:<19}{v['statement']}: {v['figure']}"
        )


def verdict_table(found):
    rows = [
        [
            escape(v["source"]),
            escape(v["statement"]),
            escape(v["figure"]),
            '<span class="good">confirmed</span>' if v["confirmed"] else '<span class="slow">not confirmed</span>',
        ]
        for v in found
    ]
    return table(["paper", "statement", "here", "verdict"], rows, (0, 1, 2, 3))


def plots(name, sweep):
    parts = []
    for query in ("distance", "overlap"):
        variants = list(sweep[query][0])
        counts = {
            v: ([r[v]["mean"] for r in sweep[query]], [r[v]["deviation"] for r in sweep[query]]) for v in variants
        }
        times = {v: ([1e6 * r[v]["time"] for r in sweep[query]], None) for v in variants}
        parts.append(line_plot(f"{name}, {query}", sweep["distances"], counts, "iterations over signed distance (m)"))
        parts.append(line_plot(f"{name}, {query}", sweep["distances"], times, "µs over signed distance (m)"))
    return "".join(parts)


def mean_deviation(entry):
    return f"{entry['mean']:.1f} ± {entry['deviation']:.1f}"


def table_one(data):
    names = sorted((key for key in data if key.startswith("hulls ")), key=lambda key: int(key.split()[1]))
    names += [key for key in data if key == "robots"]
    variants = ["GJK", "Polyak", "Nesterov", "Nesterov, normalised", "automatic"]
    rows = []
    for name in names:
        for query in ("distance", "overlap"):
            times = [1e6 * at(data[name], query, "time", v, -0.01, 0.1) for v in variants]
            rows.append([name, query, *(f"{t:.2f}" for t in times)])
    return table(["meshes", "query, µs", *variants], rows, (0, 1))


def table_two(data):
    rows = [
        [
            row["vertices"],
            row["faces"],
            f"{1e6 * row['qp']:.1f}",
            *(f"{1e6 * v['time']:.2f}" for v in row["gjk"].values()),
        ]
        for row in data["qp"]
    ]
    return table(["vertices", "faces", "QP, µs", *(f"{v}, µs" for v in data["qp"][0]["gjk"])], rows, ())


def table_three(results):
    variants = ["Frank-Wolfe", "NESMINO", "GJK", "Nesterov"]
    rows = [
        [kind, *(mean_deviation(results[kind][v]) for v in variants)] for kind in ("overlapping", "close", "distant")
    ]
    return table(["iterations", *variants], rows)


def table_warm(warm):
    guesses = ["none", "centres", "previous", "transformed"]
    rows = [
        [name, *(f"{1e9 * entry[g]['time']:.0f} <small>{entry[g]['mean']:.1f}</small>" for g in guesses)]
        for name, entry in warm["variants"].items()
    ]
    return table(["variant: ns, iterations", *guesses], rows)


def table_speed_ups(data):
    rows = []
    for query, entry in data["speed_ups"].items():
        for name in ("Polyak", "Nesterov", "Nesterov, normalised", "automatic"):
            s = entry[name]
            rows.append([query, name, f"{s['tenth']:.2f}", f"{s['low']:.2f}", f"{s['median']:.2f}", f"{s['high']:.2f}"])
    return table(["query", "variant", "10 %", "25 %", "median", "75 %"], rows, (0, 1))


def sections(data, found):
    intro = f"""<p>Montaut, Le Lidec, Petrik, Sivic, Carpentier, "GJK++: Leveraging Acceleration Methods for Faster
Collision Detection", section IV, with our implementation: {data["pairs"]} pairs of each kind in {data["poses"]} poses,
the mean of the fastest 90 % of {data["repetitions"]} repetitions, duality gap {data["gap"]:g}. Hulls of generated
points and of robots' meshes stand for the YCB objects, and an interior point method for ProxQP. "Automatic" is our
default: Nesterov's momentum for close cores, none for others. Verdicts are computed from the numbers on this
page.</p>"""
    result = [("Statements of the GJK++ paper", intro + verdict_table(found))]
    result.append(("Ellipsoids (Fig. 7)", plots("Ellipsoids", data["ellipsoids"])))
    if "robots" in data:
        result.append(("Robots' meshes (Fig. 8 to 10)", plots("Meshes", data["robots"])))
    else:
        result.append(("Robots' meshes", "<p>Left out: TOUCHSTONE_DATA has no models.</p>"))
    result.append(("Hulls of 500 vertices", plots("Hulls", data["hulls 500"])))
    result.append(("Meshes, close or shallow (Tab. I)", table_one(data)))
    result.append(("Speed-up over GJK, problem by problem (Fig. 11)", table_speed_ups(data)))
    result.append(("Against a QP solver (Tab. II)", table_two(data)))
    result.append(("The simplex matters: ellipsoids (Tab. IIIa)", table_three(data["simplex_ellipsoids"])))
    result.append(
        (
            "The simplex matters: cubes (Tab. IIIb)",
            table_three(data["simplex_cubes"]) + "<p>Frank-Wolfe is cut off after 30,000 iterations.</p>",
        )
    )
    about = (
        f"<p>Boolean queries along {data['warm']['trajectories']} trajectories of two free bodies that meet, "
        f"spinning, at 120 Hz ({data['warm']['queries']} queries whose boxes overlap). No contact solver turns them "
        "away: they pass through each other.</p>"
    )
    result.append(("Warm starts (Fig. 12)", about + table_warm(data["warm"])))
    return result
