// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/training_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <sstream>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/random.h"
#include "edgewise/base/sorting.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/models/model_costs.h"
#include "edgewise/text/corpus/parallel_text.h"
#include "edgewise/train/device.h"
#include "edgewise/train/updater.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxPairs = 20'000;
constexpr std::uint64_t kTrainingSeed = 1;

struct ModelDimensions {
  std::int64_t size, feed_forward, heads, layers, vocabulary;
};

// In the order of ModelSize.
constexpr std::array<ModelDimensions, 6> kDimensions = {{{128, 256, 4, 4, 10'000},
                                                         {256, 1024, 4, 2, 10'000},
                                                         {512, 2048, 8, 6, 10'000},
                                                         {1024, 4096, 16, 6, 10'000},
                                                         {384, 1536, 6, 6, 65},
                                                         {768, 2048, 12, 12, 50'000}}};

const ModelDimensions& dimensions_of(ModelSize size) { return kDimensions.at(static_cast<std::size_t>(size)); }

/// Draws tokens other than padding. Small numbers are more frequent, as in text, so that the model can learn.
std::vector<std::int64_t> random_tokens(std::size_t count, ModelSize size, RandomStream& random) {
  const auto last = static_cast<double>(dimensions_of(size).vocabulary - 1);
  std::vector<std::int64_t> tokens(count);
  for (std::int64_t& token : tokens) {
    token = 1 + static_cast<std::int64_t>(std::pow(random.uniform(), 3) * last);
  }
  return tokens;
}

/// Returns the texts of all steps, each with `options.length` predicted tokens.
std::vector<TokenPair> random_texts(const TrainingBenchOptions& options) {
  RandomStream random(kTrainingSeed);
  const std::int64_t in_a_batch = std::max<std::int64_t>(options.tokens / options.length, 1);
  std::vector<TokenPair> texts(static_cast<std::size_t>((options.warmup + options.steps) * in_a_batch));
  const auto count = static_cast<std::size_t>(options.length) + 1;
  for (TokenPair& text : texts) text.output = random_tokens(count, options.size, random);
  return texts;
}

std::vector<TokenPair> random_pairs(const TrainingBenchOptions& options) {
  const SentencePairs sentences = read_pairs(std::vector<std::string>{options.input, options.output});
  RandomStream random(kTrainingSeed);
  std::vector<TokenPair> pairs;
  for (std::size_t i = 0; i < std::min(sentences.size(), kMaxPairs); ++i) {
    std::vector<std::int64_t> input = random_tokens(estimate_subwords(sentences.inputs[i]), options.size, random);
    const std::size_t outputs = estimate_subwords(sentences.outputs[i]) + 1;
    pairs.push_back({std::move(input), random_tokens(outputs, options.size, random)});
  }
  return pairs;
}

Experiment experiment_of(const TrainingBenchOptions& options) {
  Experiment experiment;
  experiment.model =
      options.length > 0 ? bench_language_model_options(options.size) : bench_model_options(options.size);
  experiment.model.relation = options.relation;
  check_options(experiment.model, "bench train");
  experiment.train.precision = options.precision;
  experiment.batch = {.tokens = std::max(options.tokens, options.length), .sentences = 0, .bucket = 0};
  experiment.train.schedule = ScheduleKind::kConstant;
  // So large that the losses soon fall, but not so large that the first steps of the model, without warmup, raise them.
  const bool is_large = options.size == ModelSize::kBig || options.size == ModelSize::kLlama125m;
  experiment.train.learning_rate = is_large ? 1e-4 : 5e-4;
  experiment.train.warmup = 0;
  experiment.train.seed = kTrainingSeed;
  return experiment;
}

/// The task of `edgewise train`, with a count of the model's floating-point operations.
class FlopCountingTask : public ModelTask {
 public:
  explicit FlopCountingTask(const Experiment& experiment)
      : ModelTask({experiment, {}, make_model(experiment.model, experiment.train.seed)}), options_(experiment.model) {}

  bool can_validate() const override { return false; }
  Validation validate(const StopRequest&) override { fail("bench train: the task has no validation data"); }

  BatchLoss loss(const Batch& batch, Pass& pass) override {
    flops_ += training_flops(options_, batch);
    return ModelTask::loss(batch, pass);
  }

  /// Returns the operations since the last call.
  double take_flops() { return std::exchange(flops_, 0.0); }

 private:
  TransformerOptions options_;
  double flops_ = 0.0;
};

void set_llama_layers(TransformerOptions& options) {
  options.norm = NormKind::kRmsNorm;
  options.positions = PositionKind::kRotary;
  options.activation = Activation::kSilu;
  options.feed_forward_gate = true;
  options.attention_bias = options.feed_forward_bias = options.output_bias = false;
  options.scale_embedding = false;
  options.dropout = {.embedding = 0.0, .residual = 0.0, .attention = 0.0, .activation = 0.0};
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::size_t estimate_subwords(const std::string& sentence) {
  std::istringstream words(sentence);
  const auto count = std::distance(std::istream_iterator<std::string>(words), {});
  return static_cast<std::size_t>(count * 5 / 4 + 1);
}

LossTrend loss_trend(std::span<const double> losses) {
  const auto not_finite = std::ranges::find_if(losses, [](double loss) { return !std::isfinite(loss); });
  check(not_finite == losses.end(), "bench train: loss of step {} is {}, needs a finite number; no time is shown",
        not_finite - losses.begin() + 1, not_finite == losses.end() ? 0.0 : *not_finite);
  const std::size_t quarter = (losses.size() + 3) / 4;
  const LossTrend course = {.first = mean(losses.first(quarter)), .last = mean(losses.last(quarter))};
  check(course.last < course.first, "bench train: loss goes from {:.4f} to {:.4f}, needs to fall; no time is shown",
        course.first, course.last);
  return course;
}

TransformerOptions bench_model_options(ModelSize size) {
  TransformerOptions options;
  const ModelDimensions& dimensions = dimensions_of(size);
  options.input_vocabulary = options.output_vocabulary = dimensions.vocabulary;
  options.dropout = {.embedding = 0.0, .residual = 0.1, .attention = 0.1, .activation = 0.1};
  options.size = dimensions.size;
  options.feed_forward = dimensions.feed_forward;
  options.heads = dimensions.heads;
  options.encoder_layers = options.decoder_layers = dimensions.layers;
  if (size == ModelSize::kLlama125m) set_llama_layers(options);
  return options;
}

TransformerOptions bench_language_model_options(ModelSize size) {
  TransformerOptions options = bench_model_options(size);
  options.kind = ModelKind::kLanguageModel;
  options.tying = Tying::kOutput;
  options.dropout.activation = 0.0;
  return options;
}

TrainingBench measure_training(const TrainingBenchOptions& options) {
  check(options.steps >= 1 && options.warmup >= 1, "bench train: steps are {} after {}, needs at least 1 of each",
        options.steps, options.warmup);
  const Experiment experiment = experiment_of(options);
  prepare_device(options.device);
  const TensorMemory memory(options.device);
  FlopCountingTask task(experiment);
  BatchShares batches(
      std::make_shared<PairsInMemory>(options.length > 0 ? random_texts(options) : random_pairs(options)),
      experiment.batch, kTrainingSeed);
  Updater update(experiment.train, task, batches, single_process(), options.device);

  TrainingBench bench;
  std::vector<double> losses;
  std::vector<double> times;
  std::optional<Profile> profile;
  for (std::int64_t step = 1; step <= options.warmup + options.steps; ++step) {
    if (options.is_profiled && step == options.warmup + 1) profile.emplace();
    const auto begin = std::chrono::steady_clock::now();
    const LossSums sums = update(step).sums;
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double flops = task.take_flops();
    losses.push_back(sums.loss / static_cast<double>(sums.tokens));
    if (step <= options.warmup) continue;
    times.push_back(took);
    bench.seconds += took;
    bench.output_tokens += sums.tokens;
    bench.flops += flops;
  }
  bench.loss = loss_trend(losses);
  if (profile) bench.profile = profile->lines();
  bench.median_step = median(times);
  bench.peak_memory = peak_memory();
  bench.peak_tensors = memory.peak();
  return bench;
}

}  // namespace edgewise
