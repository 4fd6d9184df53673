// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "edgewise/options/data_options.h"
#include "edgewise/options/train_options.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"
#include "edgewise/text/vocabulary/sentence_case.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

/// The [vocabulary] section of a config file.
struct VocabularySection : VocabularyOptions {
  bool shared = false;
  std::string file;
  std::int64_t sentences = 1'000'000;
  CaseKind input_case = CaseKind::kKeep;
  CaseKind output_case = CaseKind::kKeep;
  double input_sampling = 0.0;
  double output_sampling = 0.0;
  std::int64_t sampling_best = 0;

  static void list_fields(auto& self, auto&& field) {
    VocabularyOptions::list_fields(self, field);
    field("shared", self.shared, "use one vocabulary for inputs and outputs, learned from both");
    field("file", self.file,
          "vocabulary to use instead of learning one: a directory of `edgewise vocab`, a model directory, or, if "
          "shared, a file; kind, size, model and separate_punctuation must fit the file; empty: learn one");
    field("sentences", self.sentences,
          "number of training pairs to learn the vocabulary from, evenly spread over all corpora; 0: all",
          at_least(0).at_most(1e9));
    field("input_case", self.input_case,
          "capitals of inputs: keep, lower (make all letters small), or truecase (write the first word as inside a "
          "sentence)");
    field("output_case", self.output_case,
          "capitals of outputs, likewise; translating undoes truecase, but does not undo lower");
    field("input_sampling", self.input_sampling,
          "SentencePiece: strength of subword regularisation of inputs in training: bpe: share of merges to leave out; "
          "unigram: exponent of segmentation probabilities, where smaller values sample more freely; 0: no sampling",
          at_least(0).at_most(1));
    field("output_sampling", self.output_sampling,
          "SentencePiece: strength of subword regularisation of outputs in training, likewise; 0: no sampling",
          at_least(0).at_most(1));
    field("sampling_best", self.sampling_best,
          "SentencePiece unigram: number of best segmentations to sample from; 0: all segmentations",
          at_least(0).at_most(512));
  }
};

/// The [show] section: selects a sentence pair whose attention weights each validation records.
struct RecordedPairOptions {
  std::string input;
  std::string output;

  static void list_fields(auto& self, auto&& field) {
    field("input", self.input,
          "input sentence whose attention each validation saves to RUN/attention.jsonl, for `edgewise picture "
          "training`; empty: none");
    field("output", self.output,
          "output sentence that belongs to this input sentence; language_model: the text itself");
  }
};

/// A config file: everything that a training run depends on.
struct Experiment {
  DataOptions data;
  VocabularySection vocabulary;
  BatchOptions batch;
  TransformerOptions model;
  TrainOptions train;
  SearchOptions search;
  RecordedPairOptions recorded_pair;

  static void list_fields(auto& self, auto&& field) {
    field("data", self.data, "sentence pairs for training, validation and test");
    field("vocabulary", self.vocabulary, "how sentences are split into tokens");
    field("batch", self.batch, "how sentence pairs are grouped into batches");
    field("model", self.model, "architecture of the Transformer");
    field("train", self.train, "optimisation, validation and checkpoints");
    field("search", self.search, "how translations are searched");
    field("show", self.recorded_pair, "sentence pair whose attention each validation records");
  }
};

/// Reads a config file. Defaults of the [model] section are those of model.preset. Defaults do not contradict the
/// options that the config has: model.tying is output instead of all for two vocabularies; vocabulary.size is 8000 with
/// vocabulary.kind=sentencepiece; a language model has vocabulary.shared, characters or vocabulary.line_feeds, and no
/// train.smoothing; train.schedule is constant with train.warmup=0, inverse_sqrt with
/// train.learning_rate, and noam otherwise; train.warmup is at most a tenth of train.steps, unless the schedule is
/// noam. `overrides` have the form `section.key=value`. Throws Error, with line and column, for unknown keys and values
/// that do not fit.
Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides = {});

/// Reads a config whose model is trained already. The options of [model], [vocabulary] and [search], data.end_input and
/// the languages of [data] have the values of `model` if the config leaves them out.
Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides,
                           const Experiment& model);

/// Throws Error, beginning with `caller`, for the first option that contradicts another one or, because of another one,
/// has no effect on training: "train: train.factor is 2, needs train.schedule=noam".
/// An option that has no effect may keep its default value.
void check_options(const Experiment& experiment, std::string_view caller);

/// Does what check_options does for the sections [data] and [vocabulary] alone.
void check_data_options(const Experiment& experiment, std::string_view caller);

/// Throws Error, beginning with `caller`, for the first option that a resumed run may not change, and that differs from
/// the run's last config, `before`: train.part, and options of [vocabulary] and [model] except those that act in
/// training alone or in translating alone, such as dropout. `config` is the path of the last config.
void check_resumed(const Experiment& experiment, const Experiment& before, std::string_view config,
                   std::string_view caller);

/// Throws Error, beginning with `caller`, for the first option of `experiment` that differs from the model from which
/// its training starts: options of [vocabulary] and [model] except those that act in training alone, which are dropout,
/// ponder_weight and the sampling of segmentations. `path` is the path of the model.
void check_start(const Experiment& experiment, const Experiment& model, std::string_view path, std::string_view caller);

/// Reads a config from text; error messages call the text `name`.
Experiment parse_experiment(std::string_view toml, std::string_view name, std::span<const std::string> overrides = {});

}  // namespace edgewise
