#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translates lines with a student of tests/convert/random_student.py: by Bergamot, by fxtranslate, or by
edgewise-translate.

Prints one line of JSON. `cold_start_ms` is the time from loading the model to the first translation, for
edgewise-translate with the start of its process. `words_per_second` counts the words of outputs, each of which is a
token; all lines are translated again and again for at least about 3 seconds, after a first time that does not count.
With --single, each line is translated on its own, and `median_latency_ms` is the time of a line. With --outputs, the
translations are written to a file instead, and nothing is measured.

Bergamot gets all lines at once, and makes its own batches of them. fxtranslate translates a line at a time; instead of
several threads, it has several processes with a translator each. The time of an interpreter's start does not count."""
import argparse
import concurrent.futures
import importlib.util
import json
import pathlib
import statistics
import subprocess
import threading
import time

from peak_memory import peak_memory

MIN_SECONDS = 3

CONFIG = """models: [{model}]
vocabs: [{vocabularies}]
{shortlist}beam-size: {beam}
normalize: 1.0
word-penalty: 0
max-length-break: 128
mini-batch-words: {batch_words}
workspace: 128
max-length-factor: 2.0
skip-cost: {skip_cost}
cpu-threads: 0
quiet: true
quiet-translation: true
gemm-precision: {precision}
"""


def one_file(folder, pattern):
    [path] = folder.glob(pattern)
    return path.resolve()


def vocabularies_of(folder):
    patterns = ["srcvocab.*.spm", "trgvocab.*.spm"] if list(folder.glob("srcvocab.*")) else ["vocab.*.spm"] * 2
    return [one_file(folder, pattern) for pattern in patterns]


def load_bergamot():
    """Returns the compiled module of the package, whose Python code asks a server for models when it is imported."""
    folder = pathlib.Path(importlib.util.find_spec("bergamot").submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("_bergamot", one_file(folder, "_bergamot*.so"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Bergamot:
    version = "bergamot 0.4.5"

    def __init__(self, given):
        self.module = load_bergamot()
        folder = given.student
        model = next(path for path in (*folder.glob("model.*.bin"), *folder.glob("model.npz")))
        precision = ("float32" if model.suffix == ".npz" else
                     "int8shiftAlphaAll" if "alphas" in model.name else "int8shiftAll")
        shortlist = f"shortlist: [{one_file(folder, 'lex.*.bin')}, false]\n" if given.shortlist else ""
        config = CONFIG.format(model=model.resolve(), vocabularies=", ".join(map(str, vocabularies_of(folder))),
                               shortlist=shortlist, beam=given.beam, batch_words=given.batch_words,
                               skip_cost=str(given.beam == 1).lower(), precision=precision)
        self.service = self.module.Service(self.module.ServiceConfig(numWorkers=given.threads))
        self.model = self.service.modelFromConfig(config)
        self.options = self.module.ResponseOptions(qualityScores=False, alignment=False, HTML=False,
                                                   sentenceMappings=False)

    def translate(self, lines):
        responses = self.service.translate(self.model, self.module.VectorString(lines), self.options)
        return [response.target.text.strip() for response in responses]


def load_fxtranslate(folder, has_shortlist):
    """Sets the translator of this process."""
    global fx_translator
    import fxtranslate
    source, target = (path.read_bytes() for path in vocabularies_of(folder))
    more = {"shortlist": one_file(folder, "lex.*.bin").read_bytes()} if has_shortlist else {}
    model = one_file(folder, "model.*.bin").read_bytes()
    fx_translator = fxtranslate.Translator(model=model, src_vocab=source, trg_vocab=target, **more)


def translate_by_fxtranslate(lines):
    return [fx_translator.translate(line).strip() for line in lines]


class FxTranslate:
    version = "fxtranslate 0.5.0"

    def __init__(self, given):
        loading = given.student, given.shortlist
        self.count = 1 if given.single else given.threads
        if self.count == 1:
            load_fxtranslate(*loading)
        else:
            self.pool = concurrent.futures.ProcessPoolExecutor(self.count, initializer=load_fxtranslate,
                                                               initargs=loading)

    def translate(self, lines):
        if self.count == 1:
            return translate_by_fxtranslate(lines)
        outputs = [None] * len(lines)
        parts = [lines[i::self.count] for i in range(self.count)]
        for i, part in enumerate(self.pool.map(translate_by_fxtranslate, parts)):
            outputs[i::self.count] = part
        return outputs


class Edgewise:
    version = "edgewise"

    def __init__(self, given):
        command = [given.program, "--model", given.model, "--precision", given.precision, "--beam", str(given.beam),
                   "--no-protect", "--threads", str(given.threads), "--workers", str(given.threads),
                   "--batch-sentences", str(given.batch)]
        if not given.shortlist:
            command += ["--shortlist", "off"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        encoding="utf-8")

    def translate(self, lines):
        def write():
            self.process.stdin.write("".join(line + "\n" for line in lines))
            self.process.stdin.flush()

        writer = threading.Thread(target=write)  # outputs may fill their pipe before all inputs are written
        writer.start()
        outputs = [self.process.stdout.readline().strip() for _ in lines]
        writer.join()
        return outputs


TRANSLATORS = {"bergamot": Bergamot, "fxtranslate": FxTranslate, "edgewise": Edgewise}


def count_words(outputs):
    return sum(len(output.split()) for output in outputs)


def measure(given, lines):
    begin = time.perf_counter()
    translator = TRANSLATORS[given.translator](given)
    translator.translate(lines[:1])
    result = {"version": translator.version, "cold_start_ms": 1e3 * (time.perf_counter() - begin)}
    translator.translate(lines[:200] if given.single else lines)
    words, latencies, begin = 0, [], time.perf_counter()
    while time.perf_counter() - begin < MIN_SECONDS:
        if given.single:
            for line in lines:
                start = time.perf_counter()
                words += count_words(translator.translate([line]))
                latencies.append(time.perf_counter() - start)
        else:
            words += count_words(translator.translate(lines))
    result["words_per_second"] = words / (time.perf_counter() - begin)
    if latencies:
        result["median_latency_ms"] = 1e3 * statistics.median(latencies)
    if given.translator != "edgewise" and given.threads == 1:
        result["peak_memory_bytes"] = peak_memory()
    return result


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--translator", choices=TRANSLATORS, required=True)
    parser.add_argument("--student", type=pathlib.Path, help="the folder of random_student.py, for the peers")
    parser.add_argument("--model", help="edgewise: the model directory that `edgewise import` made of the student")
    parser.add_argument("--program", help="edgewise: the path of edgewise-translate")
    parser.add_argument("--precision", default="int8", help="edgewise: the number format (default: int8)")
    parser.add_argument("--input", type=pathlib.Path, required=True, help="a file of lines")
    parser.add_argument("--shortlist", action="store_true", help="compute only the tokens that the shortlist selects")
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32, help="edgewise: sentences at a time")
    parser.add_argument("--batch-words", type=int, default=1024, help="Bergamot: words of a batch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--single", action="store_true", help="translate each line on its own")
    parser.add_argument("--outputs", type=pathlib.Path, help="a file to write the translations to")
    return parser.parse_args()


def main():
    given = parse_arguments()
    lines = given.input.read_text(encoding="utf-8").splitlines()
    if not given.outputs:
        print(json.dumps(measure(given, lines)))
        return
    translator = TRANSLATORS[given.translator](given)
    parts = [[line] for line in lines] if given.single else [lines]
    outputs = [output for part in parts for output in translator.translate(part)]
    given.outputs.write_text("".join(output + "\n" for output in outputs), encoding="utf-8")


if __name__ == "__main__":
    main()
