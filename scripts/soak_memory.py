# SPDX-License-Identifier: Apache-2.0
"""The command memory of scripts/soak: programs with little address space, few processes or small stacks."""
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from hardware import ROOT, format_table, write_results

MODEL = ROOT / "models/en-de"
NOBODY = 65534
JOBS = os.cpu_count() or 1
TIMEOUT_S = 120
LARGEST_MB, SMALLEST_STEP_MB = 8192, 0.25
PROCESSES = [1, 2, 3, 4, 6, 8, 16, 64]
STACKS_KB = [64, 128, 256, 512, 1023, 1024, 2048]
CONFIG = """
[data]
task = "copy"
train_size = 300
valid_size = 20
test_size = 20
symbols = 4
length_mean = 3.0
length_deviation = 1.0
[vocabulary]
shared = true
[batch]
tokens = 0
sentences = 32
[model]
encoder_layers = 1
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16
[train]
epochs = 2
warmup = 20
"""
TEXT_CONFIG = """
[data]
train = ["pairs.tsv"]
[vocabulary]
shared = true
kind = "sentencepiece"
size = 120
"""
STUDENT_CONFIG = """
[vocabulary]
shared = true
[model]
encoder_layers = 1
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16
[train]
epochs = 0
steps = 2
warmup = 1
"""
PYTHON = """
import sys, edgewise
try:
    print(edgewise.Translator(sys.argv[1]).translate("A dog sleeps."))
except (edgewise.Error, MemoryError) as error:
    print(error or "MemoryError", file=sys.stderr)
    sys.exit(2)
"""


@dataclasses.dataclass
class Run:
    """How a program ended: `code` is None if it did not, and negative after a signal."""
    code: int | None
    output: bytes
    errors: str


@dataclasses.dataclass
class Command:
    """Work under limits. `arguments` follow the program; `result` names the file with the result, otherwise the result
    is the output; `copied` are names in the folder that the work changes."""
    name: str
    program: pathlib.Path | str
    arguments: list
    result: str | None = None
    copied: tuple = ()
    input: bytes = b""
    version: tuple = ("--version",)
    is_result: object = None  # judges the output, which may differ from run to run


def limited(command, limit, user=None):
    """`limit` is an option of ulimit with its value."""
    words = ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *map(str, command)]
    return words if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *words]


def run_briefly(command, folder, data=b""):
    try:
        result = subprocess.run(command, input=data, capture_output=True, timeout=TIMEOUT_S, cwd=folder, check=False)
        return Run(result.returncode, result.stdout, result.stderr.decode(errors="replace"))
    except subprocess.TimeoutExpired as end:
        return Run(None, b"", (end.stderr or b"").decode(errors="replace"))


def read_until(stream, text, seconds):
    """Returns what a stream says until it ends, or until it has said `text`."""
    said, end = b"", time.monotonic() + seconds
    while text not in said and time.monotonic() < end:
        if select.select([stream], [], [], 1)[0]:
            more = os.read(stream.fileno(), 1 << 16)
            if not more:
                break
            said += more
    return said


def ask(url):
    body = json.dumps({"q": "A dog sleeps.", "source": "en", "target": "de"}).encode()
    request = urllib.request.Request(f"{url}/translate", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.read()
    except OSError as error:
        return repr(error).encode()


def serve_briefly(command, folder):
    """Starts a server, translates a sentence with it if it listens, and ends it. The output is the answer."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder) as server:
        try:
            errors = read_until(server.stderr, b"ready at ", TIMEOUT_S)
            ready = re.search(rb"ready at (\S+)", errors)
            answer = ask(ready[1].decode()) if ready else b""
            if ready:
                server.send_signal(signal.SIGTERM)
            code = server.wait(TIMEOUT_S)
            errors += server.stderr.read()
        except subprocess.TimeoutExpired:
            server.kill()
            code = None
    return Run(code, answer, errors.decode(errors="replace"))


class Sweep:
    """The runs of one command, each in a folder of its own with a copy of the inputs."""

    def __init__(self, command, inputs, folder):
        self.command, self.inputs, self.folder = command, inputs, folder
        self.runs = {}  # the outcome of each limit of address space in MB
        self.limits = {}
        self.expected = None

    def run(self, limit, user=None):
        """Returns how the work ends under a limit, and its result."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = pathlib.Path(name)
            folder.chmod(0o777)
            for path in self.inputs.iterdir():
                if path.name in self.command.copied:
                    shutil.copytree(path, folder / path.name)
                else:
                    (folder / path.name).symlink_to(path)
            words = limited([self.command.program, *self.command.arguments], limit, user)
            if "serve" in self.command.name:
                run = serve_briefly(words, folder)
            else:
                run = run_briefly(words, folder, self.command.input)
            file = folder / self.command.result if self.command.result else None
            return run, (file.read_bytes() if file and file.exists() else b"" if file else run.output)

    def is_right(self, result):
        return self.command.is_result(result) if self.command.is_result else result == self.expected

    def outcome(self, limit, user=None):
        """Returns "0", "2" with its line, or a finding, which names the limit."""
        run, result = self.run(limit, user)
        lines = run.errors.strip().splitlines()
        if run.code == 0 and self.is_right(result):
            return "0"
        if run.code == 2 and len(lines) == 1:
            return f"2: {lines[0]}"
        ends = {None: "hang", 0: "wrong result"}
        end = ends.get(run.code, f"signal {-run.code}" if run.code and run.code < 0 else f"exit code {run.code}")
        return f"FINDING: {self.command.name}, ulimit {limit}: {end}; {' / '.join(lines[-3:])}"

    def try_address_space(self, megabytes):
        if megabytes not in self.runs:
            self.runs[megabytes] = self.outcome(f"-v {round(megabytes * 1024)}")
        return self.runs[megabytes]

    def starts(self, megabytes):
        words = limited([self.command.program, *self.command.version], f"-v {round(megabytes * 1024)}")
        return run_briefly(words, self.folder).code == 0

    def bisect(self, low, high, is_enough):
        while high - low > max(1.0, high / 256):
            middle = (low + high) / 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return high

    def widest_gap(self):
        """Returns the next limit to try: in the widest gap between two limits that end alike, where a gap between
        different ends counts eight times."""
        def kind(megabytes):
            return re.sub(r"[0-9.]+ [kMGT]?B|[0-9]+", "", self.runs[megabytes])

        limits = sorted(self.runs)
        gaps = [((b - a) * (8 if kind(a) != kind(b) else 1), a, b) for a, b in zip(limits, limits[1:])
                if b - a > SMALLEST_STEP_MB]
        if not gaps:
            return None
        _, a, b = max(gaps)
        return (a + b) / 2

    def sweep(self, count):
        run, self.expected = self.run("-v unlimited")
        if run.code != 0 or not self.is_right(self.expected):
            sys.exit(f"{self.command.name} fails without a limit: {run.errors}")
        self.start = self.bisect(0, LARGEST_MB, self.starts)
        self.enough = self.bisect(self.start, LARGEST_MB, lambda limit: self.try_address_space(limit) == "0")
        self.runs = {limit: end for limit, end in self.runs.items() if limit <= 1.5 * self.enough}
        for limit in (self.start, 1.2 * self.enough):
            self.try_address_space(limit)
        while len(self.runs) < count:
            limit = self.widest_gap()
            if limit is None:
                break
            self.try_address_space(limit)
        print(f"{self.command.name}: starts with {self.start:.0f} MB, works with {self.enough:.0f} MB, "
              f"{len(self.findings())} findings", file=sys.stderr, flush=True)
        return self

    def try_other_limits(self, user):
        """Tries small stacks, and few processes if `user` may have any."""
        limits = [(f"-s {kilobytes}", None) for kilobytes in STACKS_KB]
        limits += [(f"-u {count}", user) for count in PROCESSES] if user is not None else []
        for limit, as_user in limits:
            self.limits[limit] = self.outcome(limit, as_user)

    def figures(self):
        return {"starts_with_mb": self.start, "works_with_mb": self.enough,
                "address_space_mb": {f"{limit:.2f}": self.runs[limit] for limit in sorted(self.runs)},
                "other_limits": self.limits}

    def ends(self):
        return [*self.runs.values(), *self.limits.values()]

    def findings(self):
        return [end for end in self.ends() if end.startswith("FINDING")]


def prepare_inputs(programs, folder):
    """Makes the files that the commands read."""
    def run(*arguments):
        subprocess.run([programs / "edgewise", *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=folder)

    (folder / "tiny.toml").write_text(CONFIG, encoding="utf-8")
    (folder / "text.toml").write_text(TEXT_CONFIG, encoding="utf-8")
    (folder / "student.toml").write_text(STUDENT_CONFIG, encoding="utf-8")
    distil = f'teachers = ["{MODEL}"]\ninputs = ["lines"]\nstudent = "student.toml"\n'
    (folder / "distil.toml").write_text(distil, encoding="utf-8")
    pairs = [line.split("\t")[-1] for line in (ROOT / "models/examples.en").read_text(encoding="utf-8").splitlines()]
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line}\n" for line in pairs), encoding="utf-8")
    (folder / "lines").write_text("\n".join(pairs[:20]) + "\n", encoding="utf-8")
    run("train", "tiny.toml", "--out", "half", "--set", "train.epochs=1")
    run("export", MODEL, "--format", "ctranslate2", "--out", "foreign")
    run("import", "foreign", "--out", "model")
    run("train", "tiny.toml", "--out", "exits", "--set", "model.decoder_layers=2", "--set", "model.exits.layers=[1]")
    return "\n".join(pairs[:10]).encode() + b"\n"


def list_commands(programs, text, python):
    edgewise, threads = programs / "edgewise", ("--threads", "2")
    weights, training = "out/last/model.safetensors", ("tiny.toml", "--out", "out", *threads)
    large = ("--set", "model.size=1024", "--set", "model.feed_forward=8192", "--set", "train.steps=2")
    serve = ("--model", f"en-de={MODEL}", "--listen", "127.0.0.1:0", *threads)
    is_translated = re.compile(rb"Hund").search
    commands = [
        Command("train, size 16", edgewise, ["train", *training], weights),
        Command("train, size 1024", edgewise, ["train", *training, *large], weights),
        Command("train --resume", edgewise, ["train", "tiny.toml", "--out", "half", "--resume", *threads],
                "half/last/model.safetensors", copied=("half",)),
        Command("distil", edgewise, ["distil", "distil.toml", "--out", "out", *threads],
                "out/6-model/model/model.safetensors"),
        Command("edgewise translate", edgewise, ["translate", "--model", MODEL, *threads], input=text),
        Command("edgewise-translate", programs / "edgewise-translate", ["--model", MODEL, *threads], input=text),
        Command("edgewise serve", edgewise, ["serve", *serve], is_result=is_translated),
        Command("edgewise-server, serve", programs / "edgewise-server", serve, is_result=is_translated),
        Command("edgewise-server, serve, 8 requests", programs / "edgewise-server",
                [*serve, "--set", "http.max_requests=8"], is_result=is_translated),
        Command("import", edgewise, ["import", "foreign", "--out", "out"], "out/model.safetensors"),
        Command("export", edgewise, ["export", "model", "--format", "ctranslate2", "--out", "out"], "out/model.bin"),
        Command("average", edgewise, ["average", "model", "model", "--out", "out"], "out/model.safetensors"),
        Command("quantise", edgewise, ["quantise", "model", "--out", "out"], "out/model.safetensors"),
        Command("shortlist", edgewise, ["shortlist", "model", "pairs.tsv", "pairs.tsv", "--out", "out"],
                "out/shortlist.bin"),
        Command("calibrate", edgewise, ["calibrate", "exits", "pairs.tsv", "pairs.tsv", "--out", "out", "--loss", "99",
                                        "--risk", "0.5", *threads], "out/model.safetensors"),
        Command("inspect", edgewise, ["inspect", "model"]),
        Command("vocab", edgewise, ["vocab", "text.toml", "--out", "out"], "out/vocabulary.model"),
        Command("edgewise doctor", edgewise, ["doctor", *threads], is_result=re.compile(rb"12 of 12").search),
        Command("edgewise-doctor", programs / "edgewise-doctor", threads, is_result=re.compile(rb"12 of 12").search)]
    if python:
        commands.append(Command("Python's Translator", python, ["-c", PYTHON, MODEL], is_result=is_translated,
                                version=("-c", "import edgewise")))
    return commands


def find_user(program):
    """Returns the user for limits of processes: the root of Linux has none. None if there is no such user."""
    if os.geteuid() != 0:
        return None
    works = shutil.which("setpriv") and run_briefly(limited([program, "--version"], "-c 0", NOBODY), "/").code == 0
    return NOBODY if works else None


def describe(sweeps, skipped):
    rows, total = [], collections.Counter()
    for sweep in sweeps:
        ends = collections.Counter(end[0] for end in sweep.ends())
        total += ends
        rows.append([sweep.command.name, f"{sweep.start:.0f}", f"{sweep.enough:.0f}", len(sweep.ends()), ends["0"],
                     ends["2"], ends["F"]])
    rows.append(["all", "", "", sum(total.values()), total["0"], total["2"], total["F"]])
    findings = [finding for sweep in sweeps for finding in sweep.findings()]
    return ("Commands with little address space (`ulimit -v`), with small stacks (`ulimit -s`), and with few processes "
            "(`ulimit -u`).\nEach run must end with exit code 0 and the result of a run without limits, or with exit "
            "code 2 and one line on standard error.\nAny other end is a finding.\n\n"
            + format_table(["command", "starts with MB", "works with MB", "runs", "ended with 0", "ended with 2",
                            "findings"], rows)
            + "".join(f"\n\nSkipped: {name}." for name in skipped)
            + "".join(f"\n\n{finding}" for finding in findings))


def soak_memory(options):
    programs = options.tests.resolve().parent if options.tests else ROOT / "build"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        inputs = folder / "inputs"
        inputs.mkdir()
        text = prepare_inputs(programs, inputs)
        user = find_user(programs / "edgewise-server")
        sweeps = [Sweep(command, inputs, folder) for command in list_commands(programs, text, options.python)]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as jobs:
            list(jobs.map(lambda sweep: sweep.sweep(options.count), sweeps))
            others = [sweep for sweep in sweeps if re.match("train, size 16|.*translate|.*server", sweep.command.name)]
            list(jobs.map(lambda sweep: sweep.try_other_limits(user), others))
    skipped = [] if options.python else ["Python's Translator, because --python names no Python with the package"]
    if user is None:
        skipped.append("limits of processes, because this needs root, setpriv, and programs that nobody may read")
    text = describe(sweeps, skipped)
    figures = {sweep.command.name: sweep.figures() for sweep in sweeps}
    print(write_results(options.out, "memory", options.measured, text, {"skipped": skipped, "commands": figures}))
    return not any(sweep.findings() for sweep in sweeps)
