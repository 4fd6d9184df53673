// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/translate/client_queue.h"

namespace edgewise {

/// Counts the work of a server since its start, for Prometheus. No label has an address, a key or text of a user.
/// Threads may call all functions at the same time.
class Metrics {
 public:
  /// Upper ends of the buckets of request_seconds and queue_seconds.
  static constexpr std::array<double, 12> kBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

  /// Counts a request from its construction to its destruction as running.
  class RunningRequest {
   public:
    explicit RunningRequest(Metrics& metrics) : metrics_(metrics) { metrics_.add_running(1); }
    ~RunningRequest() { metrics_.add_running(-1); }
    RunningRequest(const RunningRequest&) = delete;
    RunningRequest& operator=(const RunningRequest&) = delete;

   private:
    Metrics& metrics_;
  };

  /// Counts a response. `endpoint` is a path of the server, or a word for all others: each value is a series that
  /// Prometheus keeps.
  void count_response(std::string_view endpoint, int status, double seconds);

  /// Counts a request that the server refused because of a limit, `reason`.
  void count_rejection(std::string_view reason);

  /// Counts a sentence that a model begins to translate after it waited for so long.
  void count_wait(double seconds);

  void count_tokens(std::int64_t input, std::int64_t output);

  /// Counts the characters of a request with the key that the operator has named `key`.
  void count_characters(std::string_view key, std::int64_t characters);

  /// Returns the text of the present values. `models` are the paths of the models.
  std::string text(const ClientQueue::Load& load, const std::vector<std::string>& models) const;

 private:
  struct BucketCounts {
    std::array<std::int64_t, kBuckets.size()> counts{};  // values of at most the bucket's end
    std::int64_t count = 0;
    double sum = 0;

    void add(double value);
    /// Appends the lines of the metric `name`; `labels` is empty or ends with a comma.
    void append_to(std::string& text, std::string_view name, std::string_view labels) const;
  };

  void add_running(std::int64_t change);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> responses_;  // by endpoint and status
  std::map<std::string, BucketCounts> seconds_;                    // by endpoint
  BucketCounts waits_;
  std::map<std::string, std::int64_t, std::less<>> rejections_;
  std::map<std::string, std::int64_t, std::less<>> characters_;  // by the name of a key
  std::int64_t running_ = 0;
  std::int64_t input_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
};

}  // namespace edgewise
