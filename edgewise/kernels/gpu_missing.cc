// SPDX-License-Identifier: Apache-2.0
// The functions of kernels for GPUs in a program without CUDA: each of them throws Error. Tests link the kernels for
// the emulator (tests/emulator/) in the place of this file.
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/bitmap_attention.h"
#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/attention/scatter_rows.h"
#include "edgewise/kernels/attention/sparse_attention.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/kernels/gemm/linear_product.h"
#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/loss/rdrop_loss.h"
#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/optimiser/adam.h"
#include "edgewise/kernels/rows/rows.h"

namespace edgewise::kernels {
namespace {

[[noreturn]] void fail_without_kernels(std::string_view function) {
  fail("{}: this build has no kernels for GPUs, needs a program with CUDA; build it with make all CUDA=1", function);
}

}  // namespace

// A function, or the specialisation of a function template.
#define EDGEWISE_MISSING(Result, function, ...) \
  Result function(__VA_ARGS__) { fail_without_kernels(#function); }

EDGEWISE_MISSING(std::int64_t, interval_backward_workspace, const RelationView&, std::int64_t)
EDGEWISE_MISSING(std::int64_t, sparse_backward_workspace, const RelationView&, std::int64_t)
EDGEWISE_MISSING(void, reduce_logits_tile, const LogitsTile&, device::Stream)
EDGEWISE_MISSING(void, adam_update, const AdamArguments&, device::Stream)
EDGEWISE_MISSING(void, sum_squares, const float*, std::int64_t, float*, double*, device::Stream)
EDGEWISE_MISSING(void, divide_by_norm, const DivideByNorm&, device::Stream)

template <>
bool can_attend_bitmaps<float>(std::int64_t, std::int64_t) {
  fail_without_kernels("can_attend_bitmaps");
}
template <>
bool can_attend_bitmaps<BFloat16>(std::int64_t, std::int64_t) {
  fail_without_kernels("can_attend_bitmaps");
}
template <>
bool can_attend_intervals<float>(std::int64_t, std::int64_t) {
  fail_without_kernels("can_attend_intervals");
}
template <>
bool can_attend_intervals<BFloat16>(std::int64_t, std::int64_t) {
  fail_without_kernels("can_attend_intervals");
}
template <>
EDGEWISE_MISSING(void, bitmap_attention_forward, const AttentionForward<float>&, const BitmapRelationView&,
                 device::Stream)
template <>
EDGEWISE_MISSING(void, bitmap_attention_forward, const AttentionForward<BFloat16>&, const BitmapRelationView&,
                 device::Stream)
template <>
EDGEWISE_MISSING(void, bitmap_attention_backward, const AttentionBackward<float>&, const BitmapRelationView&, void*,
                 device::Stream)
template <>
EDGEWISE_MISSING(void, bitmap_attention_backward, const AttentionBackward<BFloat16>&, const BitmapRelationView&, void*,
                 device::Stream)
template <>
EDGEWISE_MISSING(void, interval_attention_forward, const AttentionForward<float>&, const RelationView&, device::Stream)
template <>
EDGEWISE_MISSING(void, interval_attention_forward, const AttentionForward<BFloat16>&, const RelationView&,
                 device::Stream)
template <>
EDGEWISE_MISSING(void, interval_attention_backward, const AttentionBackward<float>&, const RelationView&, void*,
                 device::Stream)
template <>
EDGEWISE_MISSING(void, interval_attention_backward, const AttentionBackward<BFloat16>&, const RelationView&, void*,
                 device::Stream)
template <>
EDGEWISE_MISSING(void, scatter_rows, const ScatterRows<float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, scatter_rows, const ScatterRows<BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, sparse_attention_forward, const AttentionForward<float>&, const RelationView&, device::Stream)
template <>
EDGEWISE_MISSING(void, sparse_attention_forward, const AttentionForward<BFloat16>&, const RelationView&, device::Stream)
template <>
EDGEWISE_MISSING(void, sparse_attention_weights, const AttentionWeights<float>&, const RelationView&, device::Stream)
template <>
EDGEWISE_MISSING(void, sparse_attention_weights, const AttentionWeights<BFloat16>&, const RelationView&, device::Stream)
template <>
EDGEWISE_MISSING(void, sparse_attention_backward, const AttentionBackward<float>&, const RelationView&,
                 const EdgesBySourceView&, void*, device::Stream)
template <>
EDGEWISE_MISSING(void, sparse_attention_backward, const AttentionBackward<BFloat16>&, const RelationView&,
                 const EdgesBySourceView&, void*, device::Stream)
template <>
EDGEWISE_MISSING(void, dropout, const Dropout&, std::int64_t, const float*, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, dropout, const Dropout&, std::int64_t, const float*, BFloat16*, device::Stream)
template <>
EDGEWISE_MISSING(void, dropout, const Dropout&, std::int64_t, const BFloat16*, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, dropout, const Dropout&, std::int64_t, const BFloat16*, BFloat16*, device::Stream)
template <>
EDGEWISE_MISSING(void, embed_forward, const EmbedForward<float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, embed_backward, const EmbedBackward<float>&, const TokenGroupsView&, device::Stream)
template <>
EDGEWISE_MISSING(void, activate, const ActivationForward<float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, activate, const ActivationForward<float, BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, activate, const ActivationForward<BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, activation_gradient, const ActivationGradient<float>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, activation_gradient, const ActivationGradient<BFloat16>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, rdrop_loss, const RDropLoss<float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, rdrop_loss, const RDropLoss<BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, softmax_loss, const SoftmaxLoss<float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, softmax_loss, const SoftmaxLoss<BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_dropout, const AddDropout<float, float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_dropout, const AddDropout<float, BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_dropout, const AddDropout<BFloat16, BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_forward, const AddNormForward<float, float, float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_forward, const AddNormForward<float, float, BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_forward, const AddNormForward<float, BFloat16, float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_forward, const AddNormForward<float, BFloat16, BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_forward, const AddNormForward<BFloat16, BFloat16, float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_forward, const AddNormForward<BFloat16, BFloat16, BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_backward, const AddNormBackward<float, float, float>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_backward, const AddNormBackward<float, float, BFloat16>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_backward, const AddNormBackward<float, BFloat16, float>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_backward, const AddNormBackward<float, BFloat16, BFloat16>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_backward, const AddNormBackward<BFloat16, BFloat16, float>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, add_norm_backward, const AddNormBackward<BFloat16, BFloat16, BFloat16>&, float*, device::Stream)
template <>
EDGEWISE_MISSING(void, gather_rows, const IndexedRows<float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, gather_rows, const IndexedRows<BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, place_rows, const IndexedRows<float>&, device::Stream)
template <>
EDGEWISE_MISSING(void, place_rows, const IndexedRows<BFloat16>&, device::Stream)
template <>
EDGEWISE_MISSING(void, sum_rows, const SumRows<float>&, const RelationView&, device::Stream)
template <>
EDGEWISE_MISSING(void, sum_rows, const SumRows<BFloat16>&, const RelationView&, device::Stream)
#undef EDGEWISE_MISSING

class GpuProducts::Library {
};

GpuProducts::GpuProducts(device::Stream /*stream*/) { fail_without_kernels("GpuProducts"); }
GpuProducts::~GpuProducts() = default;
template <>
void GpuProducts::multiply(const LinearProduct<float>& /*p*/) {}
template <>
void GpuProducts::multiply(const LinearProduct<BFloat16>& /*p*/) {}

}  // namespace edgewise::kernels
