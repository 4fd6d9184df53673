# SPDX-License-Identifier: Apache-2.0
"""The bytes and operations that each kernel for GPUs must at least move and compute, for a stated problem.

The training problems are a step of the base Transformer in bf16, with residuals in fp32."""
import dataclasses

TOKENS = 16384
SIZE = 512
INNER = 2048
HEADS = 8
HEAD_SIZE = 64
VOCABULARY = 32000
LOSS_ROWS = 1024
PARAMETERS = 65e6
HYPOTHESES = 512
LENGTH = 2048  # of the TOKENS / LENGTH sequences, each of which attends to itself
NODES, DEGREE = 8192, 32  # of the relation in CSR form

BANDWIDTH = 3.35e12  # bytes/s of an H100 SXM
TENSOR_CORES = 989e12  # operations/s in bf16, dense
FLOATS = 67e12  # operations/s in fp32


@dataclasses.dataclass(frozen=True)
class Roofline:
    problem: str
    bytes: float
    operations: float = 0
    peak: float = FLOATS

    def seconds(self):
        """Returns the time, and what limits it."""
        memory, computing = self.bytes / BANDWIDTH, self.operations / self.peak
        if memory >= computing:
            return memory, "memory"
        return computing, "tensor cores" if self.peak == TENSOR_CORES else "fp32 units"


def tokens(columns, bytes_of_number, operations_of_number=0):
    """A pass over [TOKENS, columns]."""
    numbers = TOKENS * columns
    return Roofline(f"{TOKENS:,} × {columns:,}", numbers * bytes_of_number, numbers * operations_of_number)


def attention(products, tensors, number_bytes, peak):
    """`products` matrix products over all edges, and `tensors` tensors [TOKENS, SIZE] that are read or written once."""
    edges = TOKENS * LENGTH
    return Roofline(f"{TOKENS // LENGTH} sequences of {LENGTH:,}, {HEADS} heads of {HEAD_SIZE}",
                    tensors * TOKENS * SIZE * number_bytes, products * 2 * edges * HEADS * HEAD_SIZE, peak)


def sparse(products, tensors):
    """As attention(), in bf16 over NODES nodes with DEGREE edges each."""
    edges = NODES * DEGREE
    return Roofline(f"{NODES:,} nodes with {DEGREE} edges, {HEADS} heads of {HEAD_SIZE}",
                    tensors * NODES * HEADS * HEAD_SIZE * 2 + 4 * edges, products * 2 * edges * HEADS * HEAD_SIZE)


def loss():
    """Reads logits of fp32, and writes gradients of bf16."""
    numbers = LOSS_ROWS * VOCABULARY
    return Roofline(f"{LOSS_ROWS:,} × {VOCABULARY:,}", 6 * numbers, 10 * numbers)


def small(problem, numbers):
    return Roofline(problem, 4 * numbers, numbers)


ROOFLINES = {
    "ActivationPass": tokens(INNER, 4, 20),
    "ActivationGradientChunk": tokens(INNER, 6, 30),
    "ChunkSums": small("sums of 128 chunks", 128 * INNER),
    "AdamKernel": Roofline("65 million parameters", 32 * PARAMETERS, 15 * PARAMETERS),
    "SumSquaresKernel": Roofline("65 million parameters", 4 * PARAMETERS, 2 * PARAMETERS),
    "SumParts": small("parts of SumSquares", PARAMETERS / 8192),
    "DivideByNormKernel": small("one number", 4),
    "AddDropoutKernel": tokens(SIZE, 10, 2),
    "AddNormForwardKernel": tokens(SIZE, 12, 10),
    "AddNormBackwardKernel": tokens(SIZE, 16, 15),
    "SumNormParts": small("264 parts of gain and bias", 264 * 2 * SIZE),
    "DropoutKernel": tokens(INNER, 4, 10),
    "EmbedForwardKernel": tokens(SIZE, 8, 2),
    "EmbedBackwardKernel": tokens(SIZE, 12, 2),
    "CopyRowsKernel": tokens(SIZE, 4),
    "SumRowsKernel": tokens(SIZE, 4, 1),
    "ScatterRowsKernel": Roofline(f"{HYPOTHESES:,} × {2 * SIZE:,}", HYPOTHESES * 2 * SIZE * 6),
    "LogitsTileRows": Roofline(f"{HYPOTHESES:,} × {VOCABULARY:,}", HYPOTHESES * VOCABULARY * 4, HYPOTHESES * VOCABULARY * 5),
    "SoftmaxLossRows": loss(),
    "ConsistencyLossPairs": loss(),
    "TiledForward<Bf16Layout>": attention(2, 4, 2, TENSOR_CORES),
    "TiledForward<F32Layout>": attention(2, 4, 4, FLOATS),
    "RowRecords": attention(0, 2, 2, FLOATS),
    "TiledQueryGradient<Bf16Layout>": attention(3, 5, 2, TENSOR_CORES),
    "TiledQueryGradient<F32Layout>": attention(3, 5, 4, FLOATS),
    "TiledSourceGradient<Bf16Layout>": attention(4, 6, 2, TENSOR_CORES),
    "TiledSourceGradient<F32Layout>": attention(4, 6, 4, FLOATS),
    "SparseForward": sparse(2, 4),
    "SparseWeights": sparse(1, 2),
    "SparseBackwardRows": sparse(3, 6),
    "SparseBackwardSources": sparse(4, 6),
}

# Kernels of tests.
WITHOUT_ROOFLINE = {"PrimitiveKernel", "TileProduct", "TileProductKernel"}
