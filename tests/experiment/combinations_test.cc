// SPDX-License-Identifier: Apache-2.0
// Options of the model and of its training in combination: each triple of values either trains, saves, loads and
// translates, or is refused with the config.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "edgewise/base/config/config.h"
#include "edgewise/data/encoded_text.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/models/transformer.h"
#include "edgewise/models/universal_transformer.h"
#include "edgewise/train/updater.h"
#include "tests/experiment/combination_cover.h"
#include "tests/models/model_scorer.h"
#include "tests/runtime/runtime_models.h"

namespace edgewise {
namespace {

// If word dropout left out all words of a sentence, then a model without biases would compute zeros, whose gradient
// std_norm multiplies by 1 / epsilon in each layer. Sentences of at least four words keep one in these two steps.
const std::vector<std::string> kBase = {
    "data.task=copy",
    "data.train_size=12",
    "data.valid_size=0",
    "data.test_size=0",
    "data.symbols=5",
    "data.length_mean=6",
    "data.length_deviation=2",
    "data.min_length=4",
    "data.end_input=true",
    "vocabulary.shared=true",
    "batch.tokens=0",
    "batch.sentences=6",
    "model.encoder_layers=3",
    "model.decoder_layers=2",
    "model.size=12",
    "model.heads=2",
    "model.feed_forward=10",
    "train.schedule=constant",
    "train.learning_rate=0.01",
    "train.warmup=0",
};

// Values of options that are numbers, and the kinds of models that translate.
const std::map<std::string, std::vector<std::string>> kNumbers = {
    {"model.kind", {"transformer", "universal"}},
    {"model.heads", {"2", "3"}},
    {"model.key_value_heads", {"0", "1"}},
    {"model.clamp", {"none", "0.5"}},
    {"model.dropout.embedding", {"0.1", "0.0"}},
    {"model.dropout.residual", {"0.1", "0.0"}},
    {"model.dropout.attention", {"0.0", "0.2"}},
    {"model.dropout.activation", {"0.1", "0.0"}},
    {"model.dropout.word", {"0.0", "0.2"}},
    {"model.universal.filter_width", {"3", "4"}},
    {"train.smoothing", {"0.1", "0.0"}},
    {"train.rdrop", {"0.0", "1.0"}},
    {"train.simcut", {"0.0", "1.0"}},
};

// Options of [model] that keep one value, because they choose no other computation.
const std::set<std::string> kFixed = {
    "model.preset",
    "model.encoder_layers",
    "model.decoder_layers",
    "model.relation",
    "model.encoder_relation",
    "model.size",
    "model.feed_forward",
    "model.norm_epsilon",
    "model.max_positions",
    "model.rotary.base",
    "model.rotary.factor",
    "model.rotary.low_frequency",
    "model.rotary.high_frequency",
    "model.rotary.trained_length",
    "model.t5_buckets",
    "model.t5_distance",
    "model.exits.layers",
    "model.exits.weights",
    "model.exits.threshold",
    "model.exits.fall",
    "model.universal.epsilon",
    "model.universal.halting_bias",
    "model.universal.ponder_weight",
};

// Options of other sections that change what a model computes.
const std::set<std::string> kOtherOptions = {"train.precision", "train.quantise",  "train.smoothing",  "train.rdrop",
                                             "train.simcut",    "batch.positions", "vocabulary.shared"};

Experiment parse(const std::vector<std::string>& settings) {
  std::vector<std::string> all = kBase;
  all.insert(all.end(), settings.begin(), settings.end());
  return parse_experiment("", "combination", all);
}

/// Returns the values of an option that is an enum or a bool, `present` first.
std::vector<std::string> choices_of(const Field& field) {
  std::vector<std::string> values;
  if (const auto* choice = std::get_if<EnumValue>(&field.value)) {
    values.assign(choice->names.begin(), choice->names.end());
    std::iter_swap(values.begin(), std::ranges::find(values, choice->get()));
  } else if (const auto* truth = std::get_if<bool*>(&field.value)) {
    values = **truth ? std::vector<std::string>{"true", "false"} : std::vector<std::string>{"false", "true"};
  }
  return values;
}

void collect_factors(const Section& section, const std::string& prefix, std::vector<Factor>& factors) {
  for (const Field& field : section) {
    const std::string path = prefix + field.name;
    if (const auto* inner = std::get_if<Section>(&field.value)) {
      collect_factors(*inner, path + ".", factors);
    } else if ((path.starts_with("model.") || kOtherOptions.contains(path)) && !kFixed.contains(path)) {
      const auto numbers = kNumbers.find(path);
      factors.push_back({path, numbers == kNumbers.end() ? choices_of(field) : numbers->second});
    }
  }
}

std::vector<Factor> make_factors() {
  Experiment base = parse({});
  std::vector<Factor> factors;
  collect_factors(fields_of(base), "", factors);
  return factors;
}

std::vector<std::string> settings_of_combination(const std::vector<Factor>& factors, const Combination& combination) {
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    settings.push_back(factors[i].option + "=" + factors[i].values[combination[i]]);
  }
  return settings;
}

/// Returns the error for a config; empty if the config is accepted.
std::string refusal(const std::vector<std::string>& settings) {
  try {
    check_options(parse(settings), "train");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// A model after two training steps.
struct TrainedModel {
  TransformerOptions options;
  SafetensorsFile file;
};

// A bias of the keys adds the same number to the scores of all edges into a node, which the softmax takes away again.
// The halting units of exits are trained alone.
bool has_zero_gradient(const std::string& name, const TransformerOptions& options) {
  return (name.ends_with(".key.bias") && options.score == ScoreKind::kDot) || name.starts_with("exits.");
}

TrainedModel train_two_steps(const Experiment& experiment) {
  Corpus corpus = load_corpus(experiment.data, "");
  const Vocabularies vocabularies = make_vocabularies(experiment.vocabulary, corpus);
  const TransformerOptions options = transformer_options(experiment, vocabularies);
  TranslationTask task({experiment, vocabularies, make_model(options, 3)}, {});
  const PairEncoder encoder(vocabularies.input, vocabularies.output, make_encode_options(experiment.data));
  BatchShares batches(std::make_shared<EncodedText>(corpus.train, encoder), experiment.batch, 1);
  Updater update(experiment.train, task, batches);
  for (std::int64_t step = 1; step <= 2; ++step) {
    const Update done = update(step);
    EXPECT_TRUE(std::isfinite(done.sums.loss));
    EXPECT_TRUE(done.is_applied());
  }
  for (const NamedTensor& parameter : task.parameters()) {
    const at::Tensor gradient = parameter.tensor.grad();
    EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << parameter.name;
    EXPECT_TRUE(gradient.abs().max().item<double>() > 0 || has_zero_gradient(parameter.name, options))
        << parameter.name << " has no gradient";
  }
  return {options, SafetensorsFile::parse(serialize_tensors(task.parameters()), "saved")};
}

const std::vector<Tokens> kSweepInputs = {{4, 8, 5, 6}, {8}, {5, 5, 4, 7, 7, 6, 4}};

/// Returns the results of the model over libtorch. With bf16, its matrices are rounded as the runtime rounds them: a
/// model without a norm at its end may amplify this rounding to any size.
std::vector<GrownStep> reference_results(const TrainedModel& trained, RuntimePrecision precision) {
  const auto model = make_model(trained.options, 9);
  const std::vector<NamedTensor> parameters = model->parameters();
  load_tensors(parameters, trained.file, "saved");
  for (const NamedTensor& parameter : parameters) {
    const bool is_rounded = precision == RuntimePrecision::kBf16 && parameter.tensor.dim() >= 2;
    if (is_rounded) parameter.tensor.detach().copy_(parameter.tensor.detach().to(at::kBFloat16));
  }
  return grow_branches(*make_scorer(*model), kSweepInputs, 4);
}

/// Returns a bound on the mean difference of log-probabilities from those of the model over libtorch. Inputs of
/// products are rounded in int8 only, and no norm bounds what the last layer makes of this rounding if a model has none
/// there.
double mean_error(RuntimePrecision precision, const TransformerOptions& options) {
  if (precision == RuntimePrecision::kBf16) return 0.05;
  const bool ends_with_norm = options.final_norm || options.norm_placement == NormPlacement::kPost;
  return ends_with_norm ? 0.15 : 0.3;
}

void expect_runtime_agrees(const TrainedModel& trained) {
  for (const RuntimePrecision precision : {RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8}) {
    SCOPED_TRACE(enum_name(precision));
    const auto reference = reference_results(trained, precision);
    const RuntimeModel runtime(trained.options, trained.file, "saved", precision);
    const auto found = grow_branches(*runtime.make_scorer(), kSweepInputs, 4);
    if (precision == RuntimePrecision::kFp32) {
      expect_same_results(found, reference);
    } else {
      EXPECT_LE(mean_difference(found, reference), mean_error(precision, trained.options));
    }
  }
}

/// Expects that message passing gives nearly the logits of fused computation in validation, and in training without
/// dropout in the given precision.
template <class Model>
void expect_messages_agree(const TrainedModel& trained, Precision precision) {
  TransformerOptions options = trained.options;
  options.dropout = {.embedding = 0, .residual = 0, .attention = 0, .activation = 0, .word = 0};
  const Model model(options, 9);
  load_tensors(parameters(model), trained.file, "saved");
  const Batch batch = make_batch(std::vector<TokenPair>{{{4, 8, 5, 6}, {2, 7, 6, 3}}, {{8, 5}, {2, 4, 5, 6, 7, 3}}});
  for (const Pass& pass : {Pass::inference(), Pass::training(1, precision)}) {
    Pass for_fused = pass;
    Pass for_messages = pass;
    MessageGraph graph(batch.graph);
    const at::Tensor fused = model.forward(batch, for_fused).detach().to(at::kDouble);
    const at::Tensor by_messages = model.forward_by_messages(graph, batch, for_messages).detach().to(at::kDouble);
    const bool is_rounded = pass.is_training() && precision == Precision::kBf16;
    EXPECT_LE((fused - by_messages).abs().mean().item<double>(), is_rounded ? 0.05 : 1e-5);
  }
}

void expect_to_work(const std::vector<std::string>& settings) {
  SCOPED_TRACE(fmt::format("{}", fmt::join(settings, " ")));
  const Experiment experiment = parse(settings);
  try {
    const TrainedModel trained = train_two_steps(experiment);
    expect_runtime_agrees(trained);
    if (experiment.model.kind == ModelKind::kUniversal) {
      expect_messages_agree<UniversalTransformer>(trained, experiment.train.precision);
    } else {
      expect_messages_agree<Transformer>(trained, experiment.train.precision);
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

TEST(Combinations, OfDefaultsWithEachKindOfModelTrainSaveLoadAndTranslate) {
  expect_to_work({"model.kind=transformer"});
  expect_to_work({"model.exits.layers=[1]", "model.exits.weights=rising"});
  expect_to_work({"model.kind=universal"});
}

TEST(Combinations, OfOptionsTrainSaveLoadAndTranslate) {
  const std::vector<Factor> factors = make_factors();
  for (const Factor& factor : factors) {
    ASSERT_GE(factor.values.size(), 2U) << factor.option << " needs values in kNumbers, or a place in kFixed";
  }
  const Cover cover = cover_triples(factors, [&](const Combination& combination) {
    return refusal(settings_of_combination(factors, combination)).empty();
  });
  for (const Combination& combination : cover.combinations) {
    expect_to_work(settings_of_combination(factors, combination));
    if (testing::Test::HasFailure()) return;
  }
  RecordProperty("combinations", static_cast<int>(cover.combinations.size()));
}

TEST(Combinations, ThatAreRefusedAreRefusedWithTheConfigByASentenceThatNamesAnOptionOfTheTwo) {
  const std::vector<Factor> factors = make_factors();
  const Cover cover = cover_triples(factors, [&](const Combination& combination) {
    return refusal(settings_of_combination(factors, combination)).empty();
  });
  EXPECT_FALSE(cover.impossible_pairs.empty());
  const auto last_name = [](const std::string& option) { return option.substr(option.rfind('.') + 1); };
  const auto kind = std::ranges::find(factors, "model.kind", &Factor::option) - factors.begin();
  for (const auto& [a, b] : cover.impossible_pairs) {
    Combination combination(factors.size(), 0);
    const bool are_universal = factors[a.first].option.starts_with("model.universal.") &&
                               factors[b.first].option.starts_with("model.universal.");
    if (are_universal) combination[kind] = 1;
    combination[a.first] = a.second;
    combination[b.first] = b.second;
    const std::string error = refusal(settings_of_combination(factors, combination));
    SCOPED_TRACE(factors[a.first].option + " and " + factors[b.first].option + ": " + error);
    // The sentence may name a third option, which one of the two needs and the other one excludes.
    EXPECT_TRUE(error.find(last_name(factors[a.first].option)) != std::string::npos ||
                error.find(last_name(factors[b.first].option)) != std::string::npos);
    EXPECT_NE(error.find(", needs "), std::string::npos);
  }
}

}  // namespace
}  // namespace edgewise
