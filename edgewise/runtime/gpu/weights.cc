// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/weights.h"

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/runtime/weight_packer.h"

namespace edgewise {
namespace {

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
  static std::int64_t place(std::int64_t i, const HeadLayout& /*heads*/) { return i; }
  static std::int64_t tile_size(std::int64_t vocabulary) { return vocabulary; }

  GpuLinear<T> linear(const WeightRows& weight, const std::vector<float>& bias) {
    return linear(weight.matrix->to_floats(weight.first, weight.count), bias, weight.matrix->columns());
  }

  /// Copies a layer with a multiple of 4 outputs. The additional ones are -infinity, so that they have no probability.
  /// The order in which a kernel sums the logits of a row depends on the row's alignment, so on the other rows.
  GpuLinear<T> output_projection(const WeightRows& weight, std::vector<float> bias) {
    const std::int64_t inputs = weight.matrix->columns();
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

}  // namespace

template <typename T>
GpuWeights<T> copy_weights_to_gpu(const TransformerOptions& options, const SafetensorsFile& file,
                                  const std::string& file_name, const StopRequest* stop) {
  auto stream = std::make_unique<const GpuStream>();
  GpuStore<T> store(*stream);
  Weights<OnGpu<T>> weights = WeightPacker(options, file, file_name, stop, store).pack();
  device::wait_for(*stream);
  return {.stream = std::move(stream), .weights = std::move(weights)};
}

template GpuWeights<float> copy_weights_to_gpu(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                               const StopRequest*);
template GpuWeights<BFloat16> copy_weights_to_gpu(const TransformerOptions&, const SafetensorsFile&, const std::string&,
                                                  const StopRequest*);

}  // namespace edgewise
