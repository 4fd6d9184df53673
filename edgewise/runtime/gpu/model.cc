// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/model.h"

#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/sparse_attention.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/runtime/gpu/scorer.h"
#include "edgewise/runtime/gpu/weights.h"
#include "edgewise/runtime/weight_packer.h"

namespace edgewise {
namespace {

using AnyGpuWeights = std::variant<GpuWeights<float>, GpuWeights<BFloat16>>;

void check_kernels(const TransformerOptions& options, RuntimePrecision precision) {
  check(options.kind == ModelKind::kTransformer,
        "GpuModel: model.kind is {}, needs transformer; run the model on the CPU", enum_name(options.kind));
  check(!options.has_ssru(), "GpuModel: model.decoder_mixer is ssru, needs attention; translate on the CPU");
  check(!options.log_scale, "GpuModel: model.log_scale is true, needs false; translate on the CPU");
  check(!options.mirror_positions, "GpuModel: model.mirror_positions is true, needs false; translate on the CPU");
  check(!options.exits.can_halt(),
        "GpuModel: model.exits.threshold is {}, needs 1; translate on the CPU, or set exit_threshold to 1",
        options.exits.threshold);
  check(options.decoder_patterns().is_default(),
        "GpuModel: model.relation has patterns, needs causal; translate on the CPU");
  check(options.encoder_patterns().is_default(),
        "GpuModel: model.encoder_relation has patterns, needs complete; translate on the CPU");
  check(options.score == ScoreKind::kDot, "GpuModel: model.score is additive, needs dot; translate on the CPU");
  check(options.num_key_value_heads() == options.heads,
        "GpuModel: model.key_value_heads is {}, needs 0; translate on the CPU", options.key_value_heads);
  check(!options.feed_forward_gate, "GpuModel: model.feed_forward_gate is true, needs false; translate on the CPU");
  check(has_position_vectors(options.positions) || options.positions == PositionKind::kNone,
        "GpuModel: model.positions is {}, needs none or position vectors; translate on the CPU",
        enum_name(options.positions));
  const std::int64_t head_size = options.size / options.heads;
  check(kernels::can_attend_edges(head_size, head_size),
        "GpuModel: heads have {} dimensions, needs a multiple of 8 up to 128; translate on the CPU", head_size);
  check(kernels::can_add_norm(options.size), "GpuModel: model.size is {}, needs at most {}; translate on the CPU",
        options.size, options.size % 4 == 0 ? 8192 : 2048);
  check(precision != RuntimePrecision::kInt8, "GpuModel: precision is int8, needs fp32 or bf16");
}

/// Copies parameters to memory of a stream.
template <typename T>
class GpuStore {
 public:
  using Type = OnGpu<T>;

  explicit GpuStore(const GpuStream& stream) : stream_(stream) {}

  static HeadLayout heads(const LayerOptions& options) {
    const std::int64_t head_size = options.size / options.heads;
    return {options.heads, head_size, options.heads, head_size};
  }
  static std::int64_t query_place(std::int64_t i, const HeadLayout& /*heads*/) { return i; }
  static std::int64_t key_place(std::int64_t i, const HeadLayout& /*heads*/) { return i; }
  static std::int64_t tile_size(std::int64_t vocabulary) { return vocabulary; }

  GpuLinear<T> linear(const WeightRows& weight, const std::vector<float>& bias) {
    return linear(weight.matrix->to_floats(weight.first, weight.count), bias, weight.matrix->columns());
  }

  /// Copies a layer with a multiple of 4 outputs. The additional ones are -infinity, so that they have no probability.
  /// The order in which a kernel sums the logits of a row depends on the row's alignment, so on the other rows.
  GpuLinear<T> output_projection(const WeightRows& weight, std::vector<float> bias) {
    const std::int64_t inputs = weight.matrix->columns();
    if (bias.empty()) bias.resize(static_cast<std::size_t>(weight.count));
    bias.resize((bias.size() + 3) / 4 * 4, -std::numeric_limits<float>::infinity());
    std::vector<float> values = weight.matrix->to_floats(weight.first, weight.count);
    values.resize(bias.size() * static_cast<std::size_t>(inputs));
    return linear(values, bias, inputs);
  }

  GpuArray<float> floats(const std::vector<float>& values) { return array(values); }

 private:
  GpuLinear<T> linear(const std::vector<float>& weight, const std::vector<float>& bias, std::int64_t inputs) {
    const std::int64_t outputs = std::ssize(weight) / inputs;
    return {array(std::vector<T>(weight.begin(), weight.end())), array(bias), inputs, outputs};
  }

  template <typename E>
  GpuArray<E> array(const std::vector<E>& values) {
    GpuArray<E> copy;
    if (!values.empty()) copy_.begin(std::span<const E>(values), copy, stream_);
    return copy;
  }

  const GpuStream& stream_;
  StagedCopy copy_;
};

/// Copies the parameters in `file` to the GPU that the thread uses, and rounds weights to T. Has the errors of
/// pack_weights(). Throws std::exception if the GPU has not enough memory.
template <typename T>
GpuWeights<T> copy_weights_to_gpu(const TransformerOptions& options, const SafetensorsFile& file,
                                  const std::string& file_name, const StopRequest* stop) {
  auto stream = std::make_unique<const GpuStream>();
  GpuStore<T> store(*stream);
  Weights<OnGpu<T>> weights = WeightPacker(options, file, file_name, stop, store).pack();
  device::wait_for(*stream);
  return {.stream = std::move(stream), .weights = std::move(weights)};
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
