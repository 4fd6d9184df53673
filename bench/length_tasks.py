# SPDX-License-Identifier: Apache-2.0
"""Tasks whose tests have longer sequences than their training: data for training, and sets of tests.

A task is a function of the options of bench/length_generalisation and of a folder for files. It returns the settings
that choose the training data, and the sets: {name: [(input, output), …]}, where input and output are lists of tokens.
Sets whose name begins with "choice" choose a recipe: their sequences are longer than those of training and shorter than
those of the goal. A token that begins with "_" is a mark: it helps to write an output, and is no part of the output.

Each set has its own random numbers, and its sequences are the same for all recipes and seeds. Apart from COGS, no
sequence of a set that is longer than the training data can be in the training data. `python3 bench/length_tasks.py`
checks the data of all tasks that need no files."""
import argparse
import collections
import itertools
import pathlib
import random
import tempfile

SEQUENCES = 200  # in each set of a length
PAIRS = 400000  # in each generated file of training pairs
LETTERS = [chr(ord("a") + i) for i in range(26)]
NUMBERS = [str(i) for i in range(1, 101)]


def without_marks(tokens):
    return [token for token in tokens if not token.startswith("_")]


def sets_of_lengths(make_pair, choice, lengths):
    """Draws SEQUENCES pairs for each length: sets for the choice, and sets for tests."""
    named = [(f"choice {length}", length) for length in choice] + [(str(length), length) for length in lengths]
    return {name: [make_pair(random.Random(f"{name} {i}"), length) for i in range(SEQUENCES)]
            for name, length in named}


def letter_settings(task, longest, most_tokens, symbols=None):
    """Returns settings for data that the program generates: up to `longest` letters, or `most_tokens` tokens."""
    settings = [f'data.task="{task}"', "data.end_input=true", f"data.train_size={PAIRS}", "data.valid_size=500",
                "data.test_size=0", f"data.length_mean={longest / 2}", f"data.length_deviation={longest * 0.4}",
                f"data.max_length={most_tokens}"]
    return settings + ([f"data.symbols={symbols}"] if symbols else [])


def write_pairs(path, pairs):
    """Writes a file unless it exists, so that a run that resumes has the file with which it began."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    with open(part, "w", encoding="utf-8") as file:
        for source, target in pairs:
            file.write(" ".join(source) + "\t" + " ".join(target) + "\n")
    part.replace(path)


def file_settings(train, valid, weights):
    names = ", ".join(f'"{path.resolve()}"' for path in train)
    return ['data.task="text"', f"data.train=[{names}]", f"data.weights={weights}", f'data.valid=["{valid.resolve()}"]',
            "data.end_input=true", "data.max_length=0", 'vocabulary.kind="words"']


def generated_settings(folder, name, makers, longest):
    """Writes PAIRS training pairs of lengths from 1 to `longest` by each function of `makers`, and validation pairs by
    the first one."""
    files = [folder / f"{name}-{i}.tsv" for i in range(len(makers))]
    for i, (file, make_pair) in enumerate(zip(files, makers)):
        draw = random.Random(f"train {i}")
        write_pairs(file, (make_pair(draw, draw.randint(1, longest)) for _ in range(PAIRS)))
    draw = random.Random("valid")
    valid = folder / f"{name}-valid.tsv"
    write_pairs(valid, [makers[0](draw, draw.randint(1, longest)) for _ in range(500)])
    return file_settings(files, valid, [1.0] * len(files))


# --- Copying and reversing: up to 40 letters in training

def copy_pair(draw, length):
    letters = draw.choices(LETTERS, k=length)
    return letters, letters


def reverse_pair(draw, length):
    letters = draw.choices(LETTERS, k=length)
    return letters, letters[::-1]


def copy(given, folder):
    return letter_settings("copy", 40, 40), sets_of_lengths(copy_pair, (60, 100, 200), (20, 40, 80, 400))


def reverse(given, folder):
    return letter_settings("reverse", 40, 40), sets_of_lengths(reverse_pair, (60, 100, 200), (20, 40, 80, 400))


# --- Sorting: up to 20 letters, or numbers from 1 to 100, in training

def sort_pair(symbols, draw, length):
    drawn = draw.choices(range(len(symbols)), k=length)
    return [symbols[i] for i in drawn], [symbols[i] for i in sorted(drawn)]


def draw_uneven(symbols, draw, length):
    """Draws from a random part of the symbols, more often from a small one: a short sequence then has as many equal
    symbols as a long one of the tests, in which each of 26 letters occurs four times among 100 on average."""
    size = draw.randint(1, draw.randint(1, len(symbols)))
    return draw.choices(draw.sample(range(len(symbols)), size), k=length)


def sort_uneven_pair(symbols, draw, length):
    drawn = draw_uneven(symbols, draw, length)
    return [symbols[i] for i in drawn], [symbols[i] for i in sorted(drawn)]


def successor_pair(symbols, draw, length):
    """Asks for the next larger symbol of a sequence, as many times as the sequence has it: the hint of Awasthi and
    Gupta (2023), "Improving length-generalization in Transformers via task hinting". A word of its own asks after each
    symbol, so that a model without positions can tell it from the sequence."""
    drawn = draw_uneven(symbols, draw, length)
    asked = draw.choice(drawn)
    later = [i for i in drawn if i > asked]
    answer = [symbols[i] for i in later if i == min(later)] or ["none"]
    return [f"after-{symbols[asked]}", *(symbols[i] for i in drawn)], answer


def sort_sets(symbols):
    return sets_of_lengths(lambda draw, length: sort_pair(symbols, draw, length), (30, 50, 80), (10, 20, 40, 60, 100))


def sort(given, folder):
    return letter_settings("sort", 20, 20), sort_sets(LETTERS)


def sorting_settings(folder, name, symbols, makers):
    bound = [lambda draw, length, make=make: make(symbols, draw, length) for make in makers]
    return generated_settings(folder, name, bound, longest=20), sort_sets(symbols)


def sort_uneven(given, folder):
    return sorting_settings(folder, "sort-uneven", LETTERS, [sort_uneven_pair])


def sort_hints(given, folder):
    return sorting_settings(folder, "sort-hints", LETTERS, [sort_uneven_pair, successor_pair])


def sort_numbers(given, folder):
    """Sorts numbers from 1 to 100, as in the paper of the hints."""
    return sorting_settings(folder, "sort-numbers", NUMBERS, [sort_uneven_pair, successor_pair])


# --- Addition: numbers of up to 20 digits in training

def draw_numbers(draw, length):
    """Returns two numbers, one of which has `length` digits, and their sum, the least significant digit first. The
    other number has as many digits in every other pair."""
    other = length if draw.randrange(2) else draw.randint(1, length)
    longer, shorter = draw.choices(range(10), k=length), draw.choices(range(10), k=other)
    total, carry = [], 0
    for a, b in itertools.zip_longest([*longer, 0], shorter, fillvalue=0):
        total.append((a + b + carry) % 10)
        carry = (a + b + carry) // 10
    return (longer, shorter) if draw.randrange(2) else (shorter, longer), total


def column_pair(draw, length):
    """The columns of data.task=addition: digits of one weight are one token."""
    numbers, total = draw_numbers(draw, length)
    columns = itertools.islice(itertools.zip_longest(*numbers, [0] * (length + 1), fillvalue=0), length + 1)
    return [f"{a}{b}" for a, b, _ in columns], list(map(str, total))


def addition(given, folder):
    return letter_settings("addition", 20, 21), sets_of_lengths(column_pair, (30, 50, 80), (10, 20, 40, 60, 100))


def hinted_pair(draw, length):
    """Digits one by one, each after a mark that the digits of one weight share (Zhou et al. 2024, "Transformers can
    achieve length generalization but not robustly"). The marks are a run of _0 … _127 with a random beginning."""
    (first, second), total = draw_numbers(draw, length)
    begin = draw.randrange(128 - length)

    def hinted(digits):
        return [token for i, digit in enumerate(digits) for token in (f"_{begin + i}", str(digit))]
    return [*hinted(first), "+", *hinted(second)], hinted(total)


def addition_hints(given, folder):
    return (generated_settings(folder, "addition-hints", [hinted_pair], longest=20),
            sets_of_lengths(hinted_pair, (30, 50, 80), (10, 20, 40, 60, 100)))


# --- SCAN (Lake and Baroni 2018, "Generalization without systematicity"), made from its grammar

def verb_phrases():
    """Returns for each command without repetitions and conjunctions its actions, and how often it repeats them."""
    phrases = {verb: ([f"I_{verb.upper()}"], 1) for verb in ("walk", "look", "run", "jump")}
    for verb, direction in itertools.product(("walk", "look", "run", "jump", "turn"), ("left", "right")):
        turn = [f"I_TURN_{direction.upper()}"]
        once = turn + ([f"I_{verb.upper()}"] if verb != "turn" else [])
        phrases[f"{verb} {direction}"] = once, 1
        phrases[f"{verb} opposite {direction}"] = turn + once, 1
        phrases[f"{verb} around {direction}"] = once, 4
    return phrases


def marked_actions(phrase, times, number):
    """Repeats a phrase. Each part has marks before it: which phrase of the command it belongs to, in the order of the
    actions, the number of the repetition, and the number of the quarter of a turn."""
    once, quarters = phrase
    return [token for repetition, quarter in itertools.product(range(times), range(quarters))
            for token in (f"_phrase{number}", f"_time{repetition + 1}", f"_quarter{quarter + 1}", *once)]


def scan_pairs():
    """Returns all 20 910 commands with their actions and marks, as words."""
    parts = {name + repeated: (phrase, times) for name, phrase in verb_phrases().items()
             for repeated, times in (("", 1), (" twice", 2), (" thrice", 3))}
    commands = {name: marked_actions(*part, 1) for name, part in parts.items()}
    for (a, first), (b, second) in itertools.product(parts.items(), parts.items()):
        commands[f"{a} and {b}"] = marked_actions(*first, 1) + marked_actions(*second, 2)
        commands[f"{a} after {b}"] = marked_actions(*second, 1) + marked_actions(*first, 2)
    return [(command.split(), actions) for command, actions in commands.items()]


def scan_task(given, folder, longest, has_marks):
    """A length split: training has all commands of up to `longest` actions with --final, and otherwise not the tenth of
    them that has most actions, by which a recipe is chosen."""
    pairs = [(command, actions if has_marks else without_marks(actions)) for command, actions in scan_pairs()]
    pairs.sort(key=lambda pair: (len(without_marks(pair[1])), pair[0]))
    short = [pair for pair in pairs if len(without_marks(pair[1])) <= longest]
    kept = len(short) - len(short) // 10
    name = f"scan-{longest}{'-marks' if has_marks else ''}"
    train, valid = folder / f"{name}{'-final' if given.final else ''}.tsv", folder / f"{name}-valid.tsv"
    write_pairs(train, short if given.final else short[:kept])
    write_pairs(valid, short[kept::4])
    return file_settings([train], valid, [1.0]), {"choice": short[kept:], "test": pairs[len(short):]}


def scan(given, folder):
    return scan_task(given, folder, 22, has_marks=False)


def scan_26(given, folder):
    return scan_task(given, folder, 26, has_marks=False)


def scan_marks(given, folder):
    return scan_task(given, folder, 22, has_marks=True)


# --- COGS (Kim and Linzen 2020)

def cogs(given, folder):
    """COGS in its variable-free form: the files train, dev, test and gen.tsv of the folder --cogs. It has no set for
    the choice: dev has sentences like those of training."""
    def read(name):
        text = (pathlib.Path(given.cogs) / f"{name}.tsv").read_text(encoding="utf-8")
        return [tuple(field.split() for field in line.split("\t")[:2]) for line in text.splitlines()]

    files = {name: folder / f"cogs-{name}.tsv" for name in ("train", "dev")}
    for name, path in files.items():
        write_pairs(path, read(name))
    return file_settings([files["train"]], files["dev"], [1.0]), {name: read(name) for name in ("dev", "test", "gen")}


TASKS = {"reverse": reverse, "addition": addition, "sort-uneven": sort_uneven, "scan-marks": scan_marks,
         "sort-hints": sort_hints, "addition-hints": addition_hints, "scan-26": scan_26, "sort-numbers": sort_numbers,
         "sort": sort, "scan": scan, "cogs": cogs, "copy": copy}


# --- Checks

def number_of(digits):
    return int("".join(digits)[::-1])


def add_columns(source):
    return number_of(column[0] for column in source) + number_of(column[1] for column in source)


def add_hinted(source):
    plus = source.index("+")
    return number_of(without_marks(source[:plus])) + number_of(without_marks(source[plus + 1:]))


def check_pair(task, source, target):
    """Computes the output of a pair in another way."""
    if task in ("copy", "reverse"):
        assert target == (source if task == "copy" else source[::-1])
    elif task.startswith("sort") and source[0].startswith("after-"):
        assert target == ["none"] or collections.Counter(source[1:])[target[0]] == len(target)
    elif task.startswith("sort"):
        assert collections.Counter(target) == collections.Counter(source)
        assert target == sorted(target, key=(NUMBERS if task == "sort-numbers" else LETTERS).index)
    elif task.startswith("addition"):
        total = add_columns(source) if task == "addition" else add_hinted(source)
        assert number_of(without_marks(target)) == total


def read_training(settings):
    files = next((setting for setting in settings if setting.startswith("data.train=")), 'data.train=[]')
    lines = [line for path in files.split('"')[1::2] for line in pathlib.Path(path).read_text().splitlines()]
    return [tuple(side.split() for side in line.split("\t")) for line in lines]


def check_tasks():
    """Finds wrong outputs, and long sequences that are in the training data, too."""
    global PAIRS
    PAIRS = 300
    with tempfile.TemporaryDirectory() as folder:
        for name, is_final in [*((name, False) for name in TASKS if name != "cogs"), ("scan", True)]:
            settings, sets = TASKS[name](argparse.Namespace(final=is_final, cogs=None), pathlib.Path(folder))
            training = read_training(settings)
            for source, target in itertools.chain(training, *sets.values()):
                check_pair(name, source, target)
            trained = {tuple(source) for source, _ in training}
            tests = [source for key, pairs in sets.items() for source, _ in pairs
                     if key == "test" or (key.split()[-1].isdigit() and int(key.split()[-1]) > 20)]
            assert trained.isdisjoint(map(tuple, tests)), name
            if is_final:
                assert (len(training), len(tests)) == (16990, 3920)  # as published


if __name__ == "__main__":
    check_tasks()
