// SPDX-License-Identifier: Apache-2.0
#include "generation_call.h"

#include <nanobind/nanobind.h>

#include <limits>
#include <utility>

#include "edgewise/base/threads.h"
#include "edgewise/translate/model_files.h"
#include "process_end.h"
#include "service_call.h"

namespace edgewise::python {

SharedGenerator::SharedGenerator(const std::string& path, GeneratorOptions options) {
  options.stop = &stop_;
  const nanobind::gil_scoped_release release;
  const auto load = [&] {
    const NumThreadsScope threads(default_num_threads());
    engine_ = std::make_shared<GenerationEngine>(read_model_files(path, "Generator"), options);
  };
  run_until_signal(load, stop_);
}

std::shared_ptr<GenerationService> SharedGenerator::service() {
  std::shared_ptr<GenerationService>& service = service_.get();
  if (!service) {
    constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 2;
    service = std::make_shared<GenerationService>(engine_, kNoLimit);
    stop_at_end(service);
  }
  return service;
}

ContinuationCall::ContinuationCall(std::shared_ptr<GenerationService> service,
                                   std::span<const GenerationRequest> requests)
    : service_(std::move(service)), call_(*service_, new_client()) {
  std::vector<ContinuedText> texts;
  for (const GenerationRequest& request : requests) {
    texts.push_back(service_->begin(request));
    prompt_tokens_.push_back(std::ssize(texts.back().input().prompt));
  }
  // The service refuses texts at the end of the process only.
  if (!call_.try_put(std::move(texts))) wait_for_process_end();
}

std::optional<GeneratedPiece> ContinuationCall::next() {
  signal_clock_.run_handlers_if_due();
  const auto is_ready = [&] { return call_.wait_until(GenerationCall::Clock::now() + kSignalInterval); };
  while (handles_signals() && !is_ready()) run_signal_handlers();
  return until_process_end([&] { return call_.next(); });
}

std::vector<GeneratedTexts> continue_all(std::shared_ptr<GenerationService> service,
                                         std::span<const GenerationRequest> requests) {
  ContinuationCall call(std::move(service), requests);
  std::vector<GeneratedTexts> texts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    texts.push_back({call.prompt_tokens()[i], {}});
    texts.back().samples.resize(static_cast<std::size_t>(requests[i].options.samples));
  }
  while (const auto piece = call.next()) texts[piece->request].add(*piece);
  return texts;
}

}  // namespace edgewise::python
