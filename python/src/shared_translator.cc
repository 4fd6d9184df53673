// SPDX-License-Identifier: Apache-2.0
#include "shared_translator.h"

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "edgewise/base/threads.h"
#include "process_end.h"
#include "signals.h"

namespace edgewise::python {

SharedTranslator::SharedTranslator(LoadedModels models, TranslatorOptions options)
    : models_(std::move(models)), options_(std::move(options)) {
  if (!options_.languages.input.empty()) models_.codec.languages.input = options_.languages.input;
  if (!options_.languages.output.empty()) models_.codec.languages.output = options_.languages.output;
  service(Alignments::kNone);
}

std::shared_ptr<TranslationService> SharedTranslator::service(Alignments alignments) {
  std::shared_ptr<TranslationService>& service = services_.get()[static_cast<std::size_t>(alignments)];
  if (!service) {
    const NumThreadsScope threads(default_num_threads());
    TranslatorOptions options = options_;
    options.alignment = alignments == Alignments::kRequested;
    service = std::make_shared<TranslationService>(models_, std::move(options));
    stop_at_end(service);
  }
  return service;
}

std::unique_ptr<SharedTranslator> load_translator(const std::vector<std::string>& paths, TranslatorOptions options,
                                                  const ChangeSearch& change_search) {
  std::vector<ModelFiles> files;
  std::optional<LoadedModels> models;
  StopRequest stop = false;
  options.stop = &stop;
  const auto run = [&](const std::function<void()>& work) {
    const nanobind::gil_scoped_release release;
    run_until_signal(work, stop);
  };
  run([&] { files = read_models(paths, "Translator"); });
  options.search = change_search(files.front().experiment.search);
  run([&] {
    const NumThreadsScope threads(default_num_threads());
    models = load_models(std::move(files), options);
  });
  options.stop = nullptr;
  return std::make_unique<SharedTranslator>(*std::move(models), std::move(options));
}

}  // namespace edgewise::python
