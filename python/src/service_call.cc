// SPDX-License-Identifier: Apache-2.0
#include "service_call.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "process_end.h"

namespace edgewise::python {
namespace {

/// The most sentences of a list that are in a service at a time: many batches, so that a long sentence at the beginning
/// does not hold up the others.
constexpr std::size_t kMostSentences = 1024;

/// Returns the name of a client. Each call is one, so that all calls take turns.
std::string new_client() {
  static std::atomic<std::int64_t> next = 0;
  return std::to_string(next++);
}

}  // namespace

struct ServiceCall::Job {
  std::mutex mutex = {};
  std::condition_variable has_ended = {};
  bool is_at_end = false;
  SearchedSentence searched = {};
  std::exception_ptr error = {};
  TranslationService::Ticket ticket = 0;
};

ServiceCall::ServiceCall(std::shared_ptr<TranslationService> service, const CallOptions& options)
    : service_(std::move(service)), options_(options), client_(new_client()) {}

ServiceCall::~ServiceCall() {
  for (const auto& job : jobs_) service_->cancel(job->ticket);
}

void ServiceCall::put(TranslationRequest sentence) {
  auto job = std::make_shared<Job>();
  const ServiceReceiver receiver = {.take =
                                        [job](std::size_t, SearchedSentence searched) {
                                          const std::lock_guard lock(job->mutex);
                                          job->searched = std::move(searched);
                                        },
                                    .end =
                                        [job](const std::exception_ptr& error) {
                                          const std::lock_guard lock(job->mutex);
                                          job->is_at_end = true;
                                          job->error = error;
                                          job->has_ended.notify_all();
                                        }};
  // One sentence a request: the service gives turns to the requests of a client, so that it begins sentences in their
  // order.
  ServiceRequest request = {.client = client_, .sentences = {}, .n_best = options_.n_best};
  request.sentences.push_back(std::move(sentence));
  auto ticket = service_->submit(request, receiver);
  for (; !ticket; ticket = service_->submit(request, receiver)) {
    if (is_process_ending()) wait_for_process_end();
    std::this_thread::sleep_for(kSignalInterval);
    signal_clock_.run_handlers_if_due();
  }
  job->ticket = *ticket;
  jobs_.push_back(std::move(job));
  signal_clock_.run_handlers_if_due();
}

Translation ServiceCall::take() {
  const std::shared_ptr<Job> job = jobs_.front();
  {
    std::unique_lock lock(job->mutex);
    wait_for_condition(lock, job->has_ended, [&] { return job->is_at_end; });
  }
  jobs_.pop_front();
  if (job->error) std::rethrow_exception(job->error);
  Translation translation = service_->decode(job->searched);
  if (!options_.attention) {
    for (TranslatedText& output : translation.outputs) output.attention = {};
  }
  return translation;
}

std::vector<Translation> translate_all(std::shared_ptr<TranslationService> service,
                                       std::vector<TranslationRequest> sentences, const CallOptions& options) {
  ServiceCall call(std::move(service), options);
  std::vector<Translation> translations;
  translations.reserve(sentences.size());
  for (TranslationRequest& sentence : sentences) {
    if (call.size() == kMostSentences) translations.push_back(call.take());
    call.put(std::move(sentence));
  }
  while (call.size() > 0) translations.push_back(call.take());
  return translations;
}

}  // namespace edgewise::python
