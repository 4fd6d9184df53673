// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/experiment.h"

#include <algorithm>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/files.h"

namespace edgewise {

namespace {

/// Returns the default of train.schedule: noam does not use learning_rate, and no schedule but constant, of those that
/// need no steps, does without a warm-up.
ScheduleKind default_schedule(const TrainOptions& given, bool has_rate) {
  if (given.warmup == 0) return ScheduleKind::kConstant;
  return has_rate ? ScheduleKind::kInverseSqrt : ScheduleKind::kNoam;
}

/// Returns the defaults of [train], some of which depend on the options that the config has; `first` are those with the
/// usual defaults. A language model has no label smoothing. The highest rate of noam depends on the warm-up, which
/// therefore stays as it is for noam.
TrainOptions train_defaults(const TrainOptions& first, ModelKind kind, std::string_view toml, std::string_view name,
                            std::span<const std::string> overrides) {
  Experiment others;  // another default shows whether the config has the option
  others.train.learning_rate *= 2;
  const TrainOptions second = parse_config(toml, name, overrides, others).train;
  Experiment defaults;
  if (!has_encoder(kind)) defaults.train.smoothing = 0.0;
  defaults.train.schedule = default_schedule(first, first.learning_rate == second.learning_rate);
  const ScheduleKind schedule = parse_config(toml, name, overrides, defaults).train.schedule;
  if (schedule != ScheduleKind::kNoam && first.steps > 0) {
    defaults.train.warmup = std::min(defaults.train.warmup, std::max<std::int64_t>(first.steps / 10, 1));
  }
  return defaults.train;
}

/// Returns the defaults of a config: those of the preset of its model, those that the size of its vocabulary and its
/// number of vocabularies allow, and those of its training.
Experiment defaults_for(std::string_view toml, std::string_view name, std::span<const std::string> overrides) {
  constexpr std::int64_t kPieces = 8000;
  const auto first = parse_config<Experiment>(toml, name, overrides);
  Experiment defaults;
  const bool is_language_model = !has_encoder(first.model.kind);
  if (is_language_model) {
    defaults.vocabulary.shared = true;
    if (first.vocabulary.file.empty()) defaults.vocabulary.kind = VocabularyKind::kCharacters;
  }
  const bool learns_pieces = first.vocabulary.kind == VocabularyKind::kSentencePiece && first.vocabulary.file.empty();
  if (learns_pieces) defaults.vocabulary.size = kPieces;
  if (learns_pieces) defaults.vocabulary.line_feeds = is_language_model;
  defaults.model = TransformerOptions::from_preset(first.model.preset);
  const bool has_one_embedding = first.vocabulary.shared && !is_language_model;
  if (defaults.model.tying == Tying::kAll && !has_one_embedding) defaults.model.tying = Tying::kOutput;
  defaults.train = train_defaults(first.train, first.model.kind, toml, name, overrides);
  return defaults;
}

/// Returns the defaults of a config whose model is trained already.
Experiment defaults_of(const Experiment& model) {
  Experiment defaults;
  defaults.data.end_input = model.data.end_input;
  defaults.data.input_language = model.data.input_language;
  defaults.data.output_language = model.data.output_language;
  defaults.vocabulary = model.vocabulary;
  defaults.model = model.model;
  defaults.search = model.search;
  return defaults;
}

std::string read_config_text(const std::filesystem::path& config) {
  return read_file(config, "read_config", kMaxConfigBytes);
}

}  // namespace

Experiment parse_experiment(std::string_view toml, std::string_view name, std::span<const std::string> overrides) {
  return parse_config(toml, name, overrides, defaults_for(toml, name, overrides));
}

Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides) {
  return parse_experiment(read_config_text(config), config.string(), overrides);
}

Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides,
                           const Experiment& model) {
  const std::string toml = read_config_text(config);
  Experiment defaults = defaults_of(model);
  const auto first = parse_config<Experiment>(toml, config.string(), overrides);
  defaults.train = train_defaults(first.train, model.model.kind, toml, config.string(), overrides);
  return parse_config(toml, config.string(), overrides, defaults);
}

}  // namespace edgewise
