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

// A function, and the specialisation of a function template that returns nothing, for one type or for both.
#define EDGEWISE_MISSING(Result, function, ...) \
  Result function(__VA_ARGS__) { fail_without_kernels(#function); }
#define EDGEWISE_MISSING_CASE(function, ...) \
  template <>                                \
  EDGEWISE_MISSING(void, function, __VA_ARGS__)
#define EDGEWISE_MISSING_CASES(function, Arguments, ...)                \
  EDGEWISE_MISSING_CASE(function, const Arguments<float>&, __VA_ARGS__) \
  EDGEWISE_MISSING_CASE(function, const Arguments<BFloat16>&, __VA_ARGS__)

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
EDGEWISE_MISSING_CASES(bitmap_attention_forward, AttentionForward, const BitmapRelationView&, device::Stream)
EDGEWISE_MISSING_CASES(bitmap_attention_backward, AttentionBackward, const BitmapRelationView&, void*, device::Stream)
EDGEWISE_MISSING_CASES(interval_attention_forward, AttentionForward, const RelationView&, device::Stream)
EDGEWISE_MISSING_CASES(interval_attention_backward, AttentionBackward, const RelationView&, void*, device::Stream)
EDGEWISE_MISSING_CASES(scatter_rows, ScatterRows, device::Stream)
EDGEWISE_MISSING_CASES(sparse_attention_forward, AttentionForward, const RelationView&, device::Stream)
EDGEWISE_MISSING_CASES(sparse_attention_weights, AttentionWeights, const RelationView&, device::Stream)
EDGEWISE_MISSING_CASES(sparse_attention_backward, AttentionBackward, const RelationView&, const EdgesBySourceView&,
                       void*, device::Stream)
EDGEWISE_MISSING_CASE(dropout, const Dropout&, std::int64_t, const float*, float*, device::Stream)
EDGEWISE_MISSING_CASE(dropout, const Dropout&, std::int64_t, const float*, BFloat16*, device::Stream)
EDGEWISE_MISSING_CASE(dropout, const Dropout&, std::int64_t, const BFloat16*, float*, device::Stream)
EDGEWISE_MISSING_CASE(dropout, const Dropout&, std::int64_t, const BFloat16*, BFloat16*, device::Stream)
EDGEWISE_MISSING_CASE(embed_forward, const EmbedForward<float>&, device::Stream)
EDGEWISE_MISSING_CASE(embed_backward, const EmbedBackward<float>&, const TokenGroupsView&, device::Stream)
EDGEWISE_MISSING_CASE(activate, const ActivationForward<float>&, device::Stream)
EDGEWISE_MISSING_CASE(activate, const ActivationForward<float, BFloat16>&, device::Stream)
EDGEWISE_MISSING_CASE(activate, const ActivationForward<BFloat16>&, device::Stream)
EDGEWISE_MISSING_CASES(activation_gradient, ActivationGradient, float*, device::Stream)
EDGEWISE_MISSING_CASES(consistency_loss, ConsistencyLoss, device::Stream)
EDGEWISE_MISSING_CASES(softmax_loss, SoftmaxLoss, device::Stream)
EDGEWISE_MISSING_CASE(add_dropout, const AddDropout<float, float>&, device::Stream)
EDGEWISE_MISSING_CASE(add_dropout, const AddDropout<float, BFloat16>&, device::Stream)
EDGEWISE_MISSING_CASE(add_dropout, const AddDropout<BFloat16, BFloat16>&, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_forward, const AddNormForward<float, float, float>&, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_forward, const AddNormForward<float, float, BFloat16>&, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_forward, const AddNormForward<float, BFloat16, float>&, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_forward, const AddNormForward<float, BFloat16, BFloat16>&, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_forward, const AddNormForward<BFloat16, BFloat16, float>&, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_forward, const AddNormForward<BFloat16, BFloat16, BFloat16>&, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_backward, const AddNormBackward<float, float, float>&, float*, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_backward, const AddNormBackward<float, float, BFloat16>&, float*, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_backward, const AddNormBackward<float, BFloat16, float>&, float*, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_backward, const AddNormBackward<float, BFloat16, BFloat16>&, float*, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_backward, const AddNormBackward<BFloat16, BFloat16, float>&, float*, device::Stream)
EDGEWISE_MISSING_CASE(add_norm_backward, const AddNormBackward<BFloat16, BFloat16, BFloat16>&, float*, device::Stream)
EDGEWISE_MISSING_CASES(gather_rows, IndexedRows, device::Stream)
EDGEWISE_MISSING_CASES(place_rows, IndexedRows, device::Stream)
EDGEWISE_MISSING_CASES(sum_rows, SumRows, const RelationView&, device::Stream)
#undef EDGEWISE_MISSING_CASES
#undef EDGEWISE_MISSING_CASE
#undef EDGEWISE_MISSING

class GpuProducts::Library {};

GpuProducts::GpuProducts(device::Stream /*stream*/) { fail_without_kernels("GpuProducts"); }
GpuProducts::~GpuProducts() = default;
template <>
void GpuProducts::multiply(const LinearProduct<float>& /*p*/) {}
template <>
void GpuProducts::multiply(const LinearProduct<BFloat16>& /*p*/) {}

}  // namespace edgewise::kernels
