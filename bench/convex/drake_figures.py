"""Ours beside Drake: motion, single steps, the grasp and times, from what drake_compare.py has measured."""

from html import escape

from plots import plot


def table(head, rows):
    line = lambda cells, tag: "<tr>" + "".join(f"<{tag}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"  # noqa: E731
    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def drake(data):
    """Motion, single steps and times beside Drake's."""
    pictures = ""
    for scene in dict.fromkeys(run["scene"] for run in data["motion"]):
        series = {
            run["model"]: (run["time"], [max(d, 1e-17) for d in run["distance"]])
            for run in data["motion"]
            if run["scene"] == scene
        }
        pictures += plot(f"{scene}: ours and Drake's positions", series, "time, s", "m apart", log_y=True)
    head = ["scene", "model", "apart, m", "single steps from our states, m/s", "ours, tolerance 1e-6 and 1e-9, m"]
    motions = table(
        head,
        [
            [run["scene"], run["model"], *(f"{x:.1e}" for x in (max(run["distance"]), run["single"], run["own"]))]
            for run in data["motion"]
        ],
    )
    steps = [
        [
            run["model"],
            len(run["worst"]),
            f"{sorted(run['worst'])[len(run['worst']) // 2]:.1e}",
            f"{max(run['worst']):.1e}",
        ]
        for run in data["steps"]
    ]
    single = table(["one step from the same state", "states", "largest difference: median, m/s", "worst, m/s"], steps)
    rows = [
        [r["model"], *(f"{r[who][key]:.4f}" for key in ("height", "spread", "speed") for who in ("ours", "drake"))]
        for r in data["statistics"]
    ]
    head = [
        "clutter at 3 s",
        "mean height, m: ours",
        "Drake",
        "spread, m: ours",
        "Drake",
        "largest speed, m/s: ours",
        "Drake",
    ]
    statistics = table(head, rows)
    grasps = table(
        ["grasp", "model", "step", "rod lost, s: ours", "Drake"],
        [
            [
                f"{r['frequency']:g} Hz, d = {r['dissipation']:g} s/m",
                r["model"],
                f"{1e3 * r['step']:g} ms",
                *(f"{r[who]:.2f}" if r[who] < r["limit"] - 1e-6 else "held" for who in ("ours", "drake")),
            ]
            for r in data.get("grasp", [])
        ],
    )
    mean = lambda values: sum(values) / len(values)  # noqa: E731
    times = [
        [
            r["scene"],
            r["model"],
            f"{mean(r['contacts']):.0f}",
            f"{mean(r['iterations']):.1f}",
            f"{1e6 * mean(r['ours']):,.0f}",
            f"{1e6 * mean(r['drake']):,.0f}",
            f"{sum(r['drake']) / sum(r['ours']):.2f}",
        ]
        for r in data["times"]
        if "without" not in r
    ]
    times += [
        [r["scene"], r["model"], "", "", f"{1e6 * mean(r['ours']):,.0f}", r["without"], ""]
        for r in data["times"]
        if "without" in r
    ]
    clocks = table(
        ["scene", "model", "contacts", "iterations, ours", "ours, us a step", "Drake", "Drake / ours"], times
    )
    intro = (
        "<p>Drake's wheel, point contact, the same shapes, materials, step, stiction tolerance and sigma; "
        "contacts are pairs that overlap. Times: processor time of one thread, both in turns; our program against "
        "Drake's <code>AdvanceTo</code> of many steps.</p>"
    )
    without = sorted({(r["scene"], r["without"]) for r in data["times"] if "without" in r})
    left_out = "".join(
        f"<p><b>Not compared here:</b> {escape(scene)}: {escape(reason)}, and less is free on this machine; the row "
        "has our time alone.</p>"
        for scene, reason in without
    )
    return f"<h2>Against Drake</h2>{intro}{pictures}{motions}{single}{statistics}{grasps}{clocks}{left_out}"
