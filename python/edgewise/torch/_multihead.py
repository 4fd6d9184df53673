# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention along the edges of a relation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import _checks as checks
from ._attend import attend, attention_weights
from ._relation import Relation


class MultiheadAttention(nn.Module):
    """torch.nn.MultiheadAttention with a relation in the place of masks, lengths and batch dimensions.

    The parameters have the names and shapes of those of torch.nn.MultiheadAttention: `load_state_dict` takes its state,
    and `from_torch` its parameters. `forward` takes nodes [nodes, embed_dim], or jagged nested tensors [graphs, nodes,
    embed_dim].
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 kdim: int | None = None, vdim: int | None = None, device: Any = None,
                 dtype: torch.dtype | None = None) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads != 0:
            checks.fail(f"MultiheadAttention: embed_dim is {embed_dim} and num_heads is {num_heads}, needs a positive "
                        "multiple of a positive number")
        checks.check_dropout("MultiheadAttention", dropout)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        factory: dict[str, Any] = {"device": device, "dtype": dtype}

        def parameter(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape, **factory))

        self._has_one_weight = self.kdim == embed_dim and self.vdim == embed_dim
        if self._has_one_weight:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = parameter(embed_dim, embed_dim)
            self.k_proj_weight = parameter(embed_dim, self.kdim)
            self.v_proj_weight = parameter(embed_dim, self.vdim)
        self.in_proj_bias = parameter(3 * embed_dim) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias, **factory)
        self.reset_parameters()

    @staticmethod
    def from_torch(module: nn.MultiheadAttention) -> MultiheadAttention:
        """Makes a module that shares the parameters of a torch.nn.MultiheadAttention, and is in the same mode."""
        if not isinstance(module, nn.MultiheadAttention):
            raise TypeError(f"from_torch: module is {type(module).__name__}, needs a torch.nn.MultiheadAttention")
        for name, is_used in (("add_bias_kv", module.bias_k is not None), ("add_zero_attn", module.add_zero_attn)):
            if is_used:
                checks.fail(f"from_torch: module has {name}=True, needs False; add a node and its edges to the "
                            "relation")
        has_bias = module.in_proj_bias is not None
        result = MultiheadAttention(module.embed_dim, module.num_heads, module.dropout, has_bias, module.kdim,
                                    module.vdim, device="meta")
        for name, parameter in module.named_parameters():
            owner, _, last = name.rpartition(".")
            setattr(result.get_submodule(owner), last, parameter)
        return result.train(module.training)

    def reset_parameters(self) -> None:
        """Initialises the parameters as torch.nn.MultiheadAttention does."""
        for weight in self._weights() if not self._has_one_weight else [self.in_proj_weight]:
            nn.init.xavier_uniform_(weight)
        self.out_proj.reset_parameters()
        if self.in_proj_bias is not None:
            nn.init.zeros_(self.in_proj_bias)
            nn.init.zeros_(self.out_proj.bias)

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}"

    def forward(self, relation: Relation, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
                edge_bias: Tensor | None = None) -> Tensor:
        """Returns the new states of the destinations, in the shape of `query`.

        `key` is by default `query`, and `value` is by default `key`. Drops weights in training mode only.
        """
        key = query if key is None else key
        queries, keys, values = self._project(query, key, key if value is None else value)
        out = attend(relation, queries, keys, values, edge_bias, self.dropout if self.training else 0.0)
        result: Tensor = self.out_proj(out.flatten(-2))
        return result

    def attention_weights(self, relation: Relation, query: Tensor, key: Tensor | None = None,
                          edge_bias: Tensor | None = None) -> Tensor:
        """Returns the weights of all edges and heads, [edges, heads], before dropout."""
        queries, keys = self._project(query, query if key is None else key)
        return attention_weights(relation, queries, keys, edge_bias)

    def _weights(self) -> list[Tensor]:
        if self._has_one_weight:
            return list(self.in_proj_weight.chunk(3))
        return [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]

    def _project(self, *inputs: Tensor) -> list[Tensor]:
        """Returns the heads of query, key and, if given, value: [..., heads, head size]."""
        for name, tensor, size in zip(("query", "key", "value"), inputs, (self.embed_dim, self.kdim, self.vdim)):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"MultiheadAttention: {name} is {tensor!r:.80}, needs a tensor")
            if tensor.dim() != (3 if tensor.is_nested else 2) or tensor.shape[-1] != size:
                checks.fail(f"MultiheadAttention: {name} has shape {list(tensor.shape)}, needs [nodes, {size}] or a "
                            f"jagged tensor [graphs, nodes, {size}]")
        bias = self.in_proj_bias
        if self._has_one_weight and len(inputs) == 3 and all(tensor is inputs[0] for tensor in inputs):
            parts = F.linear(inputs[0], self.in_proj_weight, bias).chunk(3, -1)
        else:
            biases = (None,) * 3 if bias is None else bias.chunk(3)
            parts = tuple(map(F.linear, inputs, self._weights(), biases))
        split = (self.num_heads, self.embed_dim // self.num_heads)
        return [torch.unflatten(part, -1, split) for part in parts]
