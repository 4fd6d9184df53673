#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures training steps of the copy task of DGL's Transformer tutorial: a batch of sentence pairs as one graph,
attention by the tutorial's functions and built-in reductions, backward and Adam. With --graphs edgewise.torch, the same
program runs on Edgewise's graphs.

Prints one line of JSON.
"""
import argparse
import importlib
import json
import math
import statistics
import time

import torch
from torch import nn

VOCABULARY = 32
BEGIN, END, FIRST_LETTER = 1, 2, 4
CLAMP = 5.0


class Batch:
    """The graph of pairs of equal lengths, with the numbers of the nodes and edges of each kind."""

    def __init__(self, library, pairs, length):
        self.pairs, self.inputs, self.outputs = pairs, length, length + 1
        encoder, decoder = range(self.inputs), range(self.inputs, self.inputs + self.outputs)
        kinds = [[(i, j) for i in encoder for j in encoder], [(i, j) for i in encoder for j in decoder],
                 [(i, j) for i in decoder for j in decoder if i <= j]]
        sources, destinations = zip(*sum(kinds, []))
        pair = library.graph((torch.tensor(sources), torch.tensor(destinations)),
                             num_nodes=self.inputs + self.outputs)
        self.graph = library.batch([pair] * pairs)
        nodes, edges = self.inputs + self.outputs, sum(map(len, kinds))
        self.encoder = self._numbers(0, self.inputs, nodes)
        self.decoder = self._numbers(self.inputs, nodes, nodes)
        self.within_encoder = self._numbers(0, len(kinds[0]), edges)
        self.across = self._numbers(len(kinds[0]), len(kinds[0]) + len(kinds[1]), edges)
        self.within_decoder = self._numbers(len(kinds[0]) + len(kinds[1]), edges, edges)

    def _numbers(self, begin, end, step):
        return (torch.arange(self.pairs)[:, None] * step + torch.arange(begin, end)).flatten()


class Attention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.projections = nn.ModuleDict({name: nn.Linear(size, size) for name in ("q", "k", "v", "o")})

    def project(self, states, names):
        return {name: self.projections[name](states).view(len(states), self.heads, -1) for name in names}

    def combine(self, nodes):
        averages = nodes.data["wv"] / nodes.data["z"]
        return self.projections["o"](averages.flatten(1))


def propagate_attention(library, graph, edges, head_size):
    """Attention along the given edges, as the tutorial passes its messages."""
    fn = library.function
    graph.apply_edges(lambda batch: {"score": (batch.src["k"] * batch.dst["q"]).sum(-1, keepdim=True)}, edges)
    graph.apply_edges(
        lambda batch: {"score": torch.exp((batch.data["score"] / math.sqrt(head_size)).clamp(-CLAMP, CLAMP))}, edges)
    graph.send_and_recv(edges, fn.u_mul_e("v", "score", "v"), fn.sum("v", "wv"))
    graph.send_and_recv(edges, fn.copy_e("score", "score"), fn.sum("score", "z"))


class Layer(nn.Module):
    """A layer of the encoder, or with `is_decoder` of the decoder; norms come before sublayers."""

    def __init__(self, size, heads, is_decoder):
        super().__init__()
        self.own = Attention(size, heads)
        self.cross = Attention(size, heads) if is_decoder else None
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3 if is_decoder else 2))
        self.feed_forward = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, size))

    def add_attention(self, nodes, attention):
        return nodes.data["x"] + attention.combine(nodes)

    def finish(self, nodes, attention):
        states = self.add_attention(nodes, attention)
        return states + self.feed_forward(self.norms[-1](states))


class Model(nn.Module):
    def __init__(self, library, size, heads, layers):
        super().__init__()
        self.library, self.size, self.head_size = library, size, size // heads
        self.embedding = nn.Embedding(VOCABULARY, size)
        nn.init.normal_(self.embedding.weight, std=size**-0.5)
        self.encoder = nn.ModuleList(Layer(size, heads, is_decoder=False) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(size, heads, is_decoder=True) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        angles = torch.arange(64)[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def embed(self, tokens, length):
        return self.embedding(tokens) * math.sqrt(self.size) + self.positions[torch.arange(len(tokens)) % length]

    def update(self, graph, edges, projections, nodes, post):
        for attention, norm, names, projected in projections:
            graph.apply_nodes(lambda batch: attention.project(norm(batch.data["x"]), names), projected)
        propagate_attention(self.library, graph, edges, self.head_size)
        graph.apply_nodes(lambda batch: {"x": post(batch)}, nodes)

    def forward(self, batch, inputs, outputs):
        graph = batch.graph
        with graph.local_scope():
            states = torch.zeros(graph.num_nodes(), self.size)
            states = states.index_copy(0, batch.encoder, self.embed(inputs, batch.inputs))
            graph.ndata["x"] = states.index_copy(0, batch.decoder, self.embed(outputs, batch.outputs))
            for layer in self.encoder:
                norm = self.norms[0] if layer is self.encoder[-1] else nn.Identity()
                self.update(graph, batch.within_encoder, [(layer.own, layer.norms[0], "qkv", batch.encoder)],
                            batch.encoder, lambda nodes: norm(layer.finish(nodes, layer.own)))
            for layer in self.decoder:
                norm = self.norms[1] if layer is self.decoder[-1] else nn.Identity()
                self.update(graph, batch.within_decoder, [(layer.own, layer.norms[0], "qkv", batch.decoder)],
                            batch.decoder, lambda nodes: layer.add_attention(nodes, layer.own))
                self.update(graph, batch.across, [(layer.cross, layer.norms[1], "q", batch.decoder),
                                                  (layer.cross, nn.Identity(), "kv", batch.encoder)],
                            batch.decoder, lambda nodes: norm(layer.finish(nodes, layer.cross)))
            return graph.ndata["x"][batch.decoder] @ self.embedding.weight.t()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", choices=["dgl", "edgewise.torch"], default="dgl")
    for name, value in [("heads", 1), ("head-size", 128), ("layers", 1), ("batch", 128), ("length", 9),
                        ("repetitions", 20), ("threads", 2)]:
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    library = importlib.import_module(arguments.graphs)
    importlib.import_module(f"{arguments.graphs}.function")
    batch = Batch(library, arguments.batch, arguments.length)
    model = Model(library, arguments.heads * arguments.head_size, arguments.heads, arguments.layers)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    seconds, losses = [], []
    for _ in range(3 + arguments.repetitions):
        letters = torch.randint(FIRST_LETTER, VOCABULARY, (arguments.batch, arguments.length))
        begin, end = torch.full((arguments.batch, 1), BEGIN), torch.full((arguments.batch, 1), END)
        outputs, labels = torch.cat([begin, letters], 1).flatten(), torch.cat([letters, end], 1).flatten()
        start = time.perf_counter()
        adam.zero_grad()
        logits = model(batch, letters.flatten(), outputs)
        loss = nn.functional.cross_entropy(logits, labels, label_smoothing=0.1)
        loss.backward()
        adam.step()
        seconds.append(time.perf_counter() - start)
        losses.append(loss.item())
    if not losses[-1] < losses[0]:
        raise ValueError(f"the loss goes from {losses[0]:.3f} to {losses[-1]:.3f}, needs to fall")
    step = statistics.median(seconds[3:])
    print(json.dumps({"step_ms": 1e3 * step, "output_tokens_per_second": arguments.batch * batch.outputs / step,
                      "first_loss": losses[0], "last_loss": losses[-1],
                      "version": f"{arguments.graphs} {getattr(library, '__version__', '')}, torch {torch.__version__}"}))


if __name__ == "__main__":
    main()
