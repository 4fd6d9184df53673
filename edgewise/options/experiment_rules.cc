// SPDX-License-Identifier: Apache-2.0
// The rules between options: which ones contradict each other, and which ones have an effect only with another.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "edgewise/base/config/option_rules.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/device/choose_gpu.h"
#include "edgewise/options/experiment.h"

namespace edgewise {
namespace {

constexpr std::string_view kNeedsValidation = "validation data; set data.valid, data.valid_size or data.valid_share";

bool is_text(const Experiment& e) { return e.data.task == DataTask::kText; }
bool has_letters(const Experiment& e) { return !is_text(e); }
bool has_encoder(const Experiment& e) { return has_encoder(e.model.kind); }
bool is_language_model(const Experiment& e) { return !has_encoder(e); }
bool has_validation(const Experiment& e) {
  return is_text(e) ? !e.data.valid.empty() || e.data.valid_share > 0 : e.data.valid_size > 0;
}
bool has_pieces(const Experiment& e) { return e.vocabulary.kind == VocabularyKind::kSentencePiece; }
bool has_words(const Experiment& e) { return e.vocabulary.kind == VocabularyKind::kWords; }
bool is_mapped(const Experiment& e) { return e.vocabulary.kind == VocabularyKind::kMapped; }
bool has_bytes(const Experiment& e) { return e.vocabulary.kind == VocabularyKind::kBytes; }
bool has_counted_tokens(const Experiment& e) { return !has_pieces(e) && !is_mapped(e) && !has_bytes(e); }
/// The kind of tokens in vocabulary.file is known only after reading the file.
bool may_have_pieces(const Experiment& e) { return has_pieces(e) || !e.vocabulary.file.empty(); }
bool may_have_unigrams(const Experiment& e) {
  return e.vocabulary.model == SentencePieceModel::kUnigram || !e.vocabulary.file.empty();
}
bool has_sampling(const Experiment& e) { return e.vocabulary.input_sampling > 0 || e.vocabulary.output_sampling > 0; }
bool is_not_rms_norm(const Experiment& e) { return e.model.norm != NormKind::kRmsNorm; }
bool has_learned_positions(const Experiment& e) { return e.model.positions == PositionKind::kLearned; }
bool is_universal(const Experiment& e) { return e.model.kind == ModelKind::kUniversal; }
bool is_adaptive(const Experiment& e) { return e.model.universal.adaptive != AdaptiveSides::kNone; }
bool has_convolution(const Experiment& e) { return e.model.universal.transition == Transition::kSeparableConvolution; }
bool is_noam(const Experiment& e) { return e.train.schedule == ScheduleKind::kNoam; }
bool is_not_noam(const Experiment& e) { return !is_noam(e); }
bool is_plateau(const Experiment& e) { return e.train.schedule == ScheduleKind::kPlateau; }
bool has_lowest_rate(const Experiment& e) { return is_plateau(e) || e.train.schedule == ScheduleKind::kCosine; }
bool has_dropout(const Experiment& e) {
  const DropoutRates& rates = e.model.dropout;
  return std::max({rates.embedding, rates.residual, rates.attention, rates.activation, rates.word}) > 0;
}

constexpr std::string_view kNeedsPairs = "model.kind=transformer or universal, which learn from sentence pairs";

constexpr auto kDataRules = std::to_array<OptionRule<Experiment>>({
    {"data.weights data.alignments data.limit data.same_sides data.max_length data.too_long data.min_length "
     "data.max_ratio data.end_input data.augment data.input_language data.output_language vocabulary.input_case "
     "vocabulary.output_case vocabulary.input_sampling",
     has_encoder, kNeedsPairs},
    {"data.valid_share data.document_separator", is_language_model, "model.kind=language_model"},
    {"data.valid_share", [](const Experiment& e) { return e.data.valid.empty(); }, "no file in data.valid"},
    {"data.train data.weights data.alignments data.valid data.test data.limit data.bad_utf8 data.same_sides "
     "data.augment",
     is_text, "data.task=text"},
    {"data.train_size data.valid_size data.test_size data.length_mean data.length_deviation data.seed", has_letters,
     "data.task=copy, reverse, sort or addition"},
    {"data.symbols", [](const Experiment& e) { return has_letters(e) && e.data.task != DataTask::kAddition; },
     "data.task=copy, reverse or sort"},
    {"data.input_language data.output_language", is_mapped, "vocabulary.kind=mapped"},
    {"data.too_long", [](const Experiment& e) { return e.data.max_length > 0; }, "data.max_length above 0"},
    {"vocabulary.min_count", has_counted_tokens, "vocabulary.kind=words or characters"},
    {"vocabulary.separate_punctuation", has_words, "vocabulary.kind=words"},
    {"vocabulary.model vocabulary.character_coverage vocabulary.byte_fallback vocabulary.placeholders "
     "vocabulary.split_digits",
     has_pieces, "vocabulary.kind=sentencepiece"},
    {"vocabulary.line_feeds", has_pieces, "vocabulary.kind=sentencepiece"},
    {"vocabulary.size", [](const Experiment& e) { return !has_bytes(e); }, "another vocabulary.kind than bytes"},
    {"vocabulary.input_sampling vocabulary.output_sampling", may_have_pieces, "vocabulary.kind=sentencepiece"},
    {"vocabulary.sampling_best", has_sampling, "vocabulary.input_sampling or vocabulary.output_sampling above 0"},
    {"vocabulary.sampling_best", may_have_unigrams, "vocabulary.model=unigram"},
    {"data.alignments", [](const Experiment& e) { return e.train.guided_alignment > 0; },
     "train.guided_alignment above 0, which learns them"},
});

constexpr auto kTrainingRules = std::to_array<OptionRule<Experiment>>({
    {"batch.length", is_language_model, "model.kind=language_model"},
    {"search show.input", has_encoder, kNeedsPairs},
    {"search.attention_layer", [](const Experiment& e) { return !is_universal(e); }, "model.kind=transformer"},
    {"batch.positions_below", [](const Experiment& e) { return e.batch.positions != TrainingPositions::kCounted; },
     "batch.positions=shifted or spread"},
    {"model.norm_bias", is_not_rms_norm, "model.norm other than rms_norm, which has no bias"},
    {"model.rotary", [](const Experiment& e) { return e.model.positions == PositionKind::kRotary; },
     "model.positions=rotary"},
    {"model.rotary.factor", [](const Experiment& e) { return e.model.rotary.scaling != RotaryScaling::kNone; },
     "model.rotary.scaling=linear or llama3"},
    {"model.rotary.low_frequency model.rotary.high_frequency model.rotary.trained_length",
     [](const Experiment& e) { return e.model.rotary.scaling == RotaryScaling::kLlama3; },
     "model.rotary.scaling=llama3"},
    {"model.t5_buckets model.t5_distance", [](const Experiment& e) { return e.model.positions == PositionKind::kT5; },
     "model.positions=t5"},
    {"model.cross_distance", [](const Experiment& e) { return e.model.positions == PositionKind::kT5; },
     "model.positions=t5"},
    {"model.cross_distance", has_encoder, "model.kind=transformer"},
    {"batch.positions",
     [](const Experiment& e) {
       return has_position_vectors(e.model.positions) || e.model.positions == PositionKind::kRotary;
     },
     "model.positions other than none, alibi and t5, for which only edges count"},
    {"model.max_positions", has_learned_positions, "model.positions=learned"},
    {"model.mirror_positions", [](const Experiment& e) { return e.data.end_input; },
     "data.end_input=true, which stays at the end of a mirrored input"},
    {"model.relation", [](const Experiment& e) { return !e.model.has_ssru(); }, "model.decoder_mixer=attention"},
    {"model.exits", [](const Experiment& e) { return e.model.exits.are_on(); }, "model.exits.layers"},
    {"model.exits.fall", [](const Experiment& e) { return e.model.exits.can_halt(); }, "model.exits.threshold below 1"},
    {"model.universal", is_universal, "model.kind=universal"},
    {"model.share_layers", [](const Experiment& e) { return !is_universal(e); },
     "model.kind=transformer or language_model; universal has one layer on each side anyway"},
    {"model.share_layers",
     [](const Experiment& e) { return std::max(e.model.num_encoder_layers(), e.model.decoder_layers) > 1; },
     "more than one layer on a side"},
    {"model.encoder_layers model.encoder_relation", has_encoder,
     "model.kind=transformer or universal; a language model has decoder_layers"},
    {"model.universal.epsilon model.universal.halting_bias model.universal.ponder_weight model.universal.halted_keys",
     is_adaptive, "model.universal.adaptive other than none"},
    {"model.universal.filter_width", has_convolution, "model.universal.transition=separable_convolution"},
    {"train.learning_rate", is_not_noam, "train.schedule other than noam, which has train.factor instead"},
    {"train.min_learning_rate", has_lowest_rate, "train.schedule=cosine or plateau"},
    {"train.factor", is_noam, "train.schedule=noam; other schedules have train.learning_rate"},
    {"train.plateau_factor train.plateau_patience", is_plateau, "train.schedule=plateau"},
    {"train.rdrop", has_dropout, "a rate of model.dropout above 0, without which both passes are equal"},
    {"train.simcut", [](const Experiment& e) { return e.train.rdrop == 0; },
     "train.rdrop=0, because SimCut replaces it"},
    {"train.guided_alignment", [](const Experiment& e) { return !e.data.alignments.empty(); },
     "data.alignments, the links that it learns"},
    {"train.guided_alignment", [](const Experiment& e) { return e.model.kind == ModelKind::kTransformer; },
     "model.kind=transformer"},
    {"train.guided_alignment", [](const Experiment& e) { return !e.model.cross_distance; },
     "model.cross_distance=false"},
    {"train.guided_layer train.guided_head", [](const Experiment& e) { return e.train.guided_alignment > 0; },
     "train.guided_alignment above 0"},
    {"train.cut", [](const Experiment& e) { return e.train.simcut > 0; }, "train.simcut above 0"},
    {"train.part", [](const Experiment& e) { return e.model.exits.are_on(); }, "model.exits.layers"},
    {"train.part", [](const Experiment& e) { return !e.model.has_ssru(); },
     "model.decoder_mixer=attention, with which tokens can halt"},
    {"train.quantise", [](const Experiment& e) { return e.train.precision == Precision::kFp32; },
     "train.precision=fp32, because bf16 would round the rounded numbers again"},
    {"train.rdrop train.simcut train.guided_alignment train.quantise train.weight_decay train.average",
     [](const Experiment& e) { return e.train.part == TrainedPart::kModel; },
     "train.part=model, because no other parameters may change"},
    {"train.validate_every train.best_by train.patience train.keep_best train.average", has_validation,
     kNeedsValidation},
    {"train.exchange", [](const Experiment& e) { return e.train.virtual_ranks > 1; }, "train.virtual_ranks above 1"},
    {"train.on_spike", [](const Experiment& e) { return e.train.spike > 0; }, "train.spike above 0"},
    {"show.output", [](const Experiment& e) { return !has_encoder(e) || !e.recorded_pair.input.empty(); },
     "show.input"},
    {"show.input show.output", has_validation, kNeedsValidation},
});

Experiment make_defaults(TransformerPreset preset) {
  Experiment defaults;
  defaults.model = TransformerOptions::from_preset(preset);
  return defaults;
}

void check_lengths(const DataOptions& data, std::string_view caller) {
  // Pairs that are truncated have the lengths before: then min_length may be greater.
  check(data.max_length == 0 || data.too_long == LongSentences::kTruncate || data.min_length <= data.max_length,
        "{}: data.min_length is {}, needs at most data.max_length, which is {}", caller, data.min_length,
        data.max_length);
  check(data.max_ratio == 0 || data.max_ratio >= 1,
        "{}: data.max_ratio is {}, needs at least 1, the ratio of two sides of equal length, or 0 for no limit", caller,
        data.max_ratio);
}

void check_augment(const AugmentOptions& augment, std::string_view caller) {
  check(augment.upper_case + augment.title_case <= 1,
        "{}: data.augment.title_case is {}, needs at most 1 - data.augment.upper_case, which is {}", caller,
        augment.title_case, 1 - augment.upper_case);
}

void check_guided_heads(const Experiment& e, std::string_view caller) {
  check(e.train.guided_layer < e.model.decoder_layers,
        "{}: train.guided_layer is {}, needs one below model.decoder_layers, which is {}; or -1 for the last", caller,
        e.train.guided_layer, e.model.decoder_layers);
  check(e.train.guided_head < e.model.heads,
        "{}: train.guided_head is {}, needs one below model.heads, which is {}; or -1 for the mean", caller,
        e.train.guided_head, e.model.heads);
}

void check_vocabulary_size(const VocabularySection& vocabulary, std::string_view caller) {
  constexpr std::size_t kSpecial = kSpecialTokens.size();
  check(vocabulary.size == 0 || vocabulary.size > static_cast<std::int64_t>(kSpecial),
        "{}: vocabulary.size is {}, needs more than the {} special tokens, or 0 for no limit", caller, vocabulary.size,
        kSpecial);
  check(vocabulary.kind != VocabularyKind::kSentencePiece || vocabulary.size > 0 || !vocabulary.file.empty(),
        "{}: vocabulary.size is 0, needs the number of tokens to learn with vocabulary.kind=sentencepiece", caller);
  check(vocabulary.kind != VocabularyKind::kMapped || !vocabulary.file.empty(),
        "{}: vocabulary.kind is mapped, needs vocabulary.file, the directory of an imported model; a mapped vocabulary "
        "cannot be learned",
        caller);
}

/// Checks the data and the vocabulary of a language model, or that those of sentence pairs have none of its choices.
void check_text_data(const Experiment& e, std::string_view caller) {
  if (has_encoder(e)) {
    check(!has_bytes(e), "{}: vocabulary.kind is bytes, needs model.kind=language_model", caller);
    return;
  }
  check(is_text(e), "{}: data.task is {}, needs text with model.kind=language_model", caller, enum_name(e.data.task));
  check(!e.data.train.empty(), "{}: data.train names no file, needs at least one", caller);
  check(e.vocabulary.shared, "{}: vocabulary.shared is false, needs true with model.kind=language_model", caller);
  check(!has_words(e) || !e.vocabulary.file.empty(),
        "{}: vocabulary.kind is words, which leave out white space, needs characters, bytes or sentencepiece with "
        "model.kind=language_model",
        caller);
}

void check_vocabularies(const Experiment& e, std::string_view caller) {
  check(e.model.tying != Tying::kAll || e.vocabulary.shared,
        "{}: model.tying is all, needs vocabulary.shared=true, one vocabulary for both sides; or set "
        "model.tying=output",
        caller);
}

/// Checks that training pairs, with their begin or end token and the token of a language, fit into the tables of
/// learned positions.
void check_learned_positions(const Experiment& e, std::string_view caller) {
  if (!has_learned_positions(e)) return;
  const std::int64_t count = e.model.max_positions;
  check(e.batch.positions == TrainingPositions::kCounted || e.batch.positions_below <= count,
        "{}: batch.positions_below is {}, needs at most model.max_positions, which is {}", caller,
        e.batch.positions_below, count);
  if (is_language_model(e)) {
    check(e.batch.length <= count, "{}: batch.length is {}, needs at most model.max_positions, which is {}", caller,
          e.batch.length, count);
    return;
  }
  check(e.data.max_length > 0, "{}: data.max_length is 0, needs a limit below model.max_positions, which is {}", caller,
        count);
  const bool has_language = !e.data.input_language.empty() || !e.data.output_language.empty();
  check(count > e.data.max_length + (has_language ? 1 : 0),
        "{}: model.max_positions is {}, needs more than data.max_length, which is {}{}; set a smaller data.max_length",
        caller, count, e.data.max_length, has_language ? ", plus 1 for the token of the language" : "");
}

void check_batch_and_update(const Experiment& e, std::string_view caller) {
  check(e.batch.tokens > 0 || e.batch.sentences > 0,
        "{}: batch.tokens and batch.sentences are 0, needs a limit; set batch.tokens or batch.sentences", caller);
  check_schedule(e.train, caller, "train.");
  constexpr double kSmallest = 1e-9;  // far below useful norms; the factor of a gradient stays a normal float
  check(e.train.clip_norm == 0 || e.train.clip_norm >= kSmallest,
        "{}: train.clip_norm is {}, needs at least {}, or 0 for no limit", caller, e.train.clip_norm, kSmallest);
  check(parse_device_name(e.train.device).has_value(), "{}: train.device is {}, {}", caller,
        quote_unless_plain(e.train.device), kNeedsDeviceName);
}

void check_validation(const Experiment& e, std::string_view caller) {
  check(!is_plateau(e) || has_validation(e), "{}: train.schedule is plateau, needs {}", caller, kNeedsValidation);
  const BestMetric best_by = e.train.best_by;
  check(best_by != BestMetric::kBleu || is_text(e), "{}: train.best_by is bleu, needs data.task=text", caller);
  check(best_by != BestMetric::kBleu || has_encoder(e), "{}: train.best_by is bleu, needs {}", caller, kNeedsPairs);
  check(best_by != BestMetric::kSequences || has_letters(e),
        "{}: train.best_by is sequences, needs data.task=copy, reverse, sort or addition", caller);
  check(e.recorded_pair.input.empty() || !e.recorded_pair.output.empty(),
        "{}: show.output is empty, needs the output that belongs to show.input", caller);
}

void check_search(const Experiment& e, std::string_view caller) {
  const SearchOptions& search = e.search;
  check(search.kind != SearchKind::kScoring, "{}: search.kind is scoring, needs beam or sampling", caller);
  check(search.kind != SearchKind::kBeam || search.n_best <= search.beam,
        "{}: search.n_best is {}, needs at most search.beam, which is {}", caller, search.n_best, search.beam);
  const auto check_number = [&](std::string_view name, std::int64_t number, std::int64_t count) {
    check(number < count, "{}: search.attention_{} is {}, needs at most {}, counted from 0", caller, name, number,
          count - 1);
  };
  if (has_encoder(e)) check_number("layer", search.recorded_heads.layer, e.model.decoder_layers);
  if (has_encoder(e)) check_number("head", search.recorded_heads.head, e.model.heads);
  check_effects(search, SearchOptions(), caller);
}

/// Returns whether an option decides the vocabulary or what the model computes in training and in translating.
bool decides_model(std::string_view path) {
  const bool acts_in_one_alone = detail::is_named(path, "model.dropout") || path == "model.universal.ponder_weight" ||
                                 (path.starts_with("model.exits.") && path != "model.exits.layers");
  return (path.starts_with("vocabulary.") || path.starts_with("model.")) && !acts_in_one_alone;
}

/// Returns whether a resumed run may not change an option. The optimiser has momentum for the part that it trained.
bool stays_when_resumed(std::string_view path) { return decides_model(path) || path == "train.part"; }

/// Does the same for a run that starts from a model, whose optimiser is new. A resumed run may not change the sampling
/// of segmentations, because its training pairs stay.
bool stays_after_start(std::string_view path) {
  const bool is_sampling = path.starts_with("vocabulary.") && path.find("sampling") != std::string_view::npos;
  return decides_model(path) && !is_sampling;
}

/// An option with other values in two experiments.
struct ChangedOption {
  std::string name;
  std::string value;
  std::string value_before;
};

/// Returns the first option that may not change, but did.
std::optional<ChangedOption> find_change(const Experiment& experiment, const Experiment& before,
                                         bool (*stays)(std::string_view path)) {
  const auto settings = settings_of(experiment);
  const auto settings_before = settings_of(before);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto& [path, value] = settings[i];
    const std::string& value_before = settings_before[i].second;
    if (value != value_before && stays(path)) return ChangedOption{path, value, value_before};
  }
  return std::nullopt;
}

}  // namespace

void check_data_options(const Experiment& experiment, std::string_view caller) {
  check_effects<Experiment>(experiment, make_defaults(experiment.model.preset), kDataRules, caller);
  check_text_data(experiment, caller);
  if (is_text(experiment) && has_encoder(experiment)) check_files(experiment.data, caller);
  check_lengths(experiment.data, caller);
  check_augment(experiment.data.augment, caller);
  check_vocabulary_size(experiment.vocabulary, caller);
}

void check_resumed(const Experiment& experiment, const Experiment& before, std::string_view config,
                   std::string_view caller) {
  const std::optional<ChangedOption> option = find_change(experiment, before, stays_when_resumed);
  if (!option) return;
  fail(
      "{}: {} is {}, needs {} as in {}, because a resumed run keeps its vocabulary, its model and the part that it "
      "trains; set {}={}, or begin another run",
      caller, option->name, option->value, option->value_before, config, option->name, option->value_before);
}

void check_start(const Experiment& experiment, const Experiment& model, std::string_view path,
                 std::string_view caller) {
  const std::optional<ChangedOption> option = find_change(experiment, model, stays_after_start);
  if (!option) return;
  fail("{}: {} is {}, needs {} to start from {}, because fine-tuning keeps vocabulary and model; leave {} out", caller,
       option->name, option->value, option->value_before, path, option->name);
}

void check_options(const Experiment& experiment, std::string_view caller) {
  check_data_options(experiment, caller);
  check_effects<Experiment>(experiment, make_defaults(experiment.model.preset), kTrainingRules, caller);
  check_vocabularies(experiment, caller);
  check_layer_options(experiment.model, caller, "model.");
  check_learned_positions(experiment, caller);
  check_guided_heads(experiment, caller);
  check_batch_and_update(experiment, caller);
  check_validation(experiment, caller);
  check_search(experiment, caller);
}

}  // namespace edgewise
