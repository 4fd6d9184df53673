# SPDX-License-Identifier: Apache-2.0
"""The operations on tensors that DGL's tests take from the module of this name."""
import contextlib

import torch
from torch import bfloat16, bool, float16, float32, float64, int32, int64  # noqa: F401

backend_name = "pytorch"


def cpu():
    return torch.device("cpu")


def tensor(data, dtype=None):
    return torch.as_tensor([data] if isinstance(data, (int, float)) else data, dtype=dtype)


def zeros(shape, dtype, ctx):
    return torch.zeros(shape, dtype=dtype)


def ones(shape, dtype, ctx):
    return torch.ones(shape, dtype=dtype)


def full_1d(length, fill_value, dtype, ctx):
    return torch.full((length,), fill_value, dtype=dtype)


def arange(start, stop, dtype=int64, ctx=None):
    return torch.arange(start, stop, dtype=dtype)


def randint(shape, dtype, ctx, low, high):
    return torch.randint(low, high, shape, dtype=dtype)


def copy_to(x, ctx, **options):
    return x


def context(x):
    return x.device


def asnumpy(x):
    return x.detach().numpy()


def as_scalar(x):
    return x.item()


zerocopy_to_numpy, zerocopy_from_numpy = asnumpy, torch.as_tensor


def attach_grad(x):
    if x.grad is not None:
        x.grad.zero_()
        return x
    return x.requires_grad_()


def backward(x, head_gradient=None):
    x.backward(None if head_gradient is None else head_gradient.reshape(x.shape))


def grad(x):
    return x.grad


def record_grad():
    return contextlib.nullcontext()


def astype(x, dtype):
    return x.to(dtype)


def dtype(x):
    return x.dtype


def shape(x):
    return x.shape


def ndim(x):
    return x.dim()


def softmax(x, dim=-1):
    return torch.softmax(x, dim)


def mean(x, dim):
    return x.mean(dim)


def cat(tensors, dim):
    return torch.cat(tensors, dim)


def stack(tensors, dim):
    return torch.stack(tensors, dim)


def repeat(x, repeats, dim):
    return torch.repeat_interleave(x, repeats, dim)


def reshape(x, sizes):
    return x.reshape(sizes)


def unsqueeze(x, dim):
    return x.unsqueeze(dim)


def gather_row(x, rows):
    return x.index_select(0, rows.to(int64))


def scatter_row(x, rows, values):
    return x.index_copy(0, rows.to(int64), values)


def zeros_like(x):
    return torch.zeros_like(x)


def replace_inf_with_zero(x):
    return x.masked_fill(x.isinf(), 0)
