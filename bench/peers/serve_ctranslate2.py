#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves a model of CTranslate2 by LibreTranslate's POST /translate, with FastAPI and uvicorn (uvloop and httptools).

    serve_ctranslate2.py --model DIR --port PORT [--precision int8] [--translators 1] [--threads 2] [--batch 32] …
    serve_ctranslate2.py --model DIR --lines FILE …

Requests share batches: as soon as a translator has nothing to do, it gets up to --batch of the sentences that wait, the
oldest first, without waiting for more. A batch that runs is never changed: CTranslate2 takes sentences only at the
beginning of a call. With --lines, translates a file to standard output instead, one sentence per line."""
import argparse
import asyncio
import collections
import concurrent.futures
import contextlib
import pathlib

import ctranslate2
import fastapi
import fastapi.responses
import sentencepiece
import uvicorn


class WordCodec:
    """Tokens are the words between spaces."""

    def encode(self, text):
        return text.split()

    def decode(self, tokens):
        return " ".join(tokens)


class PieceCodec:
    """Tokens are the pieces of SentencePiece."""

    def __init__(self, source, target):
        self.source, self.target = (sentencepiece.SentencePieceProcessor(model_file=str(path))
                                    for path in (source, target))

    def encode(self, text):
        return self.source.encode(text, out_type=str)

    def decode(self, tokens):
        return self.target.decode(tokens)


def make_codec(folder):
    for names in (("sentencepiece.model", "sentencepiece.model"), ("source.spm", "target.spm")):
        source, target = (folder / name for name in names)
        if source.exists():
            return PieceCodec(source, target)
    return WordCodec()


class Model:
    def __init__(self, options):
        self.translator = ctranslate2.Translator(
            str(options.model), device="cpu", compute_type=options.precision, inter_threads=options.translators,
            intra_threads=options.threads // options.translators)
        self.codec = make_codec(options.model)
        self.search = {"max_batch_size": options.batch, "beam_size": options.beam,
                       "length_penalty": options.length_penalty,
                       "min_decoding_length": options.min_length, "max_decoding_length": options.max_length,
                       "no_repeat_ngram_size": options.no_repeat_ngram}

    def translate(self, texts):
        inputs = [self.codec.encode(text) for text in texts]
        results = self.translator.translate_batch(inputs, **self.search)
        return [self.codec.decode(result.hypotheses[0]) for result in results]


class Batcher:
    """Translates the sentences of requests together; sentences wait only while all translators are busy."""

    def __init__(self, model, options):
        self.model, self.batch, self.num_idle = model, options.batch, options.translators
        self.executor = concurrent.futures.ThreadPoolExecutor(options.translators)
        self.waiting = collections.deque()  # (sentence, future of its translation)

    async def translate(self, text):
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((text, future))
        # Requests that arrived in the same pass of the event loop are queued before the first batch begins.
        asyncio.get_running_loop().call_soon(self.begin_batches)
        return await future

    def begin_batches(self):
        while self.num_idle and self.waiting:
            self.num_idle -= 1
            jobs = [self.waiting.popleft() for _ in range(min(self.batch, len(self.waiting)))]
            asyncio.create_task(self.run_batch(jobs))

    async def run_batch(self, jobs):
        texts = [text for text, _ in jobs]
        outputs = await asyncio.get_running_loop().run_in_executor(self.executor, self.model.translate, texts)
        for (_, future), output in zip(jobs, outputs):
            if not future.done():  # the client may be gone
                future.set_result(output)
        self.num_idle += 1
        self.begin_batches()


def make_app(model, options):
    batcher = Batcher(model, options)
    app = fastapi.FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok", "version": f"CTranslate2 {ctranslate2.__version__}, FastAPI {fastapi.__version__}, "
                                           f"uvicorn {uvicorn.__version__}"}

    @app.post("/translate")
    async def translate(request: fastapi.Request):
        text = (await request.json())["q"]
        return fastapi.responses.JSONResponse({"translatedText": await batcher.translate(text)})

    return app


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int)
    parser.add_argument("--lines", type=pathlib.Path)
    parser.add_argument("--precision", choices=["float32", "int8"], default="int8")
    parser.add_argument("--translators", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of all translators together")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, default=1.0)
    parser.add_argument("--min-length", type=int, default=1)
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--no-repeat-ngram", type=int, default=0)
    options = parser.parse_args()

    model = Model(options)
    if options.lines:
        for output in model.translate(options.lines.read_text(encoding="utf-8").splitlines()):
            print(output)
        return
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.run(make_app(model, options), host="127.0.0.1", port=options.port, log_level="warning",
                    access_log=False, loop="uvloop", http="httptools", backlog=4096)


if __name__ == "__main__":
    main()
