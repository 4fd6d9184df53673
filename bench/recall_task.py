# SPDX-License-Identifier: Apache-2.0
"""A task that needs the reach of attention: recalling a letter from many tokens ago.

A text is dots, a letter, `reach` more dots, a question mark, and the letter again. The model sees the question mark and
writes the next token."""
import json
import random
import string
import subprocess

RELATIONS = {  # model.relation of the first and the second layer, and the steps of training: one text a step
    "a window in both layers": ([["window 256"], ["window 256"]], 1500),
    "a window, then every 256th token": ([["window 256"], ["global every 256"]], 1500),
    "all earlier tokens": ([["causal"], ["causal"]], 500),
}
MOST_DOTS_BEFORE = 64
QUESTIONS = 100
CONFIG = """
[data]
train = [{texts}]
document_separator = "---"

[vocabulary]
kind = "characters"

[batch]
length = {length}
tokens = {length}

[model]
kind = "language_model"
relation = {relation}
decoder_layers = 2
size = 64
heads = 2
feed_forward = 128
positions = "none"
dropout.embedding = 0.0
dropout.residual = 0.0
dropout.activation = 0.0

[train]
epochs = 0
steps = {steps}
schedule = "constant"
learning_rate = 0.003
warmup = 20
seed = {seed}
log_every = 20
save_every = 50
"""


def make_text(draw, reach):
    """Returns a text up to its question mark, and the answer."""
    letter = draw.choice(string.ascii_lowercase)
    return "." * draw.randrange(MOST_DOTS_BEFORE) + letter + "." * reach + "?", letter


def make_config(name, folder, reach, seed):
    """Writes the texts and the config of a relation to a folder, and returns the path of the config."""
    layers, steps = RELATIONS[name]
    draw = random.Random(f"texts {seed}")
    texts = ["".join(make_text(draw, reach)) for _ in range(steps)]
    (folder / "train.txt").write_text("\n---\n".join(texts) + "\n", encoding="utf-8")
    config = folder / "recall.toml"
    config.write_text(CONFIG.format(texts=json.dumps(str(folder.resolve() / "train.txt")), relation=json.dumps(layers),
                                    length=reach + MOST_DOTS_BEFORE + 16, steps=steps, seed=seed), encoding="utf-8")
    return config


def count_right(program, folder, reach, seed):
    """Returns how many of QUESTIONS the model FOLDER/run answers with its likeliest token."""
    draw = random.Random(f"questions {seed}")
    questions = [make_text(draw, reach) for _ in range(QUESTIONS)]
    prompts = folder / "questions.txt"
    prompts.write_text("".join(f"{text}\n" for text, _ in questions), encoding="utf-8")
    done = subprocess.run([program, "generate", "--model", folder / "run", "--lines", prompts, "--json", "--temperature",
                           "0", "--max-tokens", "1", "--threads", "2"], stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    return sum(answer == letter for answer, (_, letter) in zip(answers, questions, strict=True))
