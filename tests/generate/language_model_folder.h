// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/random.h"
#include "edgewise/options/experiment.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

/// The tensors of a language model with random numbers, of which neither libtorch nor a training is needed.
class RandomLanguageModel {
 public:
  explicit RandomLanguageModel(const TransformerOptions& options, std::uint64_t seed = 1) : random_(seed) {
    const std::int64_t size = options.size;
    const std::int64_t vocabulary = options.output_vocabulary;
    add("output_embedding.weight", {vocabulary, size}, 1);
    if (options.num_learned_positions() > 0) add("output_positions.weight", {options.max_positions, size}, 1);
    if (options.tying == Tying::kNone) add("generator.weight", {vocabulary, size}, 1);
    add("generator.bias", {vocabulary}, 0.5);
    for (std::int64_t i = 0; i < options.decoder_layers; ++i) {
      const std::string layer = "decoder.layers." + std::to_string(i) + ".";
      for (const char* part : {"query", "key", "value", "output"}) {
        add_linear(layer + "self_attention." + part, size, size);
      }
      add_linear(layer + "feed_forward.inner", size, options.feed_forward);
      add_linear(layer + "feed_forward.outer", options.feed_forward, size);
      add_norm(layer + "self_attention_norm", size);
      add_norm(layer + "feed_forward_norm", size);
    }
    if (options.final_norm) add_norm("decoder.norm", size);
  }

  std::string bytes() const { return serialize_safetensors(tensors_); }

 private:
  void add(const std::string& name, const std::vector<std::int64_t>& shape, double deviation, double mean = 0) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<float>& values = memory_.emplace_back(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(mean + deviation * random_.normal());
    const auto bytes = std::as_bytes(std::span(values));
    tensors_.push_back({name, DType::kF32, shape, bytes});
  }
  void add_linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<double>(in)));
    add(name + ".bias", {out}, 0.1);
  }
  void add_norm(const std::string& name, std::int64_t size) {
    add(name + ".gain", {size}, 0.1, 1);
    add(name + ".bias", {size}, 0.1);
  }

  RandomStream random_;
  std::list<std::vector<float>> memory_;
  std::vector<TensorInfo> tensors_;
};

/// Returns small options of a language model.
inline TransformerOptions small_language_model_options() {
  TransformerOptions options;
  options.kind = ModelKind::kLanguageModel;
  options.decoder_layers = 2;
  options.size = 16;
  options.heads = 2;
  options.feed_forward = 24;
  options.tying = Tying::kNone;
  return options;
}

/// Writes the directory of a language model with random numbers, whose tokens are the characters of `text`.
inline void write_language_model(const std::filesystem::path& directory, const std::string& text = "abcdefgh ijk.\n",
                                 TransformerOptions options = small_language_model_options()) {
  const std::vector<std::string> sentences = {text};
  const auto vocabulary = build_vocabulary({std::span(sentences)}, {.kind = VocabularyKind::kCharacters});
  Experiment experiment;
  experiment.model = options;
  experiment.vocabulary.shared = true;
  options.input_vocabulary = options.output_vocabulary = vocabulary->size();
  DirectoryWriter writer(directory);
  writer.write(kConfigFile, to_toml(experiment));
  for (const auto& [name, bytes] : serialize_vocabularies({vocabulary, vocabulary}, /*is_shared=*/true)) {
    writer.write(name, bytes);
  }
  writer.write(kParametersFile, RandomLanguageModel(options).bytes());
  writer.commit();
}

}  // namespace edgewise
