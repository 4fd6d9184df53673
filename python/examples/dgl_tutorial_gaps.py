# SPDX-License-Identifier: Apache-2.0
"""The modules that DGL's tutorial on Transformers imports and does not print: data, layers, loss and optimiser.

`dgl_tutorial.py` uses them.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import edgewise.torch as dgl

LayerNorm = nn.LayerNorm
BEGIN, END, PADDING, FIRST_LETTER, LETTERS = 0, 1, 2, 4, 26
sizes = {"train": 9000, "valid": 1000, "test": 1000}


def clones(module: nn.Module, count: int) -> nn.ModuleList:
    """Returns copies of a module, with parameters of their own."""
    return nn.ModuleList(copy.deepcopy(module) for _ in range(count))


def tqdm(batches: Iterable[Any]) -> Iterator[Any]:
    """Yields batches, and prints how many output tokens a second they had."""
    begin, tokens = time.perf_counter(), 0
    for batch in batches:
        yield batch
        tokens += batch[1].n_tokens
    print(f"{tokens / (time.perf_counter() - begin):.0f} output tokens a second")


# --- Data. -----------------------------------------------------------------------------------------------------------


class GraphPool:
    """Makes the graphs of batches. The graph of each pair of lengths need not be kept: a batch takes O(tokens)."""

    def batch(self, lengths: list[int]) -> dgl.Graph:
        return dgl.pair_graph(lengths, [length + 1 for length in lengths])


@dataclass
class Batch:
    """The graph of a batch, with the numbers of its nodes and edges, its tokens, and their positions."""

    g: dgl.Graph
    nids: dict[str, Tensor]
    eids: dict[str, Tensor]
    src: tuple[Tensor, Tensor]
    tgt: tuple[Tensor, Tensor]
    tgt_y: Tensor
    n_tokens: int
    n_nodes: int
    n_edges: int


class CopyTask:
    """Words of random letters, whose output is the input."""

    vocab_size, pad_id = FIRST_LETTER + LETTERS, PADDING

    def __init__(self, seed: int = 1) -> None:
        generator = torch.Generator().manual_seed(seed)
        self._words = {mode: [self._draw(generator) for _ in range(size)] for mode, size in sizes.items()}

    @staticmethod
    def _draw(generator: torch.Generator) -> Tensor:
        length = max(1, round(15 + 3 * torch.randn((), generator=generator).item()))
        return torch.randint(FIRST_LETTER, FIRST_LETTER + LETTERS, (length,), generator=generator)

    def get_seq_by_id(self, index: int, mode: str, field: str) -> list[int]:
        word: list[int] = self._words[mode][index].tolist()
        return word if field == "src" else [BEGIN, *word, END]

    def __call__(self, graph_pool: GraphPool, mode: str, batch_size: int, devices: list[str]) -> Iterator[Batch]:
        words = self._words[mode]
        order = torch.randperm(len(words)).tolist() if mode == "train" else list(range(len(words)))
        for begin in range(0, len(words), batch_size):
            yield make_batch(graph_pool, [words[i] for i in order[begin:begin + batch_size]])


def make_batch(graph_pool: GraphPool, words: list[Tensor]) -> Batch:
    graph = graph_pool.batch([len(word) for word in words])
    begin, end = torch.tensor([BEGIN]), torch.tensor([END])
    outputs = torch.cat([torch.cat((begin, word)) for word in words])
    return Batch(
        g=graph,
        nids={"enc": graph.node_set("encoder"), "dec": graph.node_set("decoder")},
        eids={name: graph.edge_set(name) for name in ("ee", "ed", "dd")},
        src=(torch.cat(words), torch.cat([torch.arange(len(word)) for word in words])),
        tgt=(outputs, torch.cat([torch.arange(len(word) + 1) for word in words])),
        tgt_y=torch.cat([torch.cat((word, end)) for word in words]),
        n_tokens=len(outputs), n_nodes=graph.num_nodes(), n_edges=graph.num_edges())


def get_dataset(name: str) -> CopyTask:
    if name != "copy":
        raise ValueError(f"get_dataset: name is {name!r}, needs 'copy'")
    return CopyTask()


# --- Layers. ---------------------------------------------------------------------------------------------------------


class Embedding(nn.Module):
    """A table of embeddings, scaled by the root of their size."""

    def __init__(self, vocabulary: int, size: int) -> None:
        super().__init__()
        self.lut = nn.Embedding(vocabulary, size)
        self._scale = math.sqrt(size)

    def forward(self, tokens: Tensor) -> Tensor:
        result: Tensor = self.lut(tokens)
        return result * self._scale


class PositionalEncoding(nn.Module):
    """Sines and cosines of positions, and the dropout of embeddings."""

    table: Tensor

    def __init__(self, size: int, dropout: float, longest: int = 1000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        angle = torch.arange(longest).unsqueeze(1) * 10000 ** (-torch.arange(0, size, 2) / size)
        self.register_buffer("table", torch.stack((angle.sin(), angle.cos()), -1).flatten(1))

    def forward(self, positions: Tensor) -> Tensor:
        return self.table[positions]


class Sublayer(nn.Module):
    """Adds the result of a function of normed states to the states."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        result: Tensor = x + self.dropout(function(self.norm(x)))
        return result


class Layer(nn.Module):
    """The parts of a layer of the encoder (2 sublayers) or of the decoder (3)."""

    def __init__(self, attention: nn.Module, feed_forward: nn.Module, size: int, sublayers: int,
                 dropout: float) -> None:
        super().__init__()
        self.size = size
        self.self_attn, self.feed_forward = copy.deepcopy(attention), copy.deepcopy(feed_forward)
        self.sublayer = clones(Sublayer(size, dropout), sublayers)


class Generator(nn.Module):
    """Computes the log-probabilities of tokens."""

    def __init__(self, size: int, vocabulary: int) -> None:
        super().__init__()
        self.proj = nn.Linear(size, vocabulary)

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(self.proj(x), -1)


def model_maker(attention: Any, encoder: Any, decoder: Any, transformer: Any) -> Callable[..., nn.Module]:
    """Returns the function that makes a model of the tutorial's classes."""

    def make_model(src_vocab: int, tgt_vocab: int, N: int = 6, dim_model: int = 512, dim_ff: int = 2048, h: int = 8,
                   dropout: float = 0.1) -> nn.Module:
        torch.manual_seed(1)
        feed_forward = nn.Sequential(nn.Linear(dim_model, dim_ff), nn.ReLU(), nn.Dropout(dropout),
                                     nn.Linear(dim_ff, dim_model))
        layers = [Layer(attention(h, dim_model), feed_forward, dim_model, sublayers, dropout) for sublayers in (2, 3)]
        model: nn.Module = transformer(
            encoder(layers[0], N), decoder(layers[1], N), Embedding(src_vocab, dim_model),
            Embedding(tgt_vocab, dim_model), PositionalEncoding(dim_model, dropout), Generator(dim_model, tgt_vocab), h,
            dim_model // h)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        return model

    return make_model


# --- Loss and optimiser. ---------------------------------------------------------------------------------------------


class LabelSmoothing(nn.Module):
    """The sum over tokens of the cross-entropy with a share `smoothing` of each label on all tokens."""

    def __init__(self, size: int, padding_idx: int, smoothing: float) -> None:
        super().__init__()
        self._padding, self._smoothing = padding_idx, smoothing

    def forward(self, log_probabilities: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(log_probabilities, labels, ignore_index=self._padding, label_smoothing=self._smoothing,
                               reduction="sum")


class NoamOpt:
    """Sets the learning rate: rising for `warmup` steps, then falling with the root of the step."""

    def __init__(self, model_size: int, factor: float, warmup: int, optimizer: torch.optim.Optimizer) -> None:
        self._scale, self._warmup, self._steps = factor * model_size ** -0.5, warmup, 0
        self.optimizer = optimizer

    def step(self) -> None:
        self._steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self._scale * min(self._steps ** -0.5, self._steps * self._warmup ** -1.5)
        self.optimizer.step()


class SimpleLossCompute:
    """Computes losses, takes a step of the optimiser after each if there is one, and averages over the tokens."""

    def __init__(self, criterion: LabelSmoothing, optimiser: NoamOpt | None) -> None:
        self._criterion, self._optimiser = criterion, optimiser
        self._loss, self._correct, self._tokens = 0.0, 0, 0

    def __call__(self, log_probabilities: Tensor, labels: Tensor, count: int) -> Tensor:
        loss: Tensor = self._criterion(log_probabilities, labels) / count
        if self._optimiser is not None:
            self._optimiser.optimizer.zero_grad()
            loss.backward()
            self._optimiser.step()
        self._loss += loss.item() * count
        self._correct += int((log_probabilities.argmax(-1) == labels).sum())
        self._tokens += count
        return loss.detach()

    @property
    def avg_loss(self) -> float:
        return self._loss / self._tokens

    @property
    def accuracy(self) -> float:
        return self._correct / self._tokens
