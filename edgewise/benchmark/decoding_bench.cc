// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/decoding_bench.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/threads.h"
#include "edgewise/benchmark/random_tokens.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/ops/backend.h"
#include "edgewise/runtime/gpu/model.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"
#include "edgewise/search/search.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

/// The model, the inputs and the search that a benchmark of decoding measures.
struct DecodingWorkload {
  ScorerFactory make_scorer;  // the model's
  std::vector<Tokens> inputs;
  SearchOptions search;  // forces each output to the length that the benchmark's options give
};

constexpr std::uint64_t kDecodingSeed = 1;

std::vector<std::string> read_first_sentences(const DecodingBenchOptions& options) {
  LineReader lines(options.input);
  std::vector<std::string> sentences;
  for (std::string line; std::ssize(sentences) < options.sentences && lines.next(line);) sentences.push_back(line);
  check(!sentences.empty(), "bench decode: {} has no sentences, needs one", options.input);
  return sentences;
}

SearchOptions search_options(const DecodingBenchOptions& options) {
  SearchOptions search;
  search.beam = options.beam;
  search.length_norm = LengthNorm::kNone;
  search.length_factor = 0;
  search.length_offset = options.output_tokens - 1;
  search.min_length = options.output_tokens - 1;
  return search;
}

ScorerFactory make_scorers(const DecodingBenchOptions& options, const TransformerOptions& model,
                           const SafetensorsFile& file, const std::string& name) {
  if (options.gpu || backend_of(at::empty({1})) == Backend::kGpu) {
    const auto on_gpu = std::make_shared<const GpuModel>(
        model, file, name, GpuModelOptions{.precision = options.precision, .gpu = options.gpu.value_or(0)});
    return [on_gpu] { return on_gpu->make_scorer(); };
  }
  const auto on_cpu = std::make_shared<const RuntimeModel>(model, file, name, options.precision);
  return [on_cpu] { return on_cpu->make_scorer(); };
}

DecodingWorkload make_random_workload(const DecodingBenchOptions& options) {
  const std::vector<std::string> sentences = read_first_sentences(options);
  TransformerOptions model = bench_model_options(options.size);
  model.norm_placement = NormPlacement::kPost;
  model.final_norm = false;
  const std::string name = "random";
  const ListedTensors parameters = list_tensors(make_model(model, kDecodingSeed)->parameters());
  const SafetensorsFile file = SafetensorsFile::list(parameters.infos);
  DecodingWorkload workload = {
      .make_scorer = make_scorers(options, model, file, name), .inputs = {}, .search = search_options(options)};
  RandomStream random(kDecodingSeed);
  for (const std::string& sentence : sentences) {
    Tokens& input = workload.inputs.emplace_back(estimate_subwords(sentence));
    draw_tokens(model.input_vocabulary, random, input);
  }
  workload.search.never = {0, 1, 2};
  return workload;
}

std::vector<Tokens> encode_inputs(const TextCodec& codec, const DecodingBenchOptions& options) {
  std::vector<Tokens> inputs;
  for (std::string& sentence : read_first_sentences(options)) {
    for (SentencePart& part : codec.encode({.input = std::move(sentence)}).parts) {
      if (!part.input.tokens.empty()) inputs.push_back(std::move(part.input.tokens));
    }
  }
  check(!inputs.empty(), "bench decode: {} has no tokens of {}, needs one", options.input, options.model);
  return inputs;
}

DecodingWorkload read_workload(const DecodingBenchOptions& options) {
  ModelFiles files = read_model_files(options.model, "bench decode");
  set_decoder_depth(files, options.depth, "bench decode");
  const std::int64_t positions = files.codec.max_positions;
  check(positions == 0 || options.output_tokens <= positions,
        "bench decode: output_tokens is {}, needs at most {}, the number of positions of {}", options.output_tokens,
        positions, options.model);
  DecodingWorkload workload = {
      .make_scorer = make_scorers(options, files.experiment.model, files.parameters, files.parameters_name),
      .inputs = encode_inputs(files.codec, options),
      .search = search_options(options)};
  const SentenceRules& rules = files.codec.vocabularies.output->rules();
  workload.search.begin_token = rules.special.begin;
  workload.search.end_token = rules.special.end;
  workload.search.never.assign(rules.forbidden.begin(), rules.forbidden.end());
  return workload;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Distributes the inputs to all workers, again and again until `min_seconds` have passed, and measures the latency of
/// each.
class TimedQueue : public SearchQueue {
 public:
  TimedQueue(const std::vector<Tokens>& inputs, std::int64_t output_tokens, double min_seconds)
      : inputs_(inputs), output_tokens_(output_tokens), min_seconds_(min_seconds) {}

  std::optional<SearchInput> next(bool /*is_busy*/) override {
    const std::scoped_lock lock(mutex_);
    const std::size_t input = begin_.size() % inputs_.size();
    const bool is_end_of_pass = input == 0 && !begin_.empty();
    if (is_closed_ || (is_end_of_pass && seconds_since(begin_.front()) >= min_seconds_)) {
      is_closed_ = true;
      return {};
    }
    const std::int64_t id = std::ssize(begin_);
    begin_.push_back(Clock::now());
    return SearchInput{.tokens = inputs_[input], .id = id};
  }

  void put_result(SearchInput input, std::vector<Hypothesis> best) override {
    const std::scoped_lock lock(mutex_);
    latencies_.push_back(seconds_since(begin_[static_cast<std::size_t>(input.id)]));
    const std::int64_t length = best.empty() ? 0 : std::ssize(best.front().tokens) + 1;
    check(length == output_tokens_, "bench decode: output {} has {} tokens, needs {}", input.id, length,
          output_tokens_);
  }

  std::int64_t num_tokens() const { return std::ssize(latencies_) * output_tokens_; }

  double median_latency() const { return median(latencies_); }

 private:
  std::mutex mutex_;
  const std::vector<Tokens>& inputs_;
  std::int64_t output_tokens_;
  double min_seconds_;
  bool is_closed_ = false;
  std::vector<Clock::time_point> begin_;  // [inputs taken so far]
  std::vector<double> latencies_;
};

/// Workers that decode several queues one after the other: the first queue allocates all memory for the timed one.
class Workers {
 public:
  Workers(const DecodingWorkload& workload, const DecodingBenchOptions& options, const ThreadSplit& split)
      : search_(workload.search), options_(options), split_(split), errors_(static_cast<std::size_t>(split.workers)) {
    for (int i = 0; i < split.workers; ++i) scorers_.push_back(workload.make_scorer());
  }

  // The first worker runs in the calling thread, whose team of threads exists already.
  void run(TimedQueue& queue) {
    {
      std::vector<std::jthread> threads;  // joined at the end of this scope
      for (std::size_t i = 1; i < scorers_.size(); ++i) {
        auto thread = try_start_thread([this, i, &queue] { work(i, queue); });
        check(thread.has_value(),
              "bench decode: the system starts {} workers, needs {}; raise its limit of processes (ulimit -u), or "
              "choose fewer --workers or --threads",
              i, scorers_.size());
        threads.push_back(std::move(*thread));
      }
      work(0, queue);
    }
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
  }

  const std::vector<Profile::Line>& profile() const { return profile_; }

 private:
  void work(std::size_t worker, TimedQueue& queue) {
    try {
      const NumThreadsScope threads(split_.threads);
      std::optional<Profile> profile;
      if (options_.is_profiled && worker == 0) profile.emplace();
      search(*scorers_[worker], queue, search_, {.sentences = options_.batch});
      if (profile) profile_ = profile->lines();
    } catch (...) {
      errors_[worker] = std::current_exception();
    }
  }

  const SearchOptions& search_;
  const DecodingBenchOptions& options_;
  ThreadSplit split_;
  std::vector<std::unique_ptr<Scorer>> scorers_;
  std::vector<std::exception_ptr> errors_;
  std::vector<Profile::Line> profile_;
};

DecodingBench measure(const DecodingWorkload& workload, const DecodingBenchOptions& options, const ThreadSplit& split) {
  const std::vector<Tokens>& inputs = workload.inputs;
  Workers workers(workload, options, split);
  const auto num_first = std::min<std::int64_t>(std::ssize(inputs), options.batch * split.workers);
  const std::vector<Tokens> first(inputs.begin(), inputs.begin() + num_first);
  TimedQueue warmup(first, options.output_tokens, /*min_seconds=*/0);
  workers.run(warmup);

  TimedQueue queue(inputs, options.output_tokens, options.min_seconds);
  const Clock::time_point begin = Clock::now();
  workers.run(queue);
  return {.split = split,
          .seconds = seconds_since(begin),
          .output_tokens = queue.num_tokens(),
          .median_latency = queue.median_latency(),
          .profile = workers.profile()};
}

}  // namespace

std::vector<DecodingBench> measure_decoding(const DecodingBenchOptions& options,
                                            const std::vector<ThreadSplit>& splits) {
  const DecodingWorkload workload = options.model.empty() ? make_random_workload(options) : read_workload(options);
  std::vector<DecodingBench> results;
  results.reserve(splits.size());
  for (const ThreadSplit& split : splits) results.push_back(measure(workload, options, split));
  return results;
}

}  // namespace edgewise
