# SPDX-License-Identifier: Apache-2.0
"""Makes lines for text that is unlike the sentences of Tatoeba from training pairs and from templates.tsv.

A line is a pair (input, output). All drawing depends on the texts alone, so each call makes the same lines."""
import functools
import hashlib
import pathlib
import random
import re

FOLDER = pathlib.Path(__file__).resolve().parent
GROUPS = (2, 2, 3, 4)        # how many sentences the lines of joined sentences have, in turns
PLACEHOLDERS = "\ue001\ue002\ue003\ue004"
DRAWS = 80                   # lines of a template with slots
PLAIN_LINES = 40             # lines of a template without slots
PHRASE_LINES = ((300, 6), (1000, 4), (3000, 2))  # lines of the 300 most frequent phrases, and so on; others have one
NUMBER_DRAWS = 3             # lines of a pair whose numbers are replaced
NAMED = 0.10                 # share of the pairs with a name that get another one
REPLACED = 0.25              # share of the pairs with equal spans that get placeholders instead of some of them
# Of 1000 pairs, how many get a variant of each kind.
SHARES = {"lower": 40, "bare": 50, "title": 30, "joined": 80, "tight": 40, "curly": 40, "list": 15,
          "bracket": 6, "quote": 6, "emoji": 10, "beside": 20}
MARKS = ("- ", "– ", "• ", "* ", "# ", "## ", "> ", "1. ", "2. ", "3. ", "10. ", "1) ", "a) ", "b) ")
EMOJI = "😀😁😂🤣😃😄😅😉😊😋😎😍😘🙂🤔😐😴😢😭😡👍👎👏🙏💪❤🔥🎉🎂🎁☀⭐🌈⚽🚀🚗🍕🍎☕🍺🐶🐱🏠📷📱💡✅❌⚠➡"
QUOTES = {"en": ("“", "”"), "de": ("„", "“"), "fr": ("« ", " »")}
MEN = """Paul Peter Daniel David Michael Max Felix Lukas Martin Robert Simon Victor Mark Ben Jack George Kevin Frank Bruno
Pablo Carlos Marco Luca Yusuf Ravi Kenji Nikolai Bogdan Jonas Tim Richard Philip Patrick Leon Ken Bob Bill""".split()
WOMEN = """Laura Julia Sarah Lisa Sophie Marie Nina Paula Clara Diana Sandra Monika Petra Maria Chloe Camille Lucia Priya
Yuki Fatima Vera Tanja Karin Ruth Rosa Lena Betty Linda Susan Jessica Nancy Kate""".split()
LAST = """Schumacher Müller Schmidt Weber Becker Smith Johnson Brown Taylor Clark Lewis Walker Martin Bernard Dubois Moreau
Laurent Garcia Lopez Rossi Novak Kowalski Petrov Jansen Larsen Tanaka Nakamura Okonkwo Khan Singh Chen Nguyen Silva Santos
Fischer Wagner Hoffmann Schneider Keller Braun Carter Miller Davis Wilson""".split()
CITIES = """Berlin Boston Paris London Hamburg Tokyo Madrid Lyon Bordeaux Chicago Dublin Leipzig Stuttgart Nantes Toronto Sydney
Oslo Kyoto Bern Toulouse Dresden Bonn Liverpool Seattle Dallas Denver Miami Helsinki Budapest""".split()
SPELT = {"Tokyo": {"de": "Tokio"}, "London": {"fr": "Londres"}, "Dublin": {}, "Bern": {"fr": "Berne"},
         "Hamburg": {"fr": "Hambourg"}, "Dresden": {"fr": "Dresde"}}
MONTHS = {"en": "January February March April May June July August September October November December".split(),
          "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
          "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()}
WEEKDAYS = {"en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
            "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
            "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split()}
SCRIPTS = (range(0x430, 0x450), range(0x3B1, 0x3CA), range(0x5D0, 0x5EB), range(0x627, 0x64B), range(0x4E00, 0x9FA0),
           range(0x3042, 0x3094), range(0xAC00, 0xD7A0), range(0x100, 0x180), range(0x1EA0, 0x1EFA), range(0x905, 0x93A))
LATIN = (0x100, 0x1EA0)
SPAN = re.compile(r"[^\W_]+(?:[-.:,'][^\W_]+)*")


def number(*texts):
    """Returns a number that depends on the texts alone."""
    return int.from_bytes(hashlib.sha256("\t".join(texts).encode()).digest()[:8], "big")


def without_mark(sentence):
    return re.sub(r"\s*[.!?…]+$", "", sentence)


def title_case(sentence):
    return re.sub(r"(?<![\w'’])[^\W\d_]", lambda match: match[0].upper(), without_mark(sentence))


def both(change):
    return lambda pair, *_: (change(pair[0]), change(pair[1]))


def with_list_mark(pair, draw, _):
    mark = draw.choice(MARKS)
    change = draw.choice((str, without_mark))
    return tuple(mark + change(side) for side in pair)


def with_quotes(pair, _, languages):
    return tuple(side.join(QUOTES[language]) for side, language in zip(pair, languages))


def with_emoji(pair, draw, _):
    emoji = "".join(draw.choice(EMOJI) for _ in range(draw.choice((1, 1, 1, 2))))
    change = draw.choice((str, without_mark))
    return put_beside(pair, emoji, draw.random() < 0.2, change)


def with_placeholder_beside(pair, draw, _):
    return put_beside(pair, draw.choice(PLACEHOLDERS), draw.random() < 0.3, draw.choice((str, without_mark)))


def put_beside(pair, text, is_first, change):
    return tuple(f"{text} {change(side)}" if is_first else f"{change(side)} {text}" for side in pair)


CHANGES = {"lower": lambda pair, *_: (without_mark(pair[0].lower()), pair[1]),
           "bare": both(without_mark),
           "title": lambda pair, *_: (title_case(pair[0]), without_mark(pair[1])),
           "tight": lambda pair, _, languages:
               (re.sub(r"\s+([!?:;])", r"\1", pair[0]), pair[1]) if languages[0] == "fr" else None,
           "curly": lambda pair, *_: (pair[0].replace("'", "’"), pair[1]) if "'" in pair[0] else None,
           "list": with_list_mark,
           "bracket": both("({})".format),
           "quote": with_quotes,
           "emoji": with_emoji,
           "beside": with_placeholder_beside}


def kind_of(pair, factor):
    """Returns the kind of a pair's variant; None for most pairs. `factor` multiplies SHARES."""
    part = number("variant", *pair) % 1000
    for kind, share in SHARES.items():
        if part < share * factor:
            return kind
        part -= share * factor
    return None


def change_sentences(pairs, languages, factor):
    """Returns the variants of sentences, and lines of several sentences."""
    lines, group, groups = [], [], 0
    for pair in sorted(pairs, key=lambda each: number(*each)):
        kind = kind_of(pair, factor)
        if kind == "joined":
            if pair[0][-1] in ".!?" and pair[1][-1] in ".!?":
                group.append(pair)
            if len(group) == GROUPS[groups % len(GROUPS)]:
                lines.append(tuple(" ".join(side) for side in zip(*group)))
                group, groups = [], groups + 1
        elif kind:
            lines.append(CHANGES[kind](pair, random.Random(number(kind, *pair)), languages))
    return [line for line in lines if line]


def shorten_sentences(pairs):
    """Returns the sentences of at most three words without their marks."""
    return [tuple(map(without_mark, pair)) for pair in pairs if len(pair[0].split()) <= 3]


def change_phrases(phrases, known):
    """Returns words and phrases as people write them, frequent ones in several lines. `known`: inputs that sentences and
    templates have, which are left out."""
    lines = []
    for rank, pair in enumerate(phrases.items()):
        draw = random.Random(number("phrase", *pair))
        if pair[0].lower() in known:
            continue
        capital = tuple(side[:1].upper() + side[1:] for side in pair)
        for _ in range(next((count for last, count in PHRASE_LINES if rank < last), 1)):
            lines.append(pair)
            if capital != pair and draw.random() < (0.2 if " " in pair[0] else 0.5):
                lines.append(capital)
            if draw.random() < 0.08:
                mark = draw.choice(".!")
                lines.append(tuple(side + mark for side in capital))
    return lines


# --- equal spans

def equal_spans(pair, ordinary):
    """Returns the spans that stand once on each side: numbers, and names, which are no ordinary words."""
    sides = [SPAN.findall(side) for side in pair]
    return [span for span in dict.fromkeys(sides[0]) if all(side.count(span) == 1 for side in sides) and
            (sum(map(str.isdigit, span)) > 1 or (span[0].isupper() and len(span) > 1 and span.lower() not in ordinary))]


def replace_spans(pair, others):
    pattern = re.compile(r"(?<![^\W_])(?:%s)(?![^\W_])" % "|".join(map(re.escape, sorted(others, key=len, reverse=True))))
    return tuple(pattern.sub(lambda match: others[match[0]], side) for side in pair)


@functools.cache
def years_with_repeated_digit(first, end):
    return [year for year in range(first, end) if re.search(r"([0-9])\1", str(year))]


def draw_year(draw, first, end):
    """Returns a year before `end`; half of the years have a digit twice in a row, which a model learns to copy last."""
    return draw.choice(years_with_repeated_digit(first, end)) if draw.random() < 0.5 else draw.randrange(first, end)


def draw_number(span, draw):
    """Returns another number of the same form."""
    if re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", span):
        return str(draw_year(draw, 1200, 2100))
    digits = re.sub(r"[0-9]", lambda _: str(draw.randrange(10)), span)
    return "2" + digits[1:] if digits[0] == "0" else digits


def draw_foreign(draw):
    """Returns a word of another script, or of letters that the languages do not have."""
    script = draw.choice(SCRIPTS)
    count = draw.randrange(1, 4) if len(script) > 1000 else draw.randrange(3, 8)
    letters = [chr(draw.choice(script)).lower() for _ in range(count)]
    if script.start in LATIN:
        letters = [draw.choice("klmrst") + letter + draw.choice("aeiou") for letter in letters[:3]]
    return "".join(letters).capitalize()


def copy_spans(pairs, ordinary):
    """Returns lines in which equal spans are placeholders, other numbers, other names or words of other scripts."""
    lines = []
    for pair in pairs:
        spans = equal_spans(pair, ordinary)
        if not spans:
            continue
        draw = random.Random(number("spans", *pair))
        numbers = [span for span in spans if span[0].isdigit() and span != "1"]
        if numbers:
            lines += [replace_spans(pair, {span: draw_number(span, draw) for span in numbers}) for _ in range(NUMBER_DRAWS)]
        if draw.random() < (1 if numbers else REPLACED):
            count = min(draw.choice((1, 1, 2, 3, 4)), len(spans))
            chosen = dict(zip(draw.sample(spans, count), draw.sample(PLACEHOLDERS, count)))
            lines.append(replace_spans(pair, chosen))
        names = [span for span in spans if span in ("Tom", "Mary", "Marie", "Maria")]
        if names and draw.random() < NAMED:
            others = {span: draw.choice(MEN if span == "Tom" else WOMEN) for span in names}
            if draw.random() < 0.3:
                others[names[0]] += " " + draw.choice(LAST)
            lines.append(replace_spans(pair, others))
        if names and draw.random() < NAMED / 2:
            lines.append(replace_spans(pair, {names[0]: draw_foreign(draw)}))
    return lines


# --- templates

def decimal(text, language):
    return text if language == "en" else text.replace(".", ",")


def fill_price(draw):
    amount = draw.choice((str(draw.randrange(2, 100)), str(draw.randrange(100, 1000)),
                          f"{draw.randrange(1, 200)}.{draw.randrange(100):02}"))
    sign, word = draw.choice((("€", {"en": "euros", "de": "Euro", "fr": "euros"}),
                              ("$", {"en": "dollars", "de": "Dollar", "fr": "dollars"})))
    if draw.random() < 0.5:
        return {language: f"{decimal(amount, language)} {word[language]}" for language in word}
    return {"en": sign + amount, "de": f"{decimal(amount, 'de')} {sign}", "fr": f"{decimal(amount, 'fr')} {sign}"}


def fill_date(draw):
    day, month, year = draw.randrange(1, 32), draw.randrange(12), draw_year(draw, 1800, 2040)
    english, german, french = (MONTHS[language][month] for language in ("en", "de", "fr"))
    first = "1er" if day == 1 else day
    end = draw.random() < 0.5
    forms = (f"{english} {day}, {year}", f"{english} {day}, {year}", f"{day} {english} {year}") if end else (
        f"{english} {day}", f"{english} {day}", f"{day} {english}")
    tail = f" {year}" if end else ""
    return {"en": draw.choice(forms), "de": f"{day}. {german}{tail}", "fr": f"{first} {french}{tail}", "shown": forms[0]}


def fill_time(draw):
    hour, minute = draw.randrange(24), f"{draw.randrange(60):02}"
    if draw.random() < 0.3:
        clock = hour % 12 + 1
        return {"en": f"{clock} o'clock", "de": f"{clock} Uhr", "fr": f"{clock} h"}
    return {"en": f"{hour}:{minute}", "de": f"{hour}:{minute} Uhr", "fr": f"{hour} h {minute}"}


def fill_number(draw):
    value = draw.choice((draw.randrange(2, 32), draw.randrange(2, 100), draw.randrange(100, 1000), draw.randrange(1000, 20000)))
    if value < 10000 or draw.random() < 0.3:
        return same(str(value))
    return {"en": f"{value:,}", "de": f"{value:,}".replace(",", "."), "fr": f"{value:,}".replace(",", " ")}


def fill_percent(draw):
    value = draw.choice((str(draw.randrange(2, 100)), f"{draw.randrange(30)}.{draw.randrange(1, 10)}"))
    if draw.random() < 0.5:
        return {"en": f"{value}%", "de": f"{decimal(value, 'de')} %", "fr": f"{decimal(value, 'fr')} %"}
    return {"en": f"{value} percent", "de": f"{decimal(value, 'de')} Prozent", "fr": f"{decimal(value, 'fr')} pour cent"}


def fill_name(draw):
    first = draw.choice(MEN + WOMEN)
    return same(f"{first} {draw.choice(LAST)}" if draw.random() < 0.6 else first)


def fill_city(draw):
    city = draw.choice(CITIES)
    return {language: SPELT.get(city, {}).get(language, city) for language in ("en", "de", "fr")}


def same(text):
    return {"en": text, "de": text, "fr": text}


def from_list(lists):
    def fill(draw):
        index = draw.randrange(len(lists["en"]))
        return {language: items[index] for language, items in lists.items()}
    return fill


SLOTS = {"price": fill_price, "date": fill_date, "time": fill_time, "n": fill_number, "percent": fill_percent,
         "name": fill_name, "city": fill_city, "weekday": from_list(WEEKDAYS), "month": from_list(MONTHS),
         "year": lambda draw: same(str(draw_year(draw, 1800, 2040)))}


def fill_templates(languages):
    """Returns lines of templates.tsv with drawn values."""
    rows = [line.split("\t") for line in (FOLDER / "templates.tsv").read_text(encoding="utf-8").splitlines()]
    lines = []
    for row_number, row in enumerate(rows):
        texts = dict(zip(("en", "de", "fr"), row))
        slots = re.findall(r"\{(\w+)\}", texts["en"])
        for turn in range(DRAWS if slots else PLAIN_LINES):
            draw = random.Random(number("template", str(row_number), str(turn), texts["en"]))
            marks = iter(draw.sample(PLACEHOLDERS, len(PLACEHOLDERS)))
            values = {slot: SLOTS[slot](draw) if slot in SLOTS else same(next(marks)) for slot in slots}
            lines.append(tuple(fill_side(texts, language, values, is_output) for language, is_output in
                               zip(languages, (False, True))))
    return [(side[:1].upper() + side[1:], other[:1].upper() + other[1:]) if side[0].isupper() else (side, other)
            for side, other in lines]


def fill_side(texts, language, values, is_output):
    """A date has one form in outputs, so that models learn one."""
    def value(match):
        forms = values[match[1]]
        return str(forms["shown"] if is_output and language == "en" and "shown" in forms else forms[language])
    return re.sub(r"\{(\w+)\}", value, texts[language])


def make_variants(pairs, languages, phrases, ordinary):
    """Returns the lines that are made of training pairs, of phrases and of templates."""
    templates = fill_templates(languages)
    known = {without_mark(pair[0]).lower() for pair in pairs if len(pair[0].split()) == 1}
    known |= {without_mark(line[0]).lower() for line in templates}
    lines = change_sentences(pairs, languages, factor=1) + shorten_sentences(pairs) + copy_spans(pairs, ordinary)
    return [line for line in [*dict.fromkeys(lines), *change_phrases(phrases, known), *templates] if all(line)]
