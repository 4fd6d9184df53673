// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/fixed_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "edgewise/base/random.h"

namespace edgewise {
namespace {

constexpr std::int64_t kLayers = 2;
constexpr std::int64_t kSize = 64;
constexpr std::int64_t kFeedForward = 144;
constexpr std::int64_t kVocabulary = 1100;  // two tiles of the output projection

/// Draws numbers from [-1, 1) without functions of the mathematical library, whose last bits differ between machines.
std::vector<float> draw_numbers(std::int64_t count, RandomStream& random) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(static_cast<std::int32_t>(random.next_u32())) * 0x1p-31f;
  return numbers;
}

/// Draws parameters by name.
class FixedParameters {
 public:
  /// Draws numbers from [mean - range, mean + range).
  void add(const std::string& name, std::vector<std::int64_t> shape, float range, float mean = 0) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<float>& numbers = numbers_.emplace_back(draw_numbers(count, random_));
    for (float& number : numbers) number = mean + range * number;
    tensors_.push_back({.name = name,
                        .dtype = DType::kF32,
                        .shape = std::move(shape),
                        .bytes = std::as_bytes(std::span<const float>(numbers))});
  }

  void add_norm(const std::string& name) {
    add(name + ".gain", {kSize}, 0.25f, 1);
    add(name + ".bias", {kSize}, 0.25f);
  }

  /// Draws weights of a variance of 1 / in.
  void add_linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in}, std::sqrt(3 / static_cast<float>(in)));
    add(name + ".bias", {out}, 0.25f);
  }

  void add_attention(const std::string& name) {
    for (const char* part : {".query", ".key", ".value", ".output"}) add_linear(name + part, kSize, kSize);
    add_norm(name + "_norm");
  }

  void add_layer(const std::string& name, std::initializer_list<const char*> attentions) {
    for (const char* attention : attentions) add_attention(name + attention);
    add_linear(name + "feed_forward.inner", kSize, kFeedForward);
    add_linear(name + "feed_forward.outer", kFeedForward, kSize);
    add_norm(name + "feed_forward_norm");
  }

  SafetensorsFile file() const { return SafetensorsFile::parse(serialize_safetensors(tensors_), "the fixed model"); }

 private:
  RandomStream random_{/*seed=*/7};
  std::vector<std::vector<float>> numbers_;  // the tensors' bytes; growing the outer vector keeps them in place
  std::vector<TensorInfo> tensors_;
};

}  // namespace

TransformerOptions fixed_model_options() {
  TransformerOptions options;
  options.encoder_layers = options.decoder_layers = kLayers;
  options.size = kSize;
  options.heads = 4;
  options.feed_forward = kFeedForward;
  options.tying = Tying::kNone;
  options.input_vocabulary = options.output_vocabulary = kVocabulary;
  return options;
}

SafetensorsFile fixed_model_parameters() {
  FixedParameters parameters;
  parameters.add("input_embedding.weight", {kVocabulary, kSize}, 0.25f);
  parameters.add("output_embedding.weight", {kVocabulary, kSize}, 0.25f);
  parameters.add("generator.weight", {kVocabulary, kSize}, 0.5f);
  parameters.add("generator.bias", {kVocabulary}, 0.25f);
  for (std::int64_t i = 0; i < kLayers; ++i) {
    const std::string number = std::to_string(i);
    parameters.add_layer("encoder.layers." + number + ".", {"self_attention"});
    parameters.add_layer("decoder.layers." + number + ".", {"self_attention", "cross_attention"});
  }
  parameters.add_norm("encoder.norm");
  parameters.add_norm("decoder.norm");
  return parameters.file();
}

SearchOptions fixed_search_options() { return {.beam = 4, .max_length = 12}; }

const std::vector<FixedOutput>& fixed_outputs() {
  static const std::vector<FixedOutput> outputs = {
      {.input = {4, 9, 5, 3},
       .output = {280, 1002, 225, 768, 690, 252, 723, 91, 858, 863, 795, 847},
       .log_probability = -29.069908},
      {.input = {1000, 3},
       .output = {2, 280, 841, 221, 943, 498, 499, 946, 1040, 280, 221, 943},
       .log_probability = -35.642665},
      {.input = {5, 5, 40, 700, 7, 9, 10, 30, 4, 6, 5, 8, 999, 4, 4, 55, 7, 1099, 81, 82, 83, 84, 85, 86, 87, 88, 3},
       .output = {89, 480, 480, 480, 480, 480, 480, 480, 16, 795, 403, 899},
       .log_probability = -29.353820},
      {.input = {500, 501, 502, 503, 504, 505, 506, 3},
       .output = {670, 1084, 723, 102, 119, 454, 114, 359, 670, 91, 858, 265},
       .log_probability = -33.419983}};
  return outputs;
}

}  // namespace edgewise
