// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "edgewise/options/batch_options.h"
#include "edgewise/options/data_options.h"
#include "edgewise/options/show_options.h"
#include "edgewise/options/train_options.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"
#include "edgewise/text/sentence_case.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise {

struct VocabularySection : VocabularyOptions {
  bool shared = false;
  std::string file;
  std::int64_t sentences = 1'000'000;
  CaseKind input_case = CaseKind::kKeep;
  CaseKind output_case = CaseKind::kKeep;
  double input_sampling = 0.0;
  double output_sampling = 0.0;
  std::int64_t sampling_best = 0;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    VocabularyOptions::list_fields(self, field);
    field("shared", self.shared, "one vocabulary for both sides, learned from both");
    field("file", self.file,
          "taken instead of learning: what `edgewise vocab` wrote, a model's directory, or, for a shared one, a file");
    field("sentences", self.sentences, "training pairs to learn from, evenly spread over all; 0: all", at_least(0));
    field("input_case", self.input_case,
          "capitals of inputs are kept, made small, or, at a sentence's begin, written as inside of one");
    field("output_case", self.output_case,
          "the same of outputs; truecase is undone after translating, what was made small stays small");
    field("input_sampling", self.input_sampling,
          "SentencePiece: inputs are learned from in pieces drawn at random (subword regularisation): bpe: share of "
          "merges left out; unigram: power of a split's probability, the freer the smaller; 0: no sampling",
          at_least(0).at_most(1));
    field("output_sampling", self.output_sampling, "the same of outputs", at_least(0).at_most(1));
    field("sampling_best", self.sampling_best, "SentencePiece unigram: drawn from so many best splits; 0: from all",
          at_least(0).at_most(512));
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
  ShowOptions show;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("data", self.data, "sentence pairs");
    field("vocabulary", self.vocabulary, "how sentences become tokens");
    field("batch", self.batch, "how many pairs are learned from at once");
    field("model", self.model, "the Transformer");
    field("train", self.train, "how it learns");
    field("search", self.search, "how it finds an output");
    field("show", self.show, "what is shown of how it learns");
  }
};

/// Reads a config. What it does not say of the model is as the preset it names has it; `overrides` are
/// `section.key=value`. Throws Error for what does not fit, with the place.
Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides = {});

/// The same from text, which errors call `name`.
Experiment parse_experiment(std::string_view toml, std::string_view name, std::span<const std::string> overrides = {});

}  // namespace edgewise
