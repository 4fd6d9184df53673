// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "edgewise/options/batch_options.h"
#include "edgewise/options/data_options.h"
#include "edgewise/options/train_options.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise {

struct VocabularySection : VocabularyOptions {
  bool shared = false;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    VocabularyOptions::list_fields(self, field);
    field("shared", self.shared, "one vocabulary for both sides, learned from both");
  }
};

/// A config file: all that a training run depends on, one section a part.
struct Experiment {
  DataOptions data;
  VocabularySection vocabulary;
  BatchOptions batch;
  TransformerOptions model;
  TrainOptions train;
  SearchOptions search;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("data", self.data, "sentence pairs");
    field("vocabulary", self.vocabulary, "how sentences become tokens");
    field("batch", self.batch, "how many pairs are learned from at once");
    field("model", self.model, "the Transformer");
    field("train", self.train, "how it learns");
    field("search", self.search, "how it finds an output");
  }
};

/// Reads a config. What it does not say of the model is as the preset it names has it; `overrides` are
/// `section.key=value`. Throws Error for what does not fit, with the place.
Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides = {});

/// The same from text, which errors call `name`.
Experiment parse_experiment(std::string_view toml, std::string_view name, std::span<const std::string> overrides = {});

}  // namespace edgewise
