// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/metrics.h"

#include <fmt/format.h>

namespace edgewise {
namespace {

/// Begins a metric: its help and type. Returns its full name.
std::string begin_metric(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  std::string full = fmt::format("edgewise_{}", name);
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", full, help, type);
  return full;
}

void append_value(std::string& text, std::string_view name, std::string_view type, std::string_view help,
                  std::int64_t value) {
  const std::string full = begin_metric(text, name, type, help);
  text += fmt::format("{} {}\n", full, value);
}

/// Escapes the value of a label.
std::string escape_label(std::string_view value) {
  std::string escaped;
  for (const char next : value) {
    if (next == '\\' || next == '"') escaped += '\\';
    escaped += next == '\n' ? "\\n" : std::string(1, next);
  }
  return escaped;
}

}  // namespace

void Metrics::BucketCounts::add(double value) {
  for (std::size_t i = 0; i < kBuckets.size(); ++i) counts[i] += value <= kBuckets[i] ? 1 : 0;
  ++count;
  sum += value;
}

void Metrics::BucketCounts::append_to(std::string& text, std::string_view name, std::string_view labels) const {
  for (std::size_t i = 0; i < kBuckets.size(); ++i) {
    text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, labels, kBuckets[i], counts[i]);
  }
  text += fmt::format("{}_bucket{{{}le=\"+Inf\"}} {}\n", name, labels, count);
  const std::string own = labels.empty() ? "" : fmt::format("{{{}}}", labels.substr(0, labels.size() - 1));
  text += fmt::format("{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, own, sum, count);
}

void Metrics::count_response(std::string_view endpoint, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++responses_[{std::string(endpoint), status}];
  seconds_[std::string(endpoint)].add(seconds);
}

void Metrics::count_rejection(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++rejections_[std::string(reason)];
}

void Metrics::count_wait(double seconds) {
  const std::lock_guard lock(mutex_);
  waits_.add(seconds);
}

void Metrics::count_tokens(std::int64_t input, std::int64_t output) {
  const std::lock_guard lock(mutex_);
  input_tokens_ += input;
  output_tokens_ += output;
}

void Metrics::count_characters(std::string_view key, std::int64_t characters) {
  const std::lock_guard lock(mutex_);
  characters_[std::string(key)] += characters;
}

void Metrics::add_running(std::int64_t change) {
  const std::lock_guard lock(mutex_);
  running_ += change;
}

std::string Metrics::text(const ClientQueue::Load& load, const std::vector<std::string>& models) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  std::string name = begin_metric(text, "requests_total", "counter", "Responses by endpoint and status.");
  for (const auto& [key, count] : responses_) {
    text += fmt::format("{}{{endpoint=\"{}\",code=\"{}\"}} {}\n", name, escape_label(key.first), key.second, count);
  }
  name = begin_metric(text, "request_seconds", "histogram", "Time from the whole request to the whole response.");
  for (const auto& [endpoint, histogram] : seconds_) {
    histogram.append_to(text, name, fmt::format("endpoint=\"{}\",", escape_label(endpoint)));
  }
  name = begin_metric(text, "queue_seconds", "histogram", "Time that a sentence waits for its first step.");
  waits_.append_to(text, name, "");
  name = begin_metric(text, "rejected_total", "counter", "Requests that a limit refused, by reason.");
  for (const auto& [reason, count] : rejections_) {
    text += fmt::format("{}{{reason=\"{}\"}} {}\n", name, escape_label(reason), count);
  }
  name =
      begin_metric(text, "characters_total", "counter", "Characters of translated texts, by the name of the API key.");
  for (const auto& [key, count] : characters_)
    text += fmt::format("{}{{key=\"{}\"}} {}\n", name, escape_label(key), count);
  append_value(text, "requests_running", "gauge", "Requests without a complete response.", running_);
  append_value(text, "requests_waiting", "gauge", "Requests of which no model has a sentence yet.", load.waiting_calls);
  append_value(text, "sentences_waiting", "gauge", "Parts of sentences, and texts to continue, that wait for a model.",
               load.waiting_parts);
  append_value(text, "sentences_running", "gauge", "Parts of sentences, and texts to continue, that a model computes.",
               load.running_parts);
  append_value(text, "queue_tokens", "gauge", "Input tokens of all requests to models.", load.tokens);
  append_value(text, "input_tokens_total", "counter", "Input tokens of complete translations, and tokens of prompts.",
               input_tokens_);
  append_value(text, "output_tokens_total", "counter", "Output tokens of complete translations and continuations.",
               output_tokens_);
  name = begin_metric(text, "model_info", "gauge", "Loaded models.");
  for (const std::string& model : models) text += fmt::format("{}{{model=\"{}\"}} 1\n", name, escape_label(model));
  return text;
}

}  // namespace edgewise
