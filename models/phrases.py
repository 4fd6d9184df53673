# SPDX-License-Identifier: Apache-2.0
"""Finds the translations of words and short phrases in sentence pairs.

IBM model 1 (Brown et al. 1993) aligns the words; pairs of phrases are those that the alignment is consistent with (Koehn,
Och and Marcu 2003). Of the translations of a phrase, the most frequent one is kept, if it is frequent enough."""
import collections
import re

ITERATIONS = 4
MOST_WORDS = 12                 # of a sentence
MOST_INPUT, MOST_OUTPUT = 4, 5  # words of a phrase
LEAST_COUNT = {1: 4, 2: 4, 3: 4, 4: 5}  # by the words of the input
LEAST_SHARE, LEAST_REVERSE = {1: 0.2}, {1: 0.15}  # p(output | input) and p(input | output), by the words of the input
SHARE, REVERSE = 0.4, 0.25                        # for phrases of several words
# The elided words of French are words of their own; English contractions are one word.
WORD = re.compile(r"\b(?:[ldjnscmt]|(?:jus|lors|puis)?qu)'(?=\w)|[^\W_]+(?:['-][^\W_]+)*", re.IGNORECASE)
# Words at whose end no phrase stops.
OPEN = set("""a an the of to in on at for with from by and or but that than as is are was were be been have has had do does
did will would can could should must may might my your his her its our their this these those i you he she it we they not
no very so too don't isn't didn't if who which what where when how why there into about up out
der die das den dem des ein eine einen einem einer eines und oder aber dass ist sind war waren sein hat habe haben hatte
wird werden kann zu in im an am auf mit von vom für bei aus nach mein meine meinen dein deine seine ihre ihr unser nicht
sehr so wie wenn ich du er sie es wir als
le la les l' un une des du de d' à au aux et ou mais que qu' qui est sont était a ont en dans sur avec pour par mon ma mes
ton ta tes son sa ses notre votre leur ne n' pas très si je j' tu il elle on nous vous ils ce c' se s' me m' te t' y
""".split())


class Sentence:
    """The words of a sentence, with their places in the text."""

    def __init__(self, text, capitalised):
        self.text = text
        matches = list(WORD.finditer(text))
        self.spans = [match.span() for match in matches]
        self.words = [match.group() for match in matches]
        self.has_plain_begin = bool(self.words) and self.spans[0][0] == 0 and self.words[0] not in capitalised
        if self.has_plain_begin:
            self.words[0] = self.words[0].lower()

    def phrase(self, first, last):
        """Returns the text of words; None if there is more than spaces between them."""
        begin, end = self.spans[first][0], self.spans[last][1]
        text = self.text[begin:end]
        if re.search(r"[^\w\s'’-]", text):
            return None
        return text[:1].lower() + text[1:] if first == 0 and self.has_plain_begin else text


def find_capitalised(sentences):
    """Returns the words that are mostly capitalised inside sentences."""
    counts = collections.defaultdict(lambda: [0, 0])
    for text in sentences:
        for match in list(WORD.finditer(text))[1:]:
            word = match.group()
            counts[word.lower()][word[:1].isupper()] += 1
    return {word[:1].upper() + word[1:] for word, (small, capital) in counts.items() if capital > small}


def joint_counts(pairs):
    """Returns how often each two words translate each other, as model 1 expects."""
    share = {}
    for _ in range(ITERATIONS):
        counts, totals = collections.defaultdict(float), collections.defaultdict(float)
        for left, right in pairs:
            for other in right.words:
                shares = [share.get((word, other), 1e-3 if share else 1.0) for word in left.words]
                total = sum(shares)
                for word, value in zip(left.words, shares):
                    counts[word, other] += value / total
                    totals[word] += value / total
        share = {key: count / totals[key[0]] for key, count in counts.items() if count / totals[key[0]] > 1e-3}
    return {key: counts[key] for key in share}


def align(left, right, strength):
    """Returns the pairs of words that are each other's best translation."""
    def score(i, j):
        distance = abs((i + 0.5) / len(left.words) - (j + 0.5) / len(right.words))
        return strength.get((left.words[i], right.words[j]), 0.0) * (1 - distance)

    table = [[score(i, j) for j in range(len(right.words))] for i in range(len(left.words))]
    links = []
    for i, row in enumerate(table):
        j = max(range(len(row)), key=row.__getitem__)
        if row[j] > 0.01 and all(table[k][j] <= row[j] for k in range(len(table))):
            links.append((i, j))
    return links


def phrase_pairs(left, right, links):
    """Yields the pairs of phrases that no link leaves, whose first and last words have links."""
    for first in range(len(left.words)):
        for last in range(first, min(first + MOST_INPUT, len(left.words))):
            inside = [j for i, j in links if first <= i <= last]
            ends = {i for i, _ in links}
            if not inside or first not in ends or last not in ends:
                continue
            begin, end = min(inside), max(inside)
            if end - begin >= MOST_OUTPUT or any(begin <= j <= end and not first <= i <= last for i, j in links):
                continue
            texts = left.phrase(first, last), right.phrase(begin, end)
            if all(texts):
                yield texts


def find_phrases(pairs):
    """Returns the pairs of phrases of pairs of sentences, each in both directions: two dicts from a phrase to its
    translation, the most frequent phrases first."""
    capitalised = [find_capitalised(side) for side in zip(*pairs)]
    sentences = [tuple(map(Sentence, pair, capitalised)) for pair in pairs]
    sentences = [pair for pair in sentences if all(1 <= len(side.words) <= MOST_WORDS for side in pair)]
    joint = joint_counts(sentences)
    totals = [collections.Counter(), collections.Counter()]
    for words, count in joint.items():
        for total, word in zip(totals, words):
            total[word] += count
    strength = {words: count * count / (totals[0][words[0]] * totals[1][words[1]]) for words, count in joint.items()}
    counts = collections.Counter()
    for left, right in sentences:
        counts.update(phrase_pairs(left, right, align(left, right, strength)))
    reversed_counts = collections.Counter({texts[::-1]: count for texts, count in counts.items()})
    return choose(counts, reversed_counts), choose(reversed_counts, counts)


def choose(counts, reversed_counts):
    totals, reversed_totals = collections.Counter(), collections.Counter()
    for (text, other), count in counts.items():
        totals[text] += count
        reversed_totals[other] += count
    chosen = {}
    for (text, other), count in counts.most_common():
        words = len(text.split())
        is_frequent = count >= LEAST_COUNT.get(words, 5) and count >= LEAST_SHARE.get(words, SHARE) * totals[text]
        if not is_frequent or count < LEAST_REVERSE.get(words, REVERSE) * reversed_totals[other] or text in chosen:
            continue
        if other.endswith("'") or text.endswith("'"):  # an elided word
            continue
        if words > 1 and any(side.split()[-1].lower() in OPEN for side in (text, other)):
            continue
        chosen[text] = other
    return chosen
