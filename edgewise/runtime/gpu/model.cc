// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/model.h"

#include <variant>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/sparse_attention.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/runtime/gpu/scorer.h"
#include "edgewise/runtime/gpu/weights.h"

namespace edgewise {
namespace {

using AnyGpuWeights = std::variant<GpuWeights<float>, GpuWeights<BFloat16>>;

void check_kernels(const TransformerOptions& options, RuntimePrecision precision) {
  check(options.kind == ModelKind::kTransformer,
        "GpuModel: model.kind is universal, needs transformer; translate on the CPU");
  check(options.score == ScoreKind::kDot, "GpuModel: model.score is additive, needs dot; translate on the CPU");
  const std::int64_t head_size = options.size / options.heads;
  check(kernels::can_attend_edges(head_size, head_size),
        "GpuModel: heads have {} dimensions, needs a multiple of 8 up to 128; translate on the CPU", head_size);
  check(kernels::can_add_norm(options.size), "GpuModel: model.size is {}, needs at most {}; translate on the CPU",
        options.size, options.size % 4 == 0 ? 8192 : 2048);
  check(precision != RuntimePrecision::kInt8, "GpuModel: precision is int8, needs fp32 or bf16");
}

AnyGpuWeights copy(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                   const GpuModelOptions& gpu_options) {
  check_options(options);
  check_kernels(options, gpu_options.precision);
  device::use_gpu(gpu_options.gpu);
  if (gpu_options.precision == RuntimePrecision::kBf16) {
    return copy_weights_to_gpu<BFloat16>(options, file, file_name, gpu_options.stop);
  }
  return copy_weights_to_gpu<float>(options, file, file_name, gpu_options.stop);
}

}  // namespace

struct GpuModel::Copied {
  AnyGpuWeights weights;
  std::int64_t gpu;
};

GpuModel::GpuModel(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
                   const GpuModelOptions& gpu_options)
    : copied_(new Copied{copy(options, file, file_name, gpu_options), gpu_options.gpu}) {}

GpuModel::~GpuModel() = default;
GpuModel::GpuModel(GpuModel&& other) noexcept = default;
GpuModel& GpuModel::operator=(GpuModel&& other) noexcept = default;

const TransformerOptions& GpuModel::options() const {
  return std::visit([](const auto& weights) -> const TransformerOptions& { return weights.weights.options; },
                    copied_->weights);
}

std::unique_ptr<Scorer> GpuModel::make_scorer(const CrossHeads& recorded_heads) const {
  return std::visit([&](const auto& weights) { return make_gpu_scorer(weights, recorded_heads, copied_->gpu); },
                    copied_->weights);
}

}  // namespace edgewise
