# SPDX-License-Identifier: Apache-2.0
"""The text of the results of bench/serve_load."""
import statistics

from comparisons import digits
from hardware import format_table

OF_TRANSLATE = 0.85
TIMES_PEER = 2.0
OF_MAXIMUM = 0.9
LARGEST_GROWTH = 1.05


def median(figures, case, figure):
    return statistics.median(turn[case][figure] for turn in figures["turns"])


def yes_or_no(is_met):
    return "yes" if is_met else "no"


def throughput_rows(figures):
    translate, ours, peer = (median(figures, case, "throughput") for case in
                             ("translate", "ours maximum", "peer maximum"))
    yield ["maximum, sentences/s", "`edgewise-translate` of a file", digits(translate), digits(ours),
           f"{ours / translate:.2f}", f"≥ {OF_TRANSLATE}", yes_or_no(ours >= OF_TRANSLATE * translate)]
    yield ["maximum, sentences/s", "the other server", digits(peer), digits(ours), f"{ours / peer:.2f}", "", ""]


def latency_rows(figures):
    for share in ("50%", "90%"):
        ours, peer, twice = (f"{side} {share}" for side in ("ours", "peer", "ours twice"))
        for name in ("p50_ms", "p99_ms"):
            values = [median(figures, case, name) for case in (peer, ours)]
            label = f"{name[:3]} in ms at {share} of the own maximum"
            yield [label, "the other server", *map(digits, values), f"{values[0] / values[1]:.2f}", "", ""]
        peers, ours_twice = median(figures, peer, "p99_ms"), median(figures, twice, "p99_ms")
        translated = min(turn[twice]["share_translated"] for turn in figures["turns"])
        yield [f"p99 in ms, ours with {TIMES_PEER:g} times the other server's load at {share}", "the other server",
               digits(peers), digits(ours_twice), f"{peers / ours_twice:.2f}; {translated:.1%} translated",
               "≥ 1; 100 %", yes_or_no(ours_twice <= peers and translated == 1)]


def describe_load(figures):
    """Returns a table of the loads that were sent, with all answers."""
    rows = []
    for case in figures["turns"][0]:
        if case == "translate":
            continue
        sums = {name: sum(turn[case][name] for turn in figures["turns"])
                for name in ("requests", "wrong", "refused", "lost", "unexpected", "other_statuses")}
        rows.append([case, digits(median(figures, case, "throughput")), digits(median(figures, case, "p50_ms")),
                     digits(median(figures, case, "p99_ms")), digits(median(figures, case, "cpu_ms")), *sums.values(),
                     digits(max(turn[case]["client_cores"] for turn in figures["turns"]))])
    head = ["load", "translations/s", "p50 ms", "p99 ms", "processor ms a translation", "requests",
            "other translations", "429", "lost", "answers too many", "other statuses", "cores of the clients"]
    return format_table(head, rows)


def describe_overload(overload):
    if overload is None:
        return ""
    share = overload["throughput"] / overload["maximum"]
    quarter = len(overload["memory_mb"]) // 4
    growth = max(overload["memory_mb"][-quarter:]) / max(overload["memory_mb"][quarter:2 * quarter])
    memory = ", ".join(f"{megabytes:.0f}" for megabytes in overload["memory_mb"])
    rows = [
        ["translations/s", digits(overload["throughput"]), f"≥ {OF_MAXIMUM:.0%} of {digits(overload['maximum'])}",
         yes_or_no(share >= OF_MAXIMUM)],
        ["translations: p50, p99 in ms", f"{digits(overload['p50_ms'])}, {digits(overload['p99_ms'])}", "", ""],
        ["share of answers 429", f"{overload['refused'] / overload['requests']:.1%}", "", ""],
        ["429: p50, p99 in ms", f"{digits(overload['refused_p50_ms'])}, {digits(overload['refused_p99_ms'])}", "", ""],
        ["429 without Retry-After", overload["refused_without_retry_after"], "0",
         yes_or_no(overload["refused_without_retry_after"] == 0)],
        ["requests without an answer, answers too many, other statuses",
         f"{overload['lost']}, {overload['unexpected']}, {overload['other_statuses']}", "0",
         yes_or_no(overload["lost"] + overload["unexpected"] + overload["other_statuses"] == 0)],
        ["translations that the server counted, and clients received",
         f"{overload['counted_by_server']}, {overload['translated']}", "equal",
         yes_or_no(overload["counted_by_server"] == overload["translated"])],
        [f"memory in MB over time, {overload['memory_before_mb']:.0f} before", memory,
         f"last quarter ≤ {LARGEST_GROWTH} × second quarter", yes_or_no(growth <= LARGEST_GROWTH)],
        ["output tokens per second of a core", digits(overload["tokens_per_core_second"]), "", ""],
        ["memory in MB of the server without requests, and at most",
         f"{overload['memory_idle_mb']:.0f}, {overload['most_memory_mb']:.0f}", "", ""],
        ["connections; most descriptors and threads of the server",
         f"{overload['connections']}; {overload['most_descriptors']}, {overload['most_threads']}", "", ""]]
    return (f"\n\nTen times the maximum, {digits(overload['rate'])} requests/s, {overload['requests']} requests; the "
            f"clients used {overload['client_cores']} cores.\n\n" + format_table(["figure", "value", "target", "met"], rows))


def describe(model, sentences, figures):
    turns = len(figures["turns"])
    others = max(case["cores_of_others"] for turn in figures["turns"] for case in turn.values()
                 if "cores_of_others" in case)
    workers = figures["workers"]
    head = ["case", "beside", "there", "ours", "ratio", "target", "met"]
    rows = [*throughput_rows(figures), *latency_rows(figures)]
    return (f"Model: {model}, {figures['precision']}; {figures['sentences']} sentences of `{sentences}`, one a request;"
            f" two threads (workers: translate {workers['translate']}, ours {workers['ours']}, the other server "
            f"{workers['peer']});\n{figures['clients']} clients at the maximum; medians of {turns} turns. "
            f"{'; '.join(figures['versions'])}.\nAll translations of Edgewise's server are those of "
            f"`edgewise-translate`; by greedy search in fp32, CTranslate2 gives the same outputs\nfor "
            f"{figures['equal_outputs'][0]} of {figures['equal_outputs'][1]} sentences. Clients ran on the same cores; "
            f"other processes kept up to {others:.1f} cores busy.\n\n"
            f"{format_table(head, rows)}\n\nThe loads; \"other translations\" differ from those of the same program "
            f"without a server.\n\n{describe_load(figures)}{describe_overload(figures['overload'])}")
