# SPDX-License-Identifier: Apache-2.0
# Written by scripts/write_python_stub from _edgewise.pyi.in and the listed fields of the options.
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any, Literal, overload

from ._generation import Generation

__version__: str

class Error(ValueError): ...

class Output:
    """One output of a translation."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def alignment(self) -> list[tuple[int, int]]: ...
    @property
    def attention(self) -> list[list[float]]: ...
    @property
    def ponder_steps(self) -> list[int]: ...
    def _repr_html_(self) -> str | None: ...

class Translation:
    """The translation of a sentence. Its text, score and tokens are those of the best output."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def log_probability(self) -> float: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def alignment(self) -> list[tuple[int, int]]: ...
    @property
    def attention(self) -> list[list[float]]: ...
    @property
    def ponder_steps(self) -> list[int]: ...
    @property
    def outputs(self) -> list[Output]: ...
    @property
    def input_tokens(self) -> list[str]: ...
    @property
    def was_cut(self) -> bool: ...
    def _repr_html_(self) -> str | None: ...

class TranslationStream(Iterator[Translation]):
    """An iterator over translations, from Translator.stream."""

    def __iter__(self) -> TranslationStream: ...
    def __next__(self) -> Translation: ...
    def close(self) -> None: ...

class Translator:
    """Translates with a model: a run or model directory, the name of a model such as "en-de", or a list of both, which
    is an ensemble. Threads may use a translator at the same time.

    device: where translating computes: cpu; cuda, the first GPU; cuda:N, the GPU number N; or auto, a GPU if one can be used
    precision: number format of matrix products
    shortlist: lexical shortlist of a model that has one: auto, which computes only the output tokens that it selects for an input, or off
    decoder_layers: first decoder layers, at whose end the model has an exit, to translate with; by default all layers
    exit_threshold: threshold of halting at exits, for a model that has them; 1: no token halts; by default that of the model's config
    input_language: a multilingual model's name of the language of inputs, such as eng_Latn; empty: as in the model's config
    output_language: a multilingual model's name of the language of outputs, such as fra_Latn; empty: as in the model's config
    max_input: most tokens of an input; 0: no limit but that of a model with learned positions; by default the limit of training
    long_inputs: treatment of inputs above max_input: split at sentence ends, or cut off at the end
    allow_unknown: allow the token <unknown> in outputs
    protect: copy inputs without words (numbers, codes, marks), keep addresses, placeholders, long numbers, emoji and code of an input byte for byte, and remove invisible characters; false: the model reads all text as it is
    batch_sentences: most sentences that a worker translates at a time
    batch_tokens: most input tokens that a worker translates at a time; 0: no limit
    workers: searches that run in parallel and share the cores
    threads: threads of each worker; 0: OMP_NUM_THREADS, or the number of available cores, divided by the workers
    max_pending_tokens: most input tokens of all sentences that wait or are in translation; a call with more waits
    kind: search method: beam, sampling, or scoring of given outputs
    rules: rules of beam search: edgewise, or huggingface, which gives the outputs of generate() in transformers 5
    beam: beam width: hypotheses kept for each sentence; 1 is greedy search
    n_best: number of outputs for each input; for beam search at most the beam width
    length_norm: divisor of log-probabilities in scores: gnmt and power (with length_penalty), average (the length) or none
    length_penalty: exponent of the gnmt length norm, or of the length with length_norm=power and with rules=huggingface; larger values favour longer outputs
    coverage_penalty: weight of the penalty for input tokens with little attention; 0: no penalty
    attention_layer: decoder layer whose cross-attention gives alignments and coverage, from 0; -1: the last layer
    attention_head: head of attention_layer, from 0; -1: the mean of all heads
    length_factor: longest output: length_factor * input length + length_offset tokens
    length_offset: constant part of the longest output, in tokens
    max_length: most tokens of an output, for inputs of any length; 0: no limit; with rules=huggingface, the begin and the end token count, and a limit is needed
    min_length_factor: shortest output: min_length_factor * input length + min_length tokens
    min_length: constant part of the shortest output, in tokens; with rules=huggingface, the begin and the end token count
    no_repeat_ngram: length of token sequences that may not occur twice in an output; 0: no restriction
    repetition_penalty: factor of the log-probability of tokens that the output already contains; 1: no penalty
    stop_loops: beam: an output that repeats a token or phrase far more often than its input repeats one is searched again, without such repetitions
    temperature: sampling: divisor of log-probabilities; below 1 favours likely tokens
    top_k: sampling: number of most likely tokens to draw from; 0: all tokens
    top_p: sampling: draw from the most likely tokens that together have this probability; 1: all tokens
    min_p: sampling: draw from the tokens that are at least min_p times as likely as the likeliest; 0: all tokens
    seed: sampling: seed of the random numbers
    early_stop: end the search of a sentence as soon as its result is certain; results do not change
    force_end: outputs at the limit of their length end with the end token; if false, the last token of such an output may be any token; with rules=huggingface, the probability of this end token does not count
    stop_when: rules=huggingface: when the search of a sentence ends that has as many outputs as the beam is wide: full (at once), likely (a better output is unlikely) or certain (there is no better output); these are true, false and never of early_stopping in generate()
    renormalize: rules=huggingface: log-probabilities are normalised again after tokens are excluded and penalised
    """

    def __init__(
        self,
        model: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        device: str = ...,
        precision: Literal["fp32", "bf16", "int8"] = ...,
        shortlist: Literal["auto", "off"] = ...,
        decoder_layers: int | None = ...,
        exit_threshold: float | None = ...,
        input_language: str = ...,
        output_language: str = ...,
        max_input: int | None = ...,
        long_inputs: Literal["split", "cut"] = ...,
        allow_unknown: bool = ...,
        protect: bool = ...,
        batch_sentences: int = ...,
        batch_tokens: int = ...,
        workers: int = ...,
        threads: int = ...,
        max_pending_tokens: int = ...,
        kind: Literal["beam", "sampling", "scoring"] = ...,
        rules: Literal["edgewise", "huggingface"] = ...,
        beam: int = ...,
        n_best: int = ...,
        length_norm: Literal["gnmt", "power", "average", "none"] = ...,
        length_penalty: float = ...,
        coverage_penalty: float = ...,
        attention_layer: int = ...,
        attention_head: int = ...,
        length_factor: float = ...,
        length_offset: int = ...,
        max_length: int = ...,
        min_length_factor: float = ...,
        min_length: int = ...,
        no_repeat_ngram: int = ...,
        repetition_penalty: float = ...,
        stop_loops: bool = ...,
        temperature: float = ...,
        top_k: int = ...,
        top_p: float = ...,
        min_p: float = ...,
        seed: int = ...,
        early_stop: bool = ...,
        force_end: bool = ...,
        stop_when: Literal["full", "likely", "certain"] = ...,
        renormalize: bool = ...,
    ) -> None: ...
    @property
    def options(self) -> dict[str, Any]: ...
    # A str is an iterable of str, too; its overload comes first.
    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        sentences: str,
        *,
        prefix: str | None = None,
        input_language: str | None = None,
        output_language: str | None = None,
        alignment: bool = False,
        attention: bool = False,
    ) -> Translation: ...
    @overload
    def translate(
        self,
        sentences: Iterable[str],
        *,
        prefix: Iterable[str] | None = None,
        input_language: str | None = None,
        output_language: str | None = None,
        alignment: bool = False,
        attention: bool = False,
    ) -> list[Translation]: ...
    def stream(
        self,
        sentences: Iterable[str],
        *,
        ahead: int = 256,
        input_language: str | None = None,
        output_language: str | None = None,
        alignment: bool = False,
        attention: bool = False,
    ) -> TranslationStream: ...
    @overload
    def translate_text(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        language: str | None = None,
        line_breaks: Literal["end", "space"] = "end",
        input_language: str | None = None,
        output_language: str | None = None,
    ) -> str: ...
    @overload
    def translate_text(
        self,
        texts: Iterable[str],
        *,
        language: str | None = None,
        line_breaks: Literal["end", "space"] = "end",
        input_language: str | None = None,
        output_language: str | None = None,
    ) -> list[str]: ...
    @overload
    def translate_html(  # type: ignore[overload-overlap]
        self,
        documents: str,
        *,
        language: str | None = None,
        input_language: str | None = None,
        output_language: str | None = None,
    ) -> str: ...
    @overload
    def translate_html(
        self,
        documents: Iterable[str],
        *,
        language: str | None = None,
        input_language: str | None = None,
        output_language: str | None = None,
    ) -> list[str]: ...

class GenerationStream(Iterator[str]):
    """An iterator over the parts of a continuation, from Generator.stream."""

    def __iter__(self) -> GenerationStream: ...
    def __next__(self) -> str: ...
    @property
    def finish_reason(self) -> str | None: ...
    def close(self) -> None: ...

class Generator:
    """Writes texts with a language model: a run or model directory. Threads may use a generator at the same time.

    precision: number format of matrix products
    batch: most continuations that are computed at a time
    threads: threads that compute; 0: OMP_NUM_THREADS, or the number of available cores
    """

    def __init__(
        self,
        model: str | PathLike[str],
        *,
        precision: Literal["fp32", "bf16", "int8"] = ...,
        batch: int = ...,
        threads: int = ...,
    ) -> None: ...
    @property
    def options(self) -> dict[str, Any]: ...
    @overload
    def generate(  # type: ignore[overload-overlap]
        self,
        prompts: str,
        *,
        max_tokens: int = ...,
        temperature: float = ...,
        top_k: int = ...,
        top_p: float = ...,
        min_p: float = ...,
        repetition_penalty: float = ...,
        samples: int = ...,
        seed: int = ...,
        stop: str | Iterable[str] = ...,
        ignore_end: bool = ...,
    ) -> Generation:
        """Continues a prompt, or each prompt of an iterable.

        max_tokens: most tokens of a continuation
        temperature: divisor of log-probabilities; below 1 favours likely tokens; 0: always the likeliest token
        top_k: number of most likely tokens to draw from; 0: all tokens
        top_p: draw from the most likely tokens that together have this probability; 1: all tokens
        min_p: draw from the tokens that are at least min_p times as likely as the likeliest; 0: all tokens
        repetition_penalty: factor of the log-probability of tokens that the prompt or the continuation contains; 1: no penalty
        samples: number of continuations, which share the computation of the prompt
        seed: seed of the random numbers: the same seed gives the same text
        stop: strings that end a continuation, which does not contain them
        ignore_end: never draw the end token, so that a continuation has max_tokens tokens
        """

    @overload
    def generate(
        self,
        prompts: Iterable[str],
        *,
        max_tokens: int = ...,
        temperature: float = ...,
        top_k: int = ...,
        top_p: float = ...,
        min_p: float = ...,
        repetition_penalty: float = ...,
        samples: int = ...,
        seed: int = ...,
        stop: str | Iterable[str] = ...,
        ignore_end: bool = ...,
    ) -> list[Generation]: ...
    def stream(
        self,
        prompt: str,
        *,
        max_tokens: int = ...,
        temperature: float = ...,
        top_k: int = ...,
        top_p: float = ...,
        min_p: float = ...,
        repetition_penalty: float = ...,
        samples: int = ...,
        seed: int = ...,
        stop: str | Iterable[str] = ...,
        ignore_end: bool = ...,
    ) -> GenerationStream: ...

class BleuScore:
    """BLEU of a corpus, with the numbers of sacreBLEU."""

    @property
    def score(self) -> float: ...
    @property
    def precisions(self) -> list[float]: ...
    @property
    def brevity_penalty(self) -> float: ...
    @property
    def ratio(self) -> float: ...
    @property
    def hypothesis_length(self) -> int: ...
    @property
    def reference_length(self) -> int: ...
    @property
    def signature(self) -> str: ...

class ChrfScore:
    """chrF of a corpus, with the numbers of sacreBLEU."""

    @property
    def score(self) -> float: ...
    @property
    def name(self) -> str: ...
    @property
    def signature(self) -> str: ...

class Score:
    """BLEU and chrF of a corpus."""

    @property
    def bleu(self) -> BleuScore: ...
    @property
    def chrf(self) -> ChrfScore: ...

def score(
    hypotheses: Iterable[str],
    references: Iterable[str],
    *,
    tokenize: Literal["13a", "intl", "none"] = "13a",
    lowercase: bool = False,
    chrf_word_order: int = 0,
) -> Score: ...
def import_model(
    source: str | PathLike[str], destination: str | PathLike[str], *, overwrite: bool = False
) -> str: ...
def export_model(
    model: str | PathLike[str],
    destination: str | PathLike[str],
    *,
    format: Literal["ctranslate2", "huggingface", "marian"] = "huggingface",
    overwrite: bool = False,
) -> list[str]: ...
def _set_models_folder(path: str) -> None: ...
def _option_fields() -> list[tuple[str, str, str]]: ...
def _generator_fields() -> list[tuple[str, str, str]]: ...
def _generate_fields() -> list[tuple[str, str, str]]: ...
