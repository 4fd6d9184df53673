#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a student of Marian with random weights, in the files of Firefox and Bergamot, and inputs for it.

    random_student.py --out FOLDER [--architecture tiny] [--weights int8-alphas] [--split] [--seed 1] [--lines 1000]
    (needs: pip install numpy)

The folder gets model.xxyy.intgemm.alphas.bin, model.xxyy.intgemm8.bin or model.npz, vocab.xxyy.spm, or
srcvocab.xxyy.spm and trgvocab.xxyy.spm, lex.50.50.xxyy.s2t.bin, config.intgemm8bitalpha.yml and input.txt. The
architectures are those of Firefox's models. Each word of the vocabulary is one piece, so that the words of a text are
its tokens. `--end-bias` is the output bias of the end token: the larger, the shorter outputs; with -10000, each output
has the greatest length. edgewise/convert/marian_binary.h and edgewise/search/shortlist.h describe the files."""
import argparse
import pathlib
import struct

import numpy as np

ARCHITECTURES = {  # size, feed-forward, decoder layers
    "tiny": (256, 1536, 2),
    "base-memory": (384, 1536, 4),
    "base": (512, 2048, 2),
}
WEIGHTS = ["fp32", "int8", "int8-alphas"]
HEADS, ENCODER_LAYERS = 8, 6
TYPES = {"int8": 0x0101, "float32": 0x0404, "intgemm8": 0x4101}
ALIGNMENT = 256
MAGIC = 0xF11A48D5013417F5
FIRST = BEST = 50  # of the shortlist
END, UNKNOWN = 0, 1
NEVER = -10_000.0

# What the largest magnitudes of the inputs of products are like: of states after a norm, of averages of values, and of
# feed-forward layers after ReLU.
STATE, AVERAGE, INNER = 4.5, 2.5, 4.0

# The results of sublayers are larger than the states that they are added to. Otherwise the vector of a token, which is
# also that of the output projection, would make the token its own successor.
GAIN = 1.0

OPTIONS = """bert-train-type-embeddings: true
bert-type-vocab-size: 2
dec-cell: ssru
dec-cell-base-depth: 2
dec-cell-high-depth: 1
dec-depth: {decoder_layers}
dim-emb: {size}
dim-rnn: 1024
dim-vocabs:
  - {vocabulary}
  - {vocabulary}
enc-cell: gru
enc-cell-depth: 1
enc-depth: {encoder_layers}
enc-type: bidirectional
input-types:
  []
layer-normalization: false
lemma-dim-emb: 0
right-left: false
skip: false
tied-embeddings: {is_split}
tied-embeddings-all: {is_shared}
tied-embeddings-src: false
transformer-aan-activation: swish
transformer-aan-depth: 2
transformer-aan-nogate: false
transformer-decoder-autoreg: rnn
transformer-dim-aan: 2048
transformer-dim-ffn: {feed_forward}
transformer-ffn-activation: relu
transformer-ffn-depth: 2
transformer-guided-alignment-layer: last
transformer-heads: {heads}
transformer-no-projection: false
transformer-postprocess: dan
transformer-postprocess-emb: d
transformer-preprocess: ""
transformer-tied-layers:
  []
transformer-train-position-embeddings: false
type: transformer
ulr: false
ulr-dim-emb: 0
ulr-trainable-transformation: false
version: v1.9.56
"""

CONFIG = """relative-paths: true
models:
- {model}
vocabs:
- {vocabularies[0]}
- {vocabularies[1]}
shortlist:
- {shortlist}
- false
beam-size: 1
normalize: 1.0
word-penalty: 0
max-length-break: 128
mini-batch-words: 1024
workspace: 128
max-length-factor: 2.0
skip-cost: true
cpu-threads: 0
quiet: true
quiet-translation: true
gemm-precision: {precision}
"""


class Student:
    """The arrays of a model. Matrices are [inputs, outputs], tables [tokens, size]."""

    def __init__(self, given):
        self.size, self.feed_forward, self.decoder_layers = ARCHITECTURES[given.architecture]
        self.given = given
        self.random = np.random.default_rng(given.seed)
        self.matrices, self.vectors, self.largest = {}, {}, {}
        self.add_all()

    def add_matrix(self, name, rows, columns, largest, scale=1.0):
        depth = self.size if name.endswith("Wemb") else rows
        matrix = self.random.standard_normal((rows, columns)) * scale / np.sqrt(depth)
        if name.endswith("_W2"):
            matrix -= matrix.mean(axis=0)  # the mean of the inputs, which ReLU makes positive, has no effect
        self.matrices[name] = matrix.astype(np.float32)
        if largest is not None:
            self.largest[name] = largest

    def add_vector(self, name, size, centre=0.0):
        self.vectors[name] = (centre + 0.1 * self.random.standard_normal((1, size))).astype(np.float32)

    def add_norm(self, prefix):
        self.add_vector(f"{prefix}_ln_scale", self.size, 1.0)
        self.add_vector(f"{prefix}_ln_bias", self.size)

    def add_attention(self, prefix):
        for part in "qkvo":
            self.add_matrix(f"{prefix}_W{part}", self.size, self.size, AVERAGE if part == "o" else STATE,
                            scale=GAIN if part == "o" else 1.0)
            self.add_vector(f"{prefix}_b{part}", self.size)
        self.add_norm(f"{prefix}_Wo")

    def add_feed_forward(self, prefix):
        self.add_matrix(f"{prefix}_W1", self.size, self.feed_forward, STATE)
        self.add_vector(f"{prefix}_b1", self.feed_forward)
        self.add_matrix(f"{prefix}_W2", self.feed_forward, self.size, INNER, scale=GAIN)
        self.add_vector(f"{prefix}_b2", self.size)
        self.add_norm(f"{prefix}_ffn")

    def add_all(self):
        vocabulary = self.given.vocabulary
        if self.given.split:
            self.add_matrix("encoder_Wemb", vocabulary, self.size, None)
            self.add_matrix("decoder_Wemb", vocabulary, self.size, STATE)
        else:
            self.add_matrix("Wemb", vocabulary, self.size, STATE)
        self.add_vector("decoder_ff_logit_out_b", vocabulary)
        self.vectors["decoder_ff_logit_out_b"][0, END] = self.given.end_bias
        self.vectors["decoder_ff_logit_out_b"][0, UNKNOWN] = NEVER
        for layer in range(1, ENCODER_LAYERS + 1):
            self.add_attention(f"encoder_l{layer}_self")
            self.add_feed_forward(f"encoder_l{layer}_ffn")
        for layer in range(1, self.decoder_layers + 1):
            prefix = f"decoder_l{layer}_rnn"
            for part, scale in (("_W", GAIN), ("_Wf", 1.0)):
                self.add_matrix(prefix + part, self.size, self.size, STATE, scale)
            self.add_vector(f"{prefix}_bf", self.size)
            self.add_norm(f"{prefix}_ffn")
            self.add_attention(f"decoder_l{layer}_context")
            self.add_feed_forward(f"decoder_l{layer}_ffn")

    def options(self):
        return OPTIONS.format(size=self.size, feed_forward=self.feed_forward, heads=HEADS,
                              encoder_layers=ENCODER_LAYERS, decoder_layers=self.decoder_layers,
                              vocabulary=self.given.vocabulary, is_split=str(self.given.split).lower(),
                              is_shared=str(not self.given.split).lower())

    def alphas(self):
        """Returns the arrays of multipliers: a shared table's is there twice, once with the name of no matrix."""
        arrays = []
        for name, largest in self.largest.items():
            alpha = np.float32(127 / largest)
            if name.endswith("Wemb"):
                number = bytes([127]) + struct.pack("<f", 127 / alpha)
                arrays.append((f"{name}_QuantMultA", "intgemm8", (1,), number))
            if name == "decoder_Wemb":
                continue
            owner = "none" if name == "Wemb" else name
            arrays.append((f"{owner}_QuantMultA", "float32", (1,), struct.pack("<f", alpha)))
        return arrays

    def arrays(self):
        """Yields the arrays of a binary file: name, type, shape and bytes."""
        for name, vector in self.vectors.items():
            yield name, "float32", vector.shape, vector.tobytes()
        for name, matrix in self.matrices.items():
            multiplier = np.float32(127) / np.abs(matrix).max()
            integers = np.rint(matrix * multiplier).astype(np.int8)
            order = integers if name.endswith("Wemb") else np.ascontiguousarray(integers.T)
            yield name, "intgemm8", matrix.shape, order.tobytes() + struct.pack("<f", multiplier)
        if self.given.weights == "int8-alphas":
            yield from self.alphas()
        text = self.options().encode() + b"\0"
        yield "special:model.yml", "int8", (len(text),), text

    def table(self, is_output):
        return "Wemb" if not self.given.split else "decoder_Wemb" if is_output else "encoder_Wemb"

    def multiply(self, x, name, is_transposed=False):
        """Returns x · matrix, in integers of 8 bits unless the weights are floats."""
        matrix = self.matrices[name].T if is_transposed else self.matrices[name]
        if self.given.weights == "fp32":
            return x @ matrix
        multiplier = np.float32(127) / np.abs(matrix).max()
        has_alpha = self.given.weights == "int8-alphas"
        alpha = np.float32(127) / np.float32(self.largest[name] if has_alpha else np.abs(x).max())
        rounded = np.clip(np.rint(x * alpha), -127, 127)
        return (rounded @ np.rint(matrix * multiplier)) / (alpha * multiplier)

    def linear(self, x, prefix, part):
        return self.multiply(x, f"{prefix}_W{part}") + self.vectors.get(f"{prefix}_b{part}", np.float32(0))

    def add_and_norm(self, x, y, prefix):
        total = x + y
        centred = total - total.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-6))
        return centred / deviation * self.vectors[f"{prefix}_ln_scale"] + self.vectors[f"{prefix}_ln_bias"]

    def embed(self, tokens, is_output):
        """Returns the vectors of tokens with their positions; that of a negative token is zero."""
        table, half = self.matrices[self.table(is_output)], self.size // 2
        if self.given.weights != "fp32":
            multiplier = np.float32(127) / np.abs(table).max()
            table = np.rint(table * multiplier) / multiplier
        angles = np.arange(len(tokens))[:, None] * np.exp(-np.log(10_000) * np.arange(half) / (half - 1))
        vectors = np.where(np.array(tokens)[:, None] < 0, 0, table[np.maximum(tokens, 0)])
        return (vectors * np.sqrt(self.size) + np.hstack([np.sin(angles), np.cos(angles)])).astype(np.float32)

    def attend(self, x, source, prefix):
        def heads_of(rows):
            return rows.reshape(len(rows), HEADS, -1).swapaxes(0, 1)

        query, key, value = (heads_of(self.linear(rows, prefix, part))
                             for part, rows in (("q", x), ("k", source), ("v", source)))
        scores = query @ key.swapaxes(1, 2) / np.sqrt(np.float32(self.size // HEADS))
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        averages = (weights / weights.sum(axis=2, keepdims=True)) @ value
        averages = averages.swapaxes(0, 1).reshape(len(x), self.size)
        return self.add_and_norm(self.linear(averages, prefix, "o"), x, f"{prefix}_Wo")

    def recur(self, x, prefix):
        gates = 1 / (1 + np.exp(-self.linear(x, prefix, "f")))
        new = (1 - gates) * self.linear(x, prefix, "")
        cells, cell = [], np.zeros(self.size, np.float32)
        for gate, value in zip(gates, new):
            cell = gate * cell + value
            cells.append(cell)
        return self.add_and_norm(np.maximum(np.array(cells), 0), x, f"{prefix}_ffn")

    def run_feed_forward(self, x, prefix):
        inner = np.maximum(self.linear(x, prefix, "1"), 0)
        return self.add_and_norm(self.linear(inner, prefix, "2"), x, f"{prefix}_ffn")

    def logits(self, source, output):
        """Returns the logits of the first token after each beginning of `output`; `source` ends with END."""
        x = self.embed(source, is_output=False)
        for layer in range(1, ENCODER_LAYERS + 1):
            x = self.run_feed_forward(self.attend(x, x, f"encoder_l{layer}_self"), f"encoder_l{layer}_ffn")
        y = self.embed([-1, *output], is_output=True)
        for layer in range(1, self.decoder_layers + 1):
            y = self.attend(self.recur(y, f"decoder_l{layer}_rnn"), x, f"decoder_l{layer}_context")
            y = self.run_feed_forward(y, f"decoder_l{layer}_ffn")
        bias = self.vectors["decoder_ff_logit_out_b"]
        return self.multiply(y, self.table(is_output=True), is_transposed=True) + bias

    def write(self, folder):
        """Writes the model file, and returns its name."""
        if self.given.weights == "fp32":
            text = np.frombuffer(self.options().encode() + b"\0", np.int8)
            np.savez(folder / "model.npz", **self.matrices, **self.vectors, **{"special:model.yml": text})
            return "model.npz"
        name = f"model.xxyy.intgemm{'8' if self.given.weights == 'int8' else '.alphas'}.bin"
        write_binary(folder / name, list(self.arrays()))
        return name


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def write_binary(path, arrays):
    """Writes a binary file of Marian."""
    header = struct.pack("<QQ", 1, len(arrays))
    for name, kind, shape, data in arrays:
        header += struct.pack("<QQQQ", len(name) + 1, TYPES[kind], len(shape), len(padded(data)))
    header += b"".join(name.encode() + b"\0" for name, *_ in arrays)
    header += b"".join(struct.pack(f"<{len(shape)}I", *shape) for _, _, shape, _ in arrays)
    gap = -(len(header) + 8) % ALIGNMENT
    with open(path, "wb") as file:
        file.write(header + struct.pack("<Q", gap) + bytes(gap))
        for *_, data in arrays:
            file.write(padded(data))


def words(count, side):
    """Returns different words of three syllables; those of the sides differ, unless they have one vocabulary."""
    syllables = [consonant + vowel for consonant in "bcdfghjklmnpqrstvwxz" for vowel in "aeiou"]
    ending = "" if side == 0 else "n"
    return [syllables[i // 10_000] + syllables[i // 100 % 100] + syllables[i % 100] + ending for i in range(count)]


def varint(number):
    encoded = b""
    while number > 127:
        encoded += bytes([number & 127 | 128])
        number >>= 7
    return encoded + bytes([number])


def field(number, value):
    """Returns a field of a protocol buffer: bytes, a float or a whole number."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value & (1 << 64) - 1)


def write_pieces(path, pieces):
    """Writes a SentencePiece model of unigrams: </s>, <unk>, and a piece for each word."""
    normal, unknown, control = 1, 2, 3
    model = field(1, field(1, b"</s>") + field(2, 0.0) + field(3, control))
    model += field(1, field(1, b"<unk>") + field(2, 0.0) + field(3, unknown))
    model += b"".join(field(1, field(1, ("\u2581" + piece).encode()) + field(2, -10.0) + field(3, normal))
                      for piece in pieces)
    trainer = (field(3, 1) + field(4, len(pieces) + 2) + field(40, UNKNOWN) + field(41, -1) + field(42, END)
               + field(43, -1))
    model += field(2, trainer) + field(3, field(1, b"identity"))
    path.write_bytes(model)


def checksum(data):
    total = 0
    for (number,) in struct.iter_unpack("<Q", data[:len(data) // 8 * 8]):
        total ^= (number + 0x9E3779B9 + (total << 6) + (total >> 2)) & (1 << 64) - 1
        total &= (1 << 64) - 1
    return total


def write_shortlist(path, vocabulary, random):
    """Writes BEST random tokens for each token of the input."""
    lists = np.sort(random.integers(FIRST, vocabulary, (vocabulary, BEST)).astype(np.uint32), axis=1)
    offsets = np.arange(vocabulary + 1, dtype=np.uint64) * np.uint64(BEST)
    body = struct.pack("<QQQQ", FIRST, BEST, len(offsets), lists.size) + offsets.tobytes() + lists.tobytes()
    path.write_bytes(struct.pack("<QQ", MAGIC, checksum(body)) + body)


def write_student(given):
    given.out.mkdir(parents=True)
    model = Student(given).write(given.out)
    names = ["srcvocab.xxyy.spm", "trgvocab.xxyy.spm"] if given.split else ["vocab.xxyy.spm"] * 2
    for side, name in enumerate(names):
        write_pieces(given.out / name, words(given.vocabulary - 2, side if given.split else 0))
    shortlist = "lex.50.50.xxyy.s2t.bin"
    random = np.random.default_rng(given.seed + 1)
    write_shortlist(given.out / shortlist, given.vocabulary, random)
    precision = {"fp32": "float32", "int8": "int8shiftAll", "int8-alphas": "int8shiftAlphaAll"}[given.weights]
    (given.out / "config.intgemm8bitalpha.yml").write_text(
        CONFIG.format(model=model, vocabularies=names, shortlist=shortlist, precision=precision), encoding="utf-8")
    texts = words(given.vocabulary - 2, 0)
    longest = given.longest or given.shortest
    with open(given.out / "input.txt", "w", encoding="utf-8") as file:
        for _ in range(given.lines):
            size = random.integers(given.shortest, longest + 1)
            file.write(" ".join(texts[i] for i in random.integers(0, len(texts), size)) + "\n")


def print_gaps(given):
    """Prints for each line of a file, `input TAB output TAB other output`, by how much the logits of the tokens differ
    at the first place where the outputs do."""
    student = Student(given)
    sources, targets = ({word: i + 2 for i, word in enumerate(words(given.vocabulary - 2, side))}
                        for side in (0, int(given.split)))
    for line in given.gaps.read_text(encoding="utf-8").splitlines():
        source, *outputs = ([*text.split()] for text in line.split("\t"))
        ours, others = ([*(targets[word] for word in output), END] for output in outputs)
        place = next(i for i, (a, b) in enumerate(zip(ours, others)) if a != b)
        logits = student.logits([*(sources[word] for word in source), END], ours[:place])[-1]
        print(abs(logits[ours[place]] - logits[others[place]]))


def parse_arguments(words_of_command=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a new folder")
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="tiny")
    parser.add_argument("--weights", choices=WEIGHTS, default="int8-alphas")
    parser.add_argument("--split", action="store_true", help="both sides have vocabularies of their own")
    parser.add_argument("--vocabulary", type=int, default=32_000, help="a multiple of 8")
    parser.add_argument("--end-bias", type=float, default=4.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--shortest", type=int, default=1, help="words of a line")
    parser.add_argument("--longest", type=int, default=8, help="0: as many as --shortest")
    parser.add_argument("--gaps", type=pathlib.Path,
                        help="make nothing, but compare two outputs for each line of this file")
    return parser.parse_args(words_of_command)


def main():
    given = parse_arguments()
    print_gaps(given) if given.gaps else write_student(given)


if __name__ == "__main__":
    main()
