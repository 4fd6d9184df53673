#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a student of Marian with random weights, in the files of Firefox and Bergamot, and inputs for it.

    random_student.py --out FOLDER [--architecture tiny] [--weights int8-alphas] [--split] [--seed 1] [--lines 1000]
    (needs: pip install numpy)

The folder gets model.xxyy.intgemm.alphas.bin, model.xxyy.intgemm8.bin or model.npz, vocab.xxyy.spm, or
srcvocab.xxyy.spm and trgvocab.xxyy.spm, lex.50.50.xxyy.s2t.bin, config.intgemm8bitalpha.yml and input.txt. The
architectures are those of Firefox's models. Each word of the vocabulary is one piece, so that the words of a text are
its tokens. `--end-bias` is added to the logits of the end token; with -10000, each output has the greatest length.
edgewise/convert/marian_binary.h and edgewise/search/shortlist.h describe the files.

Random weights alone have flat distributions, in which the rounding of a single number decides between two tokens. So
each word has a partner, which is mostly its translation: the vectors of both are equal but for an exchange of columns.
Cross-attention finds the input word at the place of the output word by some columns that have positions alone, and
exchanges the columns of its vector. All other weights are random, and add numbers to the vector that are as large as it
is. So the tokens of outputs are those with the highest logits by far, every weight has an effect on them, and an output
ends by itself. The multipliers of inputs are measured, as Marian's tools do."""
import argparse
import json
import pathlib
import struct

import numpy as np

ARCHITECTURES = {  # size, feed-forward, decoder layers
    "tiny": (256, 1536, 2),
    "base-memory": (384, 1536, 4),
    "base": (512, 2048, 2),
}
WEIGHTS = ["fp32", "int8", "int8-alphas", "npz-alphas"]
HEADS, ENCODER_LAYERS = 8, 6
TYPES = {"int8": 0x0101, "float32": 0x0404, "intgemm8": 0x4101}
ALIGNMENT = 256
MAGIC = 0xF11A48D5013417F5
FIRST = BEST = 50  # of the shortlist
DISTURBANCES = 6  # of a comparison of outputs
END, UNKNOWN = 0, 1
NEVER = -10_000.0

SUBLAYER = 0.02  # size of what a random sublayer adds, compared with its input and divided by the root of the size
PARTNER = 1.5  # size of the partner's vector that cross-attention adds
ROUNDING = 1e-6  # of a number in fp32 after several operations
QUIET = 0.01  # what others add to the columns of positions
LOUD_INPUT, LOUD_OUTPUT = 7.0, 4.0  # positions in cross-attention: rounding to 8 bits is small beside them
PLACE_SCORE = 40  # of the input word at the place of the output word, in cross-attention; those of others are near 0
PLACES, SAMPLES, RIDGE = 9, 60, 3e-3  # of the regression that finds the places
PEAK = 2.5  # of the last norm, which makes the distributions of outputs peaked

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
        self.matrices, self.vectors, self.largest, self.rounded = {}, {}, {}, {}
        self.sublayer = SUBLAYER * np.sqrt(self.size)
        pairs, half = self.size // HEADS // 2, self.size // 2
        self.places = np.concatenate([np.arange(pairs), half + np.arange(pairs)])  # columns of positions
        content = np.setdiff1d(np.arange(self.size), self.places)
        self.exchanged = np.arange(self.size)
        self.exchanged[content] = np.roll(content, len(content) // 2)
        self.has_alphas = given.weights.endswith("alphas")
        self.disturbance, self.is_measured, self.is_rounded = None, False, False
        self.add_all()
        self.find_places()
        if self.has_alphas:
            self.measure_inputs()
        self.is_rounded = given.weights != "fp32"

    def draw(self, rows, columns, scale):
        return self.random.standard_normal((rows, columns)) * scale / np.sqrt(rows)

    def add_matrix(self, name, matrix):
        self.matrices[name] = matrix.astype(np.float32)

    def add_sum(self, name, rows, scale):
        """Adds the last matrix of a sublayer, whose result is added to the sublayer's input."""
        matrix = self.draw(rows, self.size, scale)
        matrix[:, self.places] *= QUIET
        self.add_matrix(name, matrix - matrix.mean(axis=0) if name.endswith("_W2") else matrix)

    def add_vector(self, name, size, centre=0.0):
        self.vectors[name] = (centre + 0.1 * self.random.standard_normal((1, size))).astype(np.float32)

    def add_state_vector(self, name, centre=0.0):
        self.add_vector(name, self.size)
        self.vectors[name][0, self.places] *= QUIET
        self.vectors[name] += np.float32(centre)

    def add_norm(self, prefix):
        self.add_state_vector(f"{prefix}_ln_scale", 1.0)
        self.add_state_vector(f"{prefix}_ln_bias")

    def add_attention(self, prefix):
        for part in "qkv":
            self.add_matrix(f"{prefix}_W{part}", self.draw(self.size, self.size, 1.0))
            self.add_vector(f"{prefix}_b{part}", self.size)
        self.add_sum(f"{prefix}_Wo", self.size, self.sublayer)
        self.add_state_vector(f"{prefix}_bo")
        self.add_norm(f"{prefix}_Wo")

    def add_cross_attention(self, prefix):
        self.add_attention(prefix)
        rotation = np.linalg.qr(self.random.standard_normal((self.size, self.size)))[0]
        self.add_matrix(f"{prefix}_Wv", rotation)
        partner = PARTNER * rotation.T[:, self.exchanged]
        partner[:, self.places] = 0
        self.matrices[f"{prefix}_Wo"] += partner.astype(np.float32)
        self.vectors[f"{prefix}_Wo_ln_scale"][0, self.places] *= np.float32(np.sqrt(1 + PARTNER ** 2) / LOUD_OUTPUT)

    def add_feed_forward(self, prefix):
        self.add_matrix(f"{prefix}_W1", self.draw(self.size, self.feed_forward, 1.0))
        self.add_vector(f"{prefix}_b1", self.feed_forward)
        self.add_sum(f"{prefix}_W2", self.feed_forward, 1.4 * self.sublayer)  # ReLU halves the squares
        self.add_state_vector(f"{prefix}_b2")
        self.add_norm(f"{prefix}_ffn")

    def add_tables(self):
        """Adds the vectors of tokens. The partner of token i is the token with the number i ^ 1."""
        table = self.random.standard_normal((self.given.vocabulary, self.size)) / np.sqrt(self.size)
        table -= 0.5 / np.sqrt(self.size)  # the cosines of low frequencies are 1, and the mean of inputs shall be 0
        table[:, self.places] *= QUIET
        table[END] = (table[END] + table[END, self.exchanged]) / np.sqrt(2)
        tokens = np.arange(self.given.vocabulary)
        others = table[np.where(tokens < 2, tokens, tokens ^ 1)][:, self.exchanged]
        if self.given.split:
            self.add_matrix("encoder_Wemb", table)
            self.add_matrix("decoder_Wemb", others)
        else:
            self.add_matrix("Wemb", np.where((tokens % 2 == 1)[:, None], others, table))

    def add_all(self):
        self.add_tables()
        self.add_vector("decoder_ff_logit_out_b", self.given.vocabulary)
        self.vectors["decoder_ff_logit_out_b"][0, END] += self.given.end_bias
        self.vectors["decoder_ff_logit_out_b"][0, UNKNOWN] = NEVER
        for layer in range(1, ENCODER_LAYERS + 1):
            self.add_attention(f"encoder_l{layer}_self")
            self.add_feed_forward(f"encoder_l{layer}_ffn")
        self.vectors[f"encoder_l{ENCODER_LAYERS}_ffn_ffn_ln_scale"][0, self.places] *= np.float32(LOUD_INPUT)
        for layer in range(1, self.decoder_layers + 1):
            prefix = f"decoder_l{layer}_rnn"
            self.add_sum(f"{prefix}_W", self.size, 1.0)
            self.add_matrix(f"{prefix}_Wf", self.draw(self.size, self.size, 1.0))
            self.add_vector(f"{prefix}_bf", self.size)
            self.add_norm(f"{prefix}_ffn")
            self.vectors[f"{prefix}_ffn_ln_scale"][0, self.places] *= np.float32(LOUD_OUTPUT)
            self.add_cross_attention(f"decoder_l{layer}_context")
            self.add_feed_forward(f"decoder_l{layer}_ffn")
        self.vectors[f"decoder_l{self.decoder_layers}_ffn_ffn_ln_scale"] *= np.float32(PEAK)

    def fit_places(self, prefix, part, states, codes):
        """Makes a projection of states, [PLACES, size] of each sentence, give the codes of their places."""
        rows = [np.hstack([state[:, self.places], np.ones((PLACES, 1))]) for state in states]
        squares, products = sum(x.T @ x for x in rows), sum(x.T @ codes for x in rows)
        fitted = np.linalg.solve(squares + RIDGE * len(rows) * np.eye(len(squares)), products)
        matrix = self.draw(self.size, self.size, 0.15)
        matrix[self.places] = fitted[:-1]
        self.add_matrix(f"{prefix}_W{part}", matrix)
        self.vectors[f"{prefix}_b{part}"] = fitted[-1:].astype(np.float32)

    def find_places(self):
        """Makes each head of cross-attention find the input word at the place of the output word."""
        sources = self.random.integers(2, self.given.vocabulary, (SAMPLES, PLACES - 1))
        encoded = [self.encode([*source, END]) for source in sources]
        states = [self.embed([-1, *(source ^ 1)], is_output=True) for source in sources]
        head_size = self.size // HEADS
        for layer in range(1, self.decoder_layers + 1):
            context = f"decoder_l{layer}_context"
            states = [self.recur(y, f"decoder_l{layer}_rnn") for y in states]
            codes = np.hstack([np.linalg.qr(self.random.standard_normal((head_size, PLACES)))[0].T
                               for _ in range(HEADS)]) * np.sqrt(PLACE_SCORE * np.sqrt(head_size))
            self.fit_places(context, "q", states, codes)
            self.fit_places(context, "k", encoded, codes)
            states = [self.run_feed_forward(self.attend(y, x, context), f"decoder_l{layer}_ffn")
                      for y, x in zip(states, encoded)]

    def measure_inputs(self):
        """Sets the largest magnitudes of the inputs of products."""
        self.is_measured = True
        for _ in range(4):
            source = self.random.integers(2, self.given.vocabulary, PLACES - 1)
            self.logits([*source, END], source ^ 1)
        self.is_measured = False

    def options(self):
        return OPTIONS.format(size=self.size, feed_forward=self.feed_forward, heads=HEADS,
                              encoder_layers=ENCODER_LAYERS, decoder_layers=self.decoder_layers,
                              vocabulary=self.given.vocabulary, is_split=str(self.given.split).lower(),
                              is_shared=str(not self.given.split).lower())

    def alphas(self):
        """Returns the arrays of multipliers: a shared table's is there twice, once with the name of no matrix."""
        arrays = []
        for name in self.largest:
            alpha = self.alpha(name)
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
            integers, multiplier = self.round(name)
            integers = integers.astype(np.int8)
            order = integers if name.endswith("Wemb") else np.ascontiguousarray(integers.T)
            yield name, "intgemm8", matrix.shape, order.tobytes() + struct.pack("<f", multiplier)
        if self.has_alphas:
            yield from self.alphas()
        text = self.options().encode() + b"\0"
        yield "special:model.yml", "int8", (len(text),), text

    def table(self, is_output):
        return "Wemb" if not self.given.split else "decoder_Wemb" if is_output else "encoder_Wemb"

    def round(self, name):
        """Returns the integers of a matrix, as floats, and their multiplier."""
        if name not in self.rounded:
            matrix = self.matrices[name]
            largest = 127 if name.endswith("Wemb") else self.given.integers
            multiplier = np.float32(largest) / np.abs(matrix).max()
            self.rounded[name] = np.rint(matrix * multiplier), multiplier
        return self.rounded[name]

    def alpha(self, name):
        return np.float32(round(127 / float(self.largest[name]), 1))  # rounded: sums of floats differ among machines

    def multiply(self, x, name, is_transposed=False):
        """Returns x · matrix, in integers of 8 bits unless the weights are floats."""
        if self.is_measured:
            self.largest[name] = max(self.largest.get(name, 0), np.abs(x).max())
        if self.disturbance:
            x = x * (1 + ROUNDING * self.disturbance.standard_normal(x.shape).astype(np.float32))
        if not self.is_rounded:
            return x @ (self.matrices[name].T if is_transposed else self.matrices[name])
        integers, multiplier = self.round(name)
        alpha = self.alpha(name) if self.has_alphas else np.float32(127) / np.abs(x).max(axis=1, keepdims=True)
        rounded = np.clip(np.rint(x * alpha), -127, 127)
        return (rounded @ (integers.T if is_transposed else integers)) / (alpha * multiplier)

    def linear(self, x, prefix, part):
        return self.multiply(x, f"{prefix}_W{part}") + self.vectors.get(f"{prefix}_b{part}", np.float32(0))

    def add_and_norm(self, x, y, prefix):
        total = x + y
        centred = total - total.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-6))
        return centred / deviation * self.vectors[f"{prefix}_ln_scale"] + self.vectors[f"{prefix}_ln_bias"]

    def embed(self, tokens, is_output):
        """Returns the vectors of tokens with their positions; that of a negative token is zero."""
        half, numbers = self.size // 2, np.maximum(tokens, 0)
        if self.is_rounded:
            integers, multiplier = self.round(self.table(is_output))
            vectors = integers[numbers] / multiplier
        else:
            vectors = self.matrices[self.table(is_output)][numbers]
        vectors = np.where(np.array(tokens)[:, None] < 0, 0, vectors)
        angles = np.arange(len(tokens))[:, None] * np.exp(-np.log(10_000) * np.arange(half) / (half - 1))
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

    def encode(self, source):
        x = self.embed(source, is_output=False)
        for layer in range(1, ENCODER_LAYERS + 1):
            x = self.run_feed_forward(self.attend(x, x, f"encoder_l{layer}_self"), f"encoder_l{layer}_ffn")
        return x

    def logits(self, source, output):
        """Returns the logits of the first token after each beginning of `output`; `source` ends with END."""
        x, y = self.encode(source), self.embed([-1, *output], is_output=True)
        for layer in range(1, self.decoder_layers + 1):
            y = self.attend(self.recur(y, f"decoder_l{layer}_rnn"), x, f"decoder_l{layer}_context")
            y = self.run_feed_forward(y, f"decoder_l{layer}_ffn")
        bias = self.vectors["decoder_ff_logit_out_b"]
        return self.multiply(y, self.table(is_output=True), is_transposed=True) + bias

    def log_probabilities(self, source, output):
        """Returns the log-probabilities of all tokens at each place of an output that ends with END."""
        logits = self.logits(source, output[:-1]).astype(np.float64)
        largest = logits.max(axis=1, keepdims=True)
        return logits - largest - np.log(np.exp(logits - largest).sum(axis=1, keepdims=True))

    def write(self, folder):
        """Writes the model file, and returns its name."""
        if self.given.weights in ("fp32", "npz-alphas"):
            text = np.frombuffer(self.options().encode() + b"\0", np.int8)
            alphas = {f"{name}_QuantMultA": np.array([self.alpha(name)]) for name in self.largest}
            np.savez(folder / "model.npz", **self.matrices, **self.vectors, **alphas, **{"special:model.yml": text})
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
    """Writes the partner and BEST - 1 random tokens for each token of the input."""
    lists = random.integers(FIRST, vocabulary, (vocabulary, BEST)).astype(np.uint32)
    lists[2:, 0] = np.arange(2, vocabulary) ^ 1
    lists.sort(axis=1)
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
    precision = {"fp32": "float32", "int8": "int8shiftAll"}.get(given.weights, "int8shiftAlphaAll")
    (given.out / "config.intgemm8bitalpha.yml").write_text(
        CONFIG.format(model=model, vocabularies=names, shortlist=shortlist, precision=precision), encoding="utf-8")
    texts = words(given.vocabulary - 2, 0)
    longest = given.longest or given.shortest
    with open(given.out / "input.txt", "w", encoding="utf-8") as file:
        for _ in range(given.lines):
            size = random.integers(given.shortest, longest + 1)
            file.write(" ".join(texts[i] for i in random.integers(0, len(texts), size)) + "\n")


def read_cases(given, path):
    """Yields the tokens of an input and of each output, with their end tokens, for each line, `input TAB output…`."""
    sides = [{word: i + 2 for i, word in enumerate(words(given.vocabulary - 2, side))}
             for side in (0, int(given.split))]
    for line in path.read_text(encoding="utf-8").splitlines():
        texts = line.split("\t")
        yield [[*(sides[int(i > 0)][word] for word in text.split()), END] for i, text in enumerate(texts)]


def score_tokens(student, source, output):
    table = student.log_probabilities(source, output)
    return table[np.arange(len(output)), output]


def print_scores(given):
    """Prints the log-probability of the output of each line, `input TAB output`, and the number of its tokens."""
    student = Student(given)
    for source, output in read_cases(given, given.score):
        print(json.dumps({"score": float(score_tokens(student, source, output).sum()), "tokens": len(output)}))


def print_ties(given):
    """Prints how the outputs of each line, `input TAB output TAB other output`, compare. `place` is the number of equal
    tokens before the first different ones, and `gap` the difference of their log-probabilities; `score_gap` is that of
    the mean log-probabilities of both outputs. Numbers are rounded as the weights require, but those of `fp32_gap` and
    `fp32_score_gap` are not. `spread` and `score_spread` are the largest changes of both gaps if the inputs of all
    products change by about 1e-6 of their size, as with another order of sums."""
    student = Student(given)
    for source, *outputs in read_cases(given, given.ties):
        place = next(i for i, (a, b) in enumerate(zip(*outputs)) if a != b)

        def gaps():
            ours, others = (score_tokens(student, source, output) for output in outputs)
            return np.array([ours[place] - others[place], ours.mean() - others.mean()])

        gap = gaps()
        spread = np.zeros(2)
        for seed in range(DISTURBANCES):
            student.disturbance = np.random.default_rng(seed)
            spread = np.maximum(spread, np.abs(gaps() - gap))
        student.disturbance, student.is_rounded = None, False
        fp32_gap = gaps()
        student.is_rounded = True
        names = ["gap", "score_gap", "spread", "score_spread", "fp32_gap", "fp32_score_gap"]
        numbers = map(float, (*gap, *spread, *fp32_gap))
        print(json.dumps({"place": place, **dict(zip(names, numbers))}), flush=True)


def parse_arguments(words_of_command=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a new folder")
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="tiny")
    parser.add_argument("--weights", choices=WEIGHTS, default="int8-alphas")
    parser.add_argument("--split", action="store_true", help="both sides have vocabularies of their own")
    parser.add_argument("--integers", type=int, default=64,
                        help="largest magnitude of the integers of 8 bits, except for those of tables: intgemm adds "
                        "pairs of products in 16 bits on processors without VNNI, where sums above 64 may overflow")
    parser.add_argument("--vocabulary", type=int, default=32_000, help="a multiple of 8")
    parser.add_argument("--end-bias", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--shortest", type=int, default=1, help="words of a line")
    parser.add_argument("--longest", type=int, default=8, help="0: as many as --shortest")
    parser.add_argument("--ties", type=pathlib.Path,
                        help="make nothing, but compare two outputs for each line of this file")
    parser.add_argument("--score", type=pathlib.Path,
                        help="make nothing, but print the log-probability of an output for each line of this file")
    return parser.parse_args(words_of_command)


def main():
    given = parse_arguments()
    print_ties(given) if given.ties else print_scores(given) if given.score else write_student(given)


if __name__ == "__main__":
    main()
