# SPDX-License-Identifier: Apache-2.0
"""Names the machine and the commit of a measurement, and writes its results to bench/results/HARDWARE/."""
import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def hardware():
    output = subprocess.run(["lscpu"], capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout
    fields = {name.strip(): value.strip() for name, value in (line.split(":", 1) for line in output.splitlines())}
    flags = fields.get("Flags", "").split()
    interesting = ["avx2", "avx512f", "avx512_bf16", "avx512_vnni", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8",
                   "asimd", "bf16", "sve"]
    model = re.sub(r"\((R|TM)\)", "", fields["Model name"])
    return {"model": f"{model}, family {fields.get('CPU family', '?')} model {fields.get('Model', '?')}",
            "cores": int(fields["CPU(s)"]), "instruction_sets": [flag for flag in interesting if flag in flags]}


def folder_name(machine):
    return re.sub(r"[^a-z0-9]+", "-", f"{machine['model']} {machine['cores']} cores".lower()).strip("-")


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def add_measurement_options(parser):
    """Adds --program and --out, the options that `prepare` needs."""
    parser.add_argument("--program", type=pathlib.Path,
                        help="the program to measure; needs --out (default: build/edgewise, which is built first)")
    parser.add_argument("--out", type=pathlib.Path,
                        help="the result files without their extension (default: below bench/results/HARDWARE)")


def prepare(parser, out, given, *targets):
    """Returns the name of what is measured: the program `given`, or the commit, whose `targets` are built.

    Results in bench/results are always those of a commit. Changes in that folder do not count, because several
    benchmarks may write results before these are committed.
    """
    changes = git("status", "--porcelain", "--", ".", ":!bench/results")
    if out is None and given:
        parser.error(f"bench/results names a commit, and {given} may be of another one; leave it out, or give --out")
    if out is None and changes:
        parser.error("files differ from the commit, so bench/results cannot name it; commit, or give --out")
    if given:
        return f"from {given.resolve()}"
    name = f"commit {git('rev-parse', '--short=12', 'HEAD')}{' with changes' if changes else ''}"
    if targets and subprocess.run([ROOT / "scripts/build", "release", *targets], check=False).returncode != 0:
        sys.exit(f"scripts/build release {' '.join(targets)} failed")
    return name


def program_of(given):
    return str((given or ROOT / "build/edgewise").resolve())


def format_table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write_results(out, name, measured, text, figures):
    """Writes NAME.md and NAME.json to bench/results/HARDWARE/, or files named `out`; returns the text of the first.

    `measured` is the name that `prepare` returns.
    """
    machine, date = hardware(), datetime.date.today().isoformat()
    out = out or ROOT / "bench/results" / folder_name(machine) / name
    out.parent.mkdir(parents=True, exist_ok=True)
    text = (f"{machine['model']}, {machine['cores']} cores, {', '.join(machine['instruction_sets'])}; {date}; "
            f"{measured}.\n\n{text}\n")
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    figures = {"date": date, "hardware": machine, "measured": measured, **figures}
    out.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return text
