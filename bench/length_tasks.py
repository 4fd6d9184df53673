# SPDX-License-Identifier: Apache-2.0
"""Tasks whose tests have longer sequences than their training: data for training, and sets of tests.

A task is a function of the options of bench/length_generalisation and of a folder for files. It returns the settings
that choose the training data, and the sets: {name: [(input, output), …]}, where input and output are lists of tokens.
The set "choice" is for choosing a recipe: it is a little longer than the training data, and shorter than the tests."""
import itertools
import pathlib
import random

SEQUENCES = 200  # in each set of a length


def sets_of_lengths(make_pair, choice, lengths):
    """Draws SEQUENCES pairs for each length. The sets of a task are the same for all recipes and seeds."""
    return {name: [make_pair(random.Random(f"{name} {i}"), length) for i in range(SEQUENCES)]
            for name, length in [("choice", choice), *((str(length), length) for length in lengths)]}


def letter_settings(task, longest, symbols=None):
    settings = [f'data.task="{task}"', "data.end_input=true", "data.train_size=200000", "data.valid_size=500",
                "data.test_size=0", f"data.length_mean={longest / 2}", f"data.length_deviation={longest * 0.4}",
                f"data.max_length={longest + 1}"]
    return settings + ([f"data.symbols={symbols}"] if symbols else [])


def draw_letters(draw, length):
    return [chr(ord("a") + draw.randrange(26)) for _ in range(length)]


def copy(given, folder):
    def pair(draw, length):
        letters = draw_letters(draw, length)
        return letters, letters
    return letter_settings("copy", 40), sets_of_lengths(pair, 60, (20, 40, 80, 120, 200, 400))


def reverse(given, folder):
    def pair(draw, length):
        letters = draw_letters(draw, length)
        return letters, letters[::-1]
    return letter_settings("reverse", 40), sets_of_lengths(pair, 60, (20, 40, 80, 120, 200, 400))


def draw_sort(draw, length):
    letters = draw_letters(draw, length)
    return letters, sorted(letters)


def sort(given, folder):
    return letter_settings("sort", 20), sets_of_lengths(draw_sort, 30, (10, 20, 40, 60, 100))


def draw_successor(draw, length):
    """Asks for the next letter of the sorted sequence, as many times as the sequence has it: the hint of Awasthi and
    Gupta (2023), "Improving length-generalization in Transformers via task hinting"."""
    letters = draw_letters(draw, length)
    asked = draw.choice(letters)
    later = [letter for letter in letters if letter > asked]
    return ["next", asked, *letters], [letter for letter in later if letter == min(later)] or ["none"]


def write_pairs(path, pairs):
    with open(path, "w", encoding="utf-8") as file:
        for source, target in pairs:
            file.write(" ".join(source) + "\t" + " ".join(target) + "\n")


def file_settings(train, valid, weights):
    names = ", ".join(f'"{path.resolve()}"' for path in train)
    return ['data.task="text"', f"data.train=[{names}]", f"data.weights={weights}", f'data.valid=["{valid.resolve()}"]',
            "data.end_input=true", "data.max_length=0", 'vocabulary.kind="words"']


def sort_with_hints(given, folder):
    """Sorting with half of the training pairs by draw_successor. A word before the letters names the task."""
    def pair(draw, length):
        letters, ordered = draw_sort(draw, length)
        return ["sort", *letters], ordered

    draw = random.Random(1)
    files = {name: folder / f"sort-{name}.tsv" for name in ("pairs", "hints", "valid")}
    write_pairs(files["pairs"], (pair(draw, draw.randint(1, 20)) for _ in range(200000)))
    write_pairs(files["hints"], (draw_successor(draw, draw.randint(1, 20)) for _ in range(200000)))
    write_pairs(files["valid"], (pair(draw, draw.randint(1, 20)) for _ in range(500)))
    return (file_settings([files["pairs"], files["hints"]], files["valid"], [1.0, 1.0]),
            sets_of_lengths(pair, 30, (10, 20, 40, 60, 100)))


def draw_numbers(draw, length):
    """Returns two numbers, one of which has `length` digits, and their sum, the least significant digit first."""
    digits = [draw.randrange(10) for _ in range(length)], [draw.randrange(10) for _ in range(draw.randint(1, length))]
    longer, shorter = digits
    total, carry = [], 0
    for i in range(length + 1):
        value = carry + (longer[i] if i < length else 0) + (shorter[i] if i < len(shorter) else 0)
        total.append(value % 10)
        carry = value // 10
    return (longer, shorter) if draw.randrange(2) else (shorter, longer), total


def addition(given, folder):
    """The columns of data.task=addition."""
    def pair(draw, length):
        (first, second), total = draw_numbers(draw, length)
        columns = itertools.zip_longest(first + [0] * (length + 1 - len(first)), second, fillvalue=0)
        return [f"{a}{b}" for a, b in columns], list(map(str, total))
    return letter_settings("addition", 20), sets_of_lengths(pair, 30, (10, 20, 40, 60, 100))


def addition_with_hints(given, folder):
    """Digits one by one, each after a hint that the digits of one weight share (Zhou et al. 2024, "Transformers can
    achieve length generalization but not robustly"). The hints are a run of h0 … h127 with a random beginning."""
    def pair(draw, length):
        (first, second), total = draw_numbers(draw, length)
        begin = draw.randrange(128 - length)

        def hinted(digits):
            return [token for i, digit in enumerate(digits) for token in (f"h{begin + i}", str(digit))]
        return hinted(first) + ["+"] + hinted(second), hinted(total)

    draw = random.Random(1)
    files = {name: folder / f"addition-{name}.tsv" for name in ("pairs", "valid")}
    write_pairs(files["pairs"], (pair(draw, draw.randint(1, 20)) for _ in range(200000)))
    write_pairs(files["valid"], (pair(draw, draw.randint(1, 20)) for _ in range(500)))
    return (file_settings([files["pairs"]], files["valid"], [1.0]),
            sets_of_lengths(pair, 30, (10, 20, 40, 60, 100)))


# --- SCAN (Lake and Baroni 2018, "Generalization without systematicity"), made from its grammar

def simple_actions(verb, direction):
    turn = [f"I_TURN_{direction.upper()}"] if direction else []
    return turn + ([f"I_{verb.upper()}"] if verb != "turn" else [])


def verb_phrases():
    """Returns the commands without repetitions and conjunctions, and their actions."""
    phrases = {verb: simple_actions(verb, "") for verb in ("walk", "look", "run", "jump")}
    for verb, direction in itertools.product(("walk", "look", "run", "jump", "turn"), ("left", "right")):
        once = simple_actions(verb, direction)
        phrases[f"{verb} {direction}"] = once
        phrases[f"{verb} opposite {direction}"] = simple_actions("turn", direction) + once
        phrases[f"{verb} around {direction}"] = 4 * once
    return phrases


def scan_pairs():
    """Returns all 20 910 commands with their actions, as words."""
    parts = {phrase + repeated: times * actions for phrase, actions in verb_phrases().items()
             for repeated, times in (("", 1), (" twice", 2), (" thrice", 3))}
    commands = dict(parts)
    for first, second in itertools.product(parts, parts):
        commands[f"{first} and {second}"] = parts[first] + parts[second]
        commands[f"{first} after {second}"] = parts[second] + parts[first]
    return [(command.split(), actions) for command, actions in commands.items()]


def scan(given, folder, longest=22):
    """The length split: training has all commands of up to `longest` actions with --final, and otherwise not the tenth
    of them that has most actions, by which a recipe is chosen."""
    pairs = sorted(scan_pairs(), key=lambda pair: (len(pair[1]), pair[0]))
    short = [pair for pair in pairs if len(pair[1]) <= longest]
    long = pairs[len(short):]
    kept = len(short) - len(short) // 10
    files = {name: folder / f"scan-{longest}-{name}.tsv" for name in ("train", "valid")}
    write_pairs(files["train"], short if given.final else short[:kept])
    write_pairs(files["valid"], short[kept::4])
    return file_settings([files["train"]], files["valid"], [1.0]), {"choice": short[kept:], "test": long}


def scan_26(given, folder):
    return scan(given, folder, longest=26)


def cogs(given, folder):
    """COGS in its variable-free form: the files train, dev, test and gen.tsv of the folder --cogs."""
    def read(name):
        text = (pathlib.Path(given.cogs) / f"{name}.tsv").read_text(encoding="utf-8")
        return [tuple(field.split() for field in line.split("\t")[:2]) for line in text.splitlines()]

    files = {name: folder / f"cogs-{name}.tsv" for name in ("train", "dev")}
    for name, path in files.items():
        write_pairs(path, read(name))
    return file_settings([files["train"]], files["dev"], [1.0]), {"choice": read("dev"), "test": read("test"),
                                                                  "gen": read("gen")}


TASKS = {"copy": copy, "reverse": reverse, "sort": sort, "sort-hints": sort_with_hints, "addition": addition,
         "addition-hints": addition_with_hints, "scan": scan, "scan-26": scan_26, "cogs": cogs}
