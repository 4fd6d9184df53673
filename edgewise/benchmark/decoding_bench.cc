// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/decoding_bench.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/threads.h"
#include "edgewise/benchmark/decoding_workload.h"
#include "edgewise/search/search.h"

namespace edgewise {
namespace {

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
  const DecodingWorkload workload = make_decoding_workload(options);
  std::vector<DecodingBench> results;
  results.reserve(splits.size());
  for (const ThreadSplit& split : splits) results.push_back(measure(workload, options, split));
  return results;
}

}  // namespace edgewise
