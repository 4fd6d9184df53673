# SPDX-License-Identifier: Apache-2.0
"""The command serve of scripts/soak: a translation server, its clients, and models that change meanwhile."""
import asyncio
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from hardware import ROOT, format_table, write_results
from served_program import ServedProgram
from soak_clients import RECEIVE_S, Behaviours, Busy, HungUp, Requests, WrongAnswer

MODELS = ("a", "b")
BEAM = 4
CLIENTS = 10
SWAP_S, BROKEN_EVERY = 60, 3  # a broken model comes before every third swap
BURST_S, BURST = 20, 300  # requests at the same time
SLOW_READERS = 40  # clients that always read a stream a little at a time
MEMORY_POINTS = 60  # of the memory over time in the figures
WARM_UP = 0.25  # the share of the time before memory is judged
LARGEST_GROWTH, SMALL_GROWTH_MB = 1.1, 10  # the heaps of many threads take minutes to reach their size
LAST_REQUESTS = 8  # run when the server is asked to end
SETTINGS = [f"http.head_seconds={RECEIVE_S}", f"http.body_seconds={RECEIVE_S}", "http.idle_seconds=20",
            "http.max_connections_per_client=400", f"translation.beam={BEAM}", "translation.workers=2"]
# How often clients behave in each way.
WEIGHTS = {"ask": 10, "pipeline": 3, "vanish": 4, "send_slowly": 2, "stall": 1, "read_slowly": 2, "send_hostile": 3,
           "send_bad_body": 2, "look_around": 2, "probe": 2}
COUNTS = {"sentence": 40, "text": 40, "html": 20}
SINGLE_SENTENCE = re.compile(r"[^.!?…:\"“”«»]+[.!?]?")
SPACES = [" ", " ", "  ", "\n", "\n\n", "\t"]


class Texts:
    """Random texts, and their translations by `edgewise-translate` with each model."""

    def __init__(self, program, models, sentences, chance):
        self.program = program
        # The server divides a text into sentences, and `--nbest` does not.
        single = [sentence for sentence in sentences if SINGLE_SENTENCE.fullmatch(sentence)]
        self.inputs_of = {"sentence": chance.sample(single, COUNTS["sentence"]),
                          "text": [self.make_text(sentences, chance) for _ in range(COUNTS["text"])],
                          "html": [self.make_html(sentences, chance) for _ in range(COUNTS["html"])]}
        self.outputs_of = {(name, kind): [self.translate(model, kind, text) for text in texts]
                           for name, model in models.items() for kind, texts in self.inputs_of.items()}
        self.n_best = {name: [self.list_outputs(model, text) for text in self.inputs_of["sentence"]]
                       for name, model in models.items()}

    def make_text(self, sentences, chance):
        return "".join(chance.choice(sentences) + chance.choice(SPACES) for _ in range(chance.randint(1, 8)))

    def make_html(self, sentences, chance):
        paragraphs = []
        for _ in range(chance.randint(1, 4)):
            words = chance.choice(sentences).split()
            word = chance.randrange(len(words))
            words[word] = f"<b>{words[word]}</b>"
            paragraphs.append(f"<p class=\"x\">{' '.join(words)}<br>{chance.choice(sentences)}</p>")
        return "<!-- y -->".join(paragraphs)

    def run(self, model, text, *options):
        return subprocess.run([self.program, "--model", model, "--beam", str(BEAM), *options], input=text.encode(),
                              capture_output=True, check=True).stdout.decode()

    def translate(self, model, kind, text):
        option = "--html" if kind == "html" else "--text"
        return self.run(model, text, option, "--text-language", "en")

    def list_outputs(self, model, sentence):
        """Returns the different outputs of a sentence, the best one first."""
        lines = self.run(model, sentence, "--nbest", str(BEAM)).splitlines()
        return list(dict.fromkeys(line.partition("\t")[2] for line in lines))

    def count(self, kind):
        return COUNTS[kind]

    def inputs(self, kind):
        return self.inputs_of[kind]

    def outputs(self, model, kind):
        return self.outputs_of[model, kind]

    def alternatives(self, model, index):
        return self.n_best[model][index]


class ModelClock:
    """Knows which models may have answered a request: those that were live at a moment of its time."""

    def __init__(self, model):
        self.changes = [(time.monotonic(), {model})]

    def set(self, models):
        self.changes.append((time.monotonic(), set(models)))

    def between(self, begin, end):
        live = set()
        for i, (since, models) in enumerate(self.changes):
            until = self.changes[i + 1][0] if i + 1 < len(self.changes) else float("inf")
            if since <= end and until >= begin:
                live |= models
        return sorted(live)


class Soak:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.programs = options.tests.resolve().parent if options.tests else ROOT / "build"
        self.chance = random.Random(options.seed)
        self.counts, self.defects = collections.Counter(), []
        self.log, self.has_log = [], threading.Condition()
        self.swaps = collections.Counter()

    def train_models(self):
        """Trains two models in less than a minute, and makes a broken one."""
        runs = {}
        for seed, name in enumerate(MODELS, 1):
            run = self.folder / name
            subprocess.run([self.programs / "edgewise", "train", ROOT / "configs/d2l-en-fr.toml", "--out", run, "--set",
                            "train.epochs=40", "--set", f"train.seed={seed}"], check=True, stdout=sys.stderr)
            runs[name] = run / "last"
        broken = self.folder / "broken"
        shutil.copytree(runs["a"], broken)
        with (broken / "model.safetensors").open("r+b") as file:
            file.truncate(file.seek(0, os.SEEK_END) - 1)
        with (broken / "manifest.json").open("a", encoding="utf-8") as file:
            file.write(" ")
        return runs, broken

    def put_live(self, model):
        """Replaces the model directory of the server at once."""
        link = self.folder / "next"
        link.symlink_to(model)
        link.rename(self.folder / "live")

    def server_command(self, port):
        folder = ROOT / f"build-{self.options.build}" if self.options.build else self.programs
        return [folder / "edgewise-server", "--model", f"en-fr={self.folder / 'live'}", "--threads", "2", "--listen",
                f"127.0.0.1:{port}", *(word for setting in SETTINGS for word in ("--set", setting))]

    def read_log(self, stream):
        for line in stream:
            with self.has_log:
                self.log.append(line.strip())
                self.has_log.notify_all()

    def wait_for_log(self, text, since, seconds=60):
        """Returns whether the server logs a line with `text` behind line `since`."""
        with self.has_log:
            return self.has_log.wait_for(lambda: any(text in line for line in self.log[since:]), seconds)

    def add_defect(self, text):
        self.defects.append(text)
        print(f"DEFECT: {text}", file=sys.stderr, flush=True)

    # --- clients

    async def behave(self, name):
        try:
            for kind in await getattr(self.behaviours, name)():
                self.counts[kind] += 1
        except Busy:
            self.counts["429"] += 1
        except (HungUp, ConnectionError) as error:
            self.add_defect(f"{name}: the server closed a connection without an answer ({error!r})")
        except (WrongAnswer, ValueError, KeyError) as error:
            self.add_defect(f"{name}: {error!r}")

    async def run_client(self, end):
        names, weights = list(WEIGHTS), list(WEIGHTS.values())
        while time.monotonic() < end and len(self.defects) < 100:
            await self.behave(self.chance.choices(names, weights)[0])

    async def run_slow_reader(self, end):
        while time.monotonic() < end and len(self.defects) < 100:
            await self.behave("drip")
            await asyncio.sleep(0.1)

    async def run_bursts(self, end):
        while time.monotonic() + BURST_S < end:
            await asyncio.sleep(self.chance.uniform(0, BURST_S))
            await asyncio.gather(*(self.behave("ask") for _ in range(BURST)))

    # --- models

    async def swap(self, model):
        self.clock.set({self.live, model})
        since = len(self.log)
        self.put_live(self.runs[model])
        self.server.process.send_signal(signal.SIGHUP)
        if not await asyncio.to_thread(self.wait_for_log, "is loaded", since):
            self.add_defect(f"model {model} is not loaded: {self.log[since:]}")
            return
        self.live = model
        self.clock.set({model})
        self.swaps["loaded"] += 1

    async def try_broken_model(self):
        since = len(self.log)
        self.put_live(self.broken)
        self.server.process.send_signal(signal.SIGHUP)
        if await asyncio.to_thread(self.wait_for_log, "is not loaded, and its last version stays", since):
            self.swaps["refused"] += 1
        else:
            self.add_defect(f"the broken model is not refused: {self.log[since:]}")

    async def swap_models(self, end):
        number = 0
        interval = min(SWAP_S, self.options.seconds / 6)
        while time.monotonic() + interval < end:
            await asyncio.sleep(interval)
            number += 1
            if number % BROKEN_EVERY == 0:
                await self.try_broken_model()
            await self.swap(MODELS[1 - MODELS.index(self.live)])

    # --- the run

    async def run_clients(self):
        end = time.monotonic() + self.options.seconds
        await asyncio.gather(*(self.run_client(end) for _ in range(CLIENTS)),
                             *(self.run_slow_reader(end) for _ in range(SLOW_READERS)), self.run_bursts(end),
                             self.swap_models(end))

    async def end_server(self):
        """Asks the server to end while requests run, and checks that all of them are answered."""
        last = [asyncio.create_task(self.behave("ask_much")) for _ in range(LAST_REQUESTS)]
        await asyncio.sleep(0.2)
        code, seconds = await asyncio.to_thread(self.server.stop)
        await asyncio.gather(*last)
        if code != 0:
            self.add_defect(f"the server ends with exit code {code}; {self.log[-20:]}")
        return code, seconds

    def quiet_sample(self):
        """Returns memory, descriptors and threads when all connections are closed."""
        time.sleep(3)
        return self.server.sample()

    def check_memory(self):
        """Checks that memory does not grow. Returns its medians after the warm-up and at the end in MB."""
        samples = self.server.samples
        begin, last = samples[0][0], samples[-1][0]
        after = [sample[1] for sample in samples if sample[0] >= begin + WARM_UP * (last - begin)]
        third = max(len(after) // 3, 1)
        first, final = statistics.median(after[:third]), statistics.median(after[-third:])
        has_grown = final > max(LARGEST_GROWTH * first, first + SMALL_GROWTH_MB)
        if has_grown and not self.options.build:  # sanitizers keep freed memory
            self.add_defect(f"memory grew from {first:.0f} to {final:.0f} MB")
        return first, final

    def memory_over_time(self):
        samples = self.server.samples
        return [round(sample[1], 1) for sample in samples[::max(len(samples) // MEMORY_POINTS, 1)]]

    def check_counts(self, before, after):
        if after[2] > before[2]:
            self.add_defect(f"descriptors grew from {before[2]} to {after[2]}")
        if after[3] > before[3]:
            self.add_defect(f"threads grew from {before[3]} to {after[3]}")

    def run(self):
        self.runs, self.broken = self.train_models()
        sentences = [line.split("\t")[0] for line in subprocess.run(
            ["xz", "-dc", ROOT / "data/tatoeba-eng-fra/test.tsv.xz"], capture_output=True, text=True,
            check=True).stdout.splitlines()]
        texts = Texts(self.programs / "edgewise-translate", self.runs, sorted(set(sentences)), self.chance)
        self.put_live(self.runs["a"])
        self.live, self.clock = "a", ModelClock("a")
        self.server = ServedProgram(self.server_command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        reader = threading.Thread(target=self.read_log, args=(self.server.process.stderr,))
        reader.start()
        try:
            self.server.wait_until_ready("/ready")
            self.behaviours = Behaviours(self.server.port, Requests(texts, self.chance), self.clock, self.chance)
            return self.measure()
        finally:
            if self.server.process.poll() is None:
                self.server.stop()
            reader.join()

    def measure(self):
        asyncio.run(self.behave("ask"))
        before = self.quiet_sample()
        asyncio.run(self.run_clients())
        after = self.quiet_sample()
        memory = self.check_memory()
        self.check_counts(before, after)
        code, seconds = asyncio.run(self.end_server())
        if any("Sanitizer" in line for line in self.log):
            self.add_defect("a sanitizer reports: " + "\n".join(self.log[-60:]))
        return {"counts": dict(self.counts.most_common()), "swaps": dict(self.swaps), "defects": self.defects,
                "memory_mb": memory, "most_memory_mb": max(sample[1] for sample in self.server.samples),
                "memory_over_time_mb": self.memory_over_time(),
                "descriptors": (before[2], after[2]), "threads": (before[3], after[3]), "exit_code": code,
                "seconds_to_end": seconds}


def describe(options, figures):
    rows = [[kind, count] for kind, count in figures["counts"].items()]
    memory = figures["memory_mb"]
    facts = [["models loaded; broken ones refused",
              f"{figures['swaps'].get('loaded', 0)}; {figures['swaps'].get('refused', 0)}"],
             ["memory in MB: median after the warm-up, at the end; most",
              f"{memory[0]:.0f}, {memory[1]:.0f}; {figures['most_memory_mb']:.0f}"],
             ["descriptors without connections: before, after", "{}, {}".format(*figures["descriptors"])],
             ["threads: before, after", "{}, {}".format(*figures["threads"])],
             ["SIGTERM with requests: exit code, seconds", f"{figures['exit_code']}, {figures['seconds_to_end']:.1f}"],
             ["wrong answers and other defects", len(figures["defects"]) or "none"]]
    build = f" built with {options.build}" if options.build else ""
    return (f"A translation server{build} with two workers for {options.seconds} s; {CLIENTS} clients that behave at "
            f"random, {SLOW_READERS} that read streams a little at a time, and bursts of {BURST} more; seed "
            f"{options.seed}.\nEach translation was compared with that of `edgewise-translate` by a model that was live "
            "during the request.\n\n"
            + format_table(["requests", "number"], rows) + "\n\n" + format_table(["figure", "value"], facts)
            + "".join(f"\n\nDEFECT: {defect}" for defect in figures["defects"]))


def soak_serve(options):
    if options.build:
        subprocess.run([ROOT / "scripts/build", options.build, "edgewise-server"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        figures = Soak(options, pathlib.Path(folder)).run()
    name = f"soak_serve_{options.build}" if options.build else "soak_serve"
    print(write_results(options.out, name, options.measured, describe(options, figures),
                        {"seed": options.seed, "seconds": options.seconds, "build": options.build, **figures}))
    return not figures["defects"]
