#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model with the architecture and the size of most OPUS-MT models and with random weights, and inputs for it.

    make_opus_model.py --input FILE --out FOLDER

FOLDER/model is a directory of CTranslate2, as its converter of Marian's models writes it. FOLDER/inputs has a line of
random tokens for each line of FILE, as many as the sentence would have in subwords. Tokens are texts of their own,
because the model has no SentencePiece files."""
import argparse
import pathlib
import random

import numpy as np

from random_spec import RandomSpec

SIZE, FEED_FORWARD, HEADS, LAYERS, VOCABULARY, POSITIONS = 512, 2048, 8, 6, 58_101, 512
SPECIAL = ["</s>", "<unk>"]
WORDS = SPECIAL + [f"t{i}" for i in range(VOCABULARY - len(SPECIAL))]


def sinusoidal_positions():
    """Returns the positions of Marian: all sines before all cosines."""
    angle = np.arange(POSITIONS)[:, None] / 10_000 ** (np.arange(0, SIZE, 2) / SIZE)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32)


def save_model(folder):
    model = RandomSpec(SIZE, FEED_FORWARD, HEADS, LAYERS, LAYERS, vocabulary=VOCABULARY, activation="SWISH")
    model.fill(sinusoidal_positions())
    model.spec.decoder.start_from_zero_embedding = True
    model.spec.config.add_source_eos = False
    model.spec.config.decoder_start_token = model.spec.config.eos_token
    folder.mkdir(parents=True)
    model.save(str(folder), WORDS)


def write_inputs(sentences, path):
    draw = random.Random(1)
    lines = [" ".join(draw.choices(WORDS[len(SPECIAL):], k=max(1, len(sentence.split()) * 5 // 4)))
             for sentence in sentences.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=pathlib.Path, required=True, help="a file of sentences, one per line")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder to write")
    given = parser.parse_args()
    save_model(given.out / "model")
    write_inputs(given.input, given.out / "inputs")


if __name__ == "__main__":
    main()
