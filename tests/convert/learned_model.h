// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/tensor_layout.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "tests/convert/marian_twin.h"

namespace edgewise {

/// A post-norm model with a vocabulary that Edgewise learned and with random parameters.
class LearnedModel {
 public:
  LearnedModel() {
    learn(VocabularyKind::kSentencePiece, 40);
    TransformerOptions& model = options();
    model.size = 8;
    model.heads = 2;
    model.feed_forward = 16;
    model.encoder_layers = model.decoder_layers = 1;
    model.norm_placement = NormPlacement::kPost;
    model.final_norm = false;
    model.positions = PositionKind::kHalves;
    model.max_positions = 64;
    experiment_.data.max_length = 32;
    experiment_.data.end_input = true;
    experiment_.search.max_length = 40;
  }

  Experiment& experiment() { return experiment_; }
  TransformerOptions& options() { return experiment_.model; }
  std::vector<std::string> sentences() const { return sentences_; }

  /// Makes the model one that Marian can have.
  void use_marian() {
    set_marian_options(experiment_);
    options().activation = Activation::kSilu;
  }

  /// Gives the vocabulary tokens for bytes.
  void use_bytes() {
    experiment_.vocabulary.byte_fallback = ByteFallback::kAlways;
    learn(VocabularyKind::kSentencePiece, 296);
  }

  void use_words() { learn(VocabularyKind::kWords, 0); }

  /// Stores a matrix as I8 with this scale for each row.
  void quantize(const std::string& name, float scale) {
    quantized_ = name;
    scale_ = scale;
  }

  ImportedModel model() const {
    ImportedModel model = {"learned", experiment_, {vocabulary_, vocabulary_}, {}};
    std::uint64_t stream = 0;
    for (const ParameterShape& parameter : list_parameters(experiment_.model)) {
      add(parameter, ++stream, model.parameters);
    }
    return model;
  }

 private:
  void learn(VocabularyKind kind, std::int64_t size) {
    VocabularySection& section = experiment_.vocabulary;
    section.kind = kind;
    section.size = size;
    section.shared = true;
    vocabulary_ = build_vocabulary({std::span(sentences_)}, section);
    options().input_vocabulary = options().output_vocabulary = vocabulary_->size();
  }

  static std::string random_bytes(std::size_t count, std::uint64_t stream) {
    std::string bytes(count, '\0');
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(mix(stream, i) % 56);
    return bytes;
  }

  static void keep(std::string name, DType dtype, std::vector<std::int64_t> shape, std::string bytes,
                   StoredTensors& to) {
    const std::string_view kept = to.keep(std::move(bytes));
    to.tensors.push_back({std::move(name), dtype, std::move(shape), std::as_bytes(std::span(kept))});
  }

  /// Adds a parameter of finite random numbers: the top bytes of floats are below 56.
  void add(const ParameterShape& parameter, std::uint64_t stream, StoredTensors& to) const {
    std::size_t count = 1;
    for (const std::int64_t dimension : parameter.shape) count *= static_cast<std::size_t>(dimension);
    if (parameter.name == quantized_) {
      const std::vector<float> scales(static_cast<std::size_t>(parameter.shape[0]), scale_);
      const auto* bytes = reinterpret_cast<const char*>(scales.data());
      keep(parameter.name + ".scale", DType::kF32, {parameter.shape[0]}, {bytes, scales.size() * sizeof(float)}, to);
      keep(parameter.name, DType::kI8, parameter.shape, random_bytes(count, stream), to);
      return;
    }
    const DType dtype = stream % 3 == 0 ? DType::kF16 : DType::kF32;
    std::string bytes = random_bytes(count * dtype_size(dtype), stream);
    const TransformerOptions& options = experiment_.model;
    if (options.begin_embedding == BeginEmbedding::kZero && parameter.name == options.output_embedding_name()) {
      const std::size_t row_size = static_cast<std::size_t>(options.size) * dtype_size(dtype);
      bytes.replace(static_cast<std::size_t>(options.begin_token) * row_size, row_size, row_size, '\0');
    }
    keep(parameter.name, dtype, parameter.shape, std::move(bytes), to);
  }

  const std::vector<std::string> sentences_ = {
      "a small red bird sings in the old tree", "the old man walks with a small dog", "two birds fly over the red tree",
      "a dog sings to the small old birds", "the tree is red and the dog is old"};
  Experiment experiment_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::string quantized_;
  float scale_ = 0;
};

}  // namespace edgewise
