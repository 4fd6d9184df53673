// SPDX-License-Identifier: Apache-2.0
#include "tests/experiment/option_table.h"

namespace edgewise {
namespace {

const Settings kModel = {
    "vocabulary.shared=true", "model.encoder_layers=2", "model.decoder_layers=2", "model.size=8",   "model.heads=2",
    "model.feed_forward=8",   "train.epochs=0",         "train.steps=2",          "train.warmup=1",
};

const Settings kRotary = {"model.positions=rotary"};
// One frequency of the model turns 1.6 times in the trained length, so that the bounds of llama3 change it.
const Settings kLlama3 = kRotary + Settings{"model.rotary.scaling=llama3", "model.rotary.trained_length=10"};
const Settings kExits = {"model.exits.layers=[1]"};
const Settings kUniversal = {"model.kind=universal", "model.encoder_layers=3", "model.decoder_layers=3"};
const Settings kConstant = {"train.schedule=constant", "train.learning_rate=0.05"};
const Settings kPlateau = {"train.schedule=plateau", "train.learning_rate=0.5", "train.validate_every=1",
                           "train.steps=12"};
const Settings kManyValidations = kConstant + Settings{"train.validate_every=1", "train.steps=10"};
// Weight decay multiplies the weights by -899 in each step.
const Settings kDivergence = {"train.steps=40", "train.schedule=constant", "train.learning_rate=1000",
                              "train.weight_decay=0.9", "data.valid_size=0"};
const Settings kSpikes = kConstant + Settings{"train.steps=110"};
const Settings kSentences = {R"(data.train=["sentences.tsv"])"};
const Settings kPieces = {"vocabulary.kind=sentencepiece", "vocabulary.size=24"};
const Settings kLanguages = {"vocabulary.kind=mapped", "vocabulary.file=languages", "data.end_input=true",
                             "data.input_language=en", "data.output_language=en"};
const Settings kBeam = {"search.beam=3", "search.n_best=3"};
const Settings kGuided = {R"(data.alignments=["links"])", "train.guided_alignment=1.0"};
const Settings kDraws = {"search.kind=sampling", "search.n_best=3"};

}  // namespace

Settings operator+(Settings left, const Settings& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

const Settings& letter_settings() {
  static const Settings settings =
      kModel + Settings{"data.task=copy",    "data.train_size=60",   "data.valid_size=3",         "data.test_size=2",
                        "data.symbols=5",    "data.length_mean=4.0", "data.length_deviation=2.0", "batch.tokens=0",
                        "batch.sentences=20"};
  return settings;
}

const Settings& text_settings() {
  static const Settings settings =
      kModel + Settings{R"(data.train=["train.tsv"])", R"(data.valid=["valid.tsv"])", "batch.tokens=60"};
  return settings;
}

const Settings& language_settings() {
  static const Settings settings = {R"(data.train=["train.txt"])",
                                    R"(data.valid=["valid.txt"])",
                                    "vocabulary.kind=characters",
                                    "batch.tokens=60",
                                    "batch.length=12",
                                    "model.kind=language_model",
                                    "model.decoder_layers=2",
                                    "model.size=8",
                                    "model.heads=2",
                                    "model.feed_forward=8",
                                    "train.epochs=0",
                                    "train.steps=2",
                                    "train.warmup=1"};
  return settings;
}

const std::vector<OptionRow>& option_rows() {
  static const Settings letters = letter_settings();
  static const Settings text = text_settings();
  static const Settings language = language_settings();
  static const Settings theirs = kBeam + Settings{"search.rules=huggingface", "search.max_length=4"};
  static const std::vector<OptionRow> rows = {
      {"data.task", "sort", letters},
      {"data.train", R"(["other.tsv"])", text},
      {"data.weights", "[2.5]", text},
      {"data.alignments", R"(["other-links"])", text + kGuided},
      {"data.valid", R"(["other.tsv"])", text},
      {"data.valid_share", "0.3", language + Settings{"data.valid=[]"}},
      {"data.test", R"(["other.tsv"])", text},
      {"data.document_separator", "--", language},
      {"data.limit", "5", text},
      {"data.bad_utf8", "replace", text},
      {"data.same_sides", "skip", text},
      {"data.max_length", "3", letters},
      {"data.too_long", "truncate", letters + Settings{"data.max_length=3"}, true},
      {"data.min_length", "3", letters},
      {"data.max_ratio", "1.1", text, true},
      {"data.end_input", "true", letters},
      {"data.augment.upper_case", "0.9", text},
      {"data.augment.title_case", "0.9", text},
      {"data.augment.no_stop", "1.0", text + kSentences, true},
      {"data.augment.typos", "1.0", text + kSentences, true},
      {"data.input_language", "fr", text + kLanguages},
      {"data.output_language", "fr", text + kLanguages},
      {"data.train_size", "40", letters},
      {"data.valid_size", "2", letters},
      {"data.test_size", "1", letters},
      {"data.symbols", "3", letters},
      {"data.length_mean", "6.0", letters},
      {"data.length_deviation", "1.0", letters},
      {"data.seed", "7", letters},

      {"vocabulary.kind", "characters", letters},
      {"vocabulary.size", "6", letters},
      {"vocabulary.min_count", "95", letters},
      {"vocabulary.separate_punctuation", "true", text, true},
      {"vocabulary.model", "bpe", text + kPieces},
      {"vocabulary.character_coverage", "0.98", text + kPieces, true},
      {"vocabulary.byte_fallback", "always", text + kPieces, true},
      {"vocabulary.placeholders", "1", text + kPieces, true},
      {"vocabulary.split_digits", "true", text + kPieces, true},
      {"vocabulary.line_feeds", "true", text + kPieces},
      {"vocabulary.shared", "false", text + Settings{"model.tying=none"}},
      {"vocabulary.file", "vocabulary", letters},
      {"vocabulary.sentences", "4", letters},
      {"vocabulary.input_case", "lower", text, true},
      {"vocabulary.output_case", "lower", text, true},
      {"vocabulary.input_sampling", "0.2", text + kPieces},
      {"vocabulary.output_sampling", "0.2", text + kPieces},
      {"vocabulary.sampling_best", "2", text + kPieces + Settings{"vocabulary.input_sampling=0.2"}},

      {"batch.tokens", "30", letters},
      {"batch.sentences", "4", letters},
      {"batch.length", "5", language},
      {"batch.bucket", "1", letters + Settings{"train.steps=6"}, true},
      {"batch.window", "1100", letters + Settings{"data.train_size=3000"}, true},
      {"batch.positions", "shifted", letters},
      {"batch.positions_below", "20", letters + Settings{"batch.positions=shifted"}},

      {"model.preset", "chapter", letters},
      {"model.kind", "universal", letters},
      {"model.encoder_layers", "1", letters},
      {"model.decoder_layers", "1", letters},
      {"model.share_layers", "true", letters},
      {"model.relation", "window 2", letters},
      {"model.encoder_relation", "window 1", letters},
      {"model.size", "12", letters},
      {"model.heads", "4", letters},
      {"model.key_value_heads", "1", letters},
      {"model.feed_forward", "6", letters},
      {"model.decoder_mixer", "ssru", letters},
      {"model.norm_placement", "post", letters},
      {"model.norm", "std_norm", letters},
      {"model.norm_epsilon", "0.1", letters},
      {"model.norm_bias", "false", letters},
      {"model.attention_bias", "false", letters},
      {"model.score", "additive", letters},
      {"model.clamp", "0.001", letters},
      {"model.log_scale", "true", letters},
      {"model.activation", "gelu", letters},
      {"model.feed_forward_gate", "true", letters},
      {"model.feed_forward_bias", "false", letters},
      {"model.dropout.embedding", "0.4", letters},
      {"model.dropout.residual", "0.4", letters},
      {"model.dropout.attention", "0.4", letters},
      {"model.dropout.activation", "0.4", letters},
      {"model.dropout.word", "0.4", letters},
      {"model.final_norm", "false", letters},
      {"model.positions", "from_scratch", letters},
      {"model.max_positions", "40", letters + Settings{"model.positions=learned", "data.max_length=30"}},
      {"model.mirror_positions", "true", letters + Settings{"data.end_input=true"}},
      {"model.rotary.base", "100.0", letters + kRotary},
      {"model.rotary.scaling", "linear", letters + kRotary},
      {"model.rotary.factor", "2.0", letters + kRotary + Settings{"model.rotary.scaling=linear"}},
      {"model.rotary.low_frequency", "0.5", letters + kLlama3},
      {"model.rotary.high_frequency", "2.0", letters + kLlama3},
      {"model.rotary.trained_length", "10", letters + kRotary + Settings{"model.rotary.scaling=llama3"}},
      {"model.t5_buckets", "8", letters + Settings{"model.positions=t5"}},
      {"model.t5_distance", "5", letters + Settings{"model.positions=t5", "model.t5_buckets=4"}},
      {"model.cross_distance", "true", letters + Settings{"model.positions=t5"}},
      {"model.scale_embedding", "false", letters},
      {"model.embedding_init", "normal", letters},
      {"model.begin_embedding", "zero", letters},
      {"model.tying", "none", letters},
      {"model.output_bias", "false", letters},
      {"model.exits.layers", "[1]", letters},
      {"model.exits.weights", "rising", letters + kExits},
      {"model.exits.threshold", "0.0", letters + kExits, true},
      {"model.exits.fall", "0",
       letters + kBeam +
           Settings{"model.decoder_layers=6", "model.exits.layers=[1, 2, 3, 4, 5]", "model.exits.threshold=0.5"},
       true},
      {"model.universal.adaptive", "encoder", letters + kUniversal},
      {"model.universal.epsilon", "0.5", letters + kUniversal},
      {"model.universal.halting_bias", "-1.0", letters + kUniversal},
      {"model.universal.ponder_weight", "0.5", letters + kUniversal},
      {"model.universal.halted_keys", "dropped", letters + kUniversal + Settings{"model.universal.epsilon=0.3"}, true},
      {"model.universal.transition", "separable_convolution", letters + kUniversal},
      {"model.universal.input_injection", "true", letters + kUniversal},
      {"model.universal.filter_width", "5",
       letters + kUniversal + Settings{"model.universal.transition=separable_convolution"}},

      {"train.steps", "3", letters},
      {"train.epochs", "2", letters + Settings{"train.steps=0", "train.epochs=1"}, true},
      {"train.accumulate", "2", letters},
      {"train.virtual_ranks", "2", letters},
      {"train.exchange", "bf16", letters + Settings{"train.virtual_ranks=2"}},
      {"train.schedule", "constant", letters},
      {"train.learning_rate", "0.02", letters + kConstant},
      {"train.min_learning_rate", "0.04", letters + Settings{"train.schedule=cosine", "train.learning_rate=0.05"},
       true},
      {"train.factor", "2.0", letters},
      {"train.warmup", "5", letters, true},
      {"train.plateau_factor", "0.25", letters + kPlateau + Settings{"train.plateau_patience=1"}, true},
      {"train.plateau_patience", "1", letters + kPlateau, true},
      {"train.beta1", "0.5", letters},
      {"train.beta2", "0.5", letters},
      {"train.epsilon", "0.01", letters},
      {"train.weight_decay", "0.5", letters},
      {"train.clip_norm", "0.001", letters},
      {"train.smoothing", "0.3", letters},
      {"train.rdrop", "2.0", letters},
      {"train.simcut", "2.0", letters},
      {"train.cut", "0.5", letters + Settings{"train.simcut=2.0"}},
      {"train.guided_alignment", "2.0", text + kGuided},
      {"train.guided_layer", "0", text + kGuided},
      {"train.guided_head", "1", text + kGuided},
      {"train.part", "halting", letters + kExits},
      {"train.precision", "bf16", letters},
      {"train.quantise", "int8", letters},
      {"train.device", "cuda:127", letters},
      {"train.log_every", "1", letters},
      {"train.validate_every", "1", letters},
      {"train.save_every", "1", letters},
      {"train.best_by", "accuracy", letters + kManyValidations + Settings{"train.learning_rate=0.3"}, true},
      {"train.patience", "1", letters + kManyValidations + Settings{"train.learning_rate=0.5"}, true},
      {"train.keep_best", "1", letters + kManyValidations, true},
      {"train.average", "0.5", letters},
      {"train.most_skipped", "1", letters + kDivergence, true},
      {"train.spike", "0.001", letters + kSpikes, true},
      {"train.on_spike", "stop", letters + kSpikes + Settings{"train.spike=0.001"}, true},
      {"train.seed", "9", letters},

      {"search.kind", "sampling", letters},
      {"search.beam", "3", letters},
      {"search.n_best", "2", letters + Settings{"search.beam=3"}},
      {"search.length_norm", "average", letters},
      {"search.length_penalty", "1.5", letters},
      {"search.coverage_penalty", "0.5", letters},
      {"search.attention_layer", "0", letters + Settings{"search.coverage_penalty=0.5"}, true},
      {"search.attention_head", "0", letters + Settings{"search.coverage_penalty=0.5"}, true},
      {"search.length_factor", "1.0", letters + kBeam, true},
      {"search.length_offset", "2", letters + kBeam, true},
      {"search.max_length", "2", letters + kBeam, true},
      {"search.min_length_factor", "1.5", letters + kBeam, true},
      {"search.min_length", "6", letters + kBeam, true},
      {"search.no_repeat_ngram", "1", letters + kBeam, true},
      {"search.repetition_penalty", "3.0", letters + kBeam, true},
      {"search.stop_loops", "false", letters, true},
      {"search.temperature", "0.3", letters + kDraws},
      {"search.top_k", "2", letters + kDraws},
      {"search.top_p", "0.3", letters + kDraws},
      {"search.min_p", "0.8", letters + kDraws},
      {"search.seed", "5", letters + kDraws},
      {"search.rules", "huggingface", letters + kBeam + Settings{"search.max_length=4"}},
      {"search.stop_when", "full", letters + theirs + kConstant + Settings{"train.steps=8", "search.max_length=8"},
       true},
      {"search.force_end", "false", letters + kBeam + Settings{"search.max_length=3"}, true},
      {"search.renormalize", "true", letters + theirs},
      {"search.early_stop", "false", letters + Settings{"search.beam=3"}, true},

      {"show.input", "b a", letters + Settings{"show.input=a b c", "show.output=a b c"}},
      {"show.output", "b a", letters + Settings{"show.input=a b c", "show.output=a b c"}},
  };
  return rows;
}

}  // namespace edgewise
