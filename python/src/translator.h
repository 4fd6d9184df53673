// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/translate/translation.h"
#include "service_call.h"
#include "shared_translator.h"

namespace edgewise::python {

/// The object of Python's class Translator.
struct PythonTranslator {
  std::shared_ptr<SharedTranslator> shared;
  std::string name;  // the model as the user named it
};

/// Keywords that the functions for sentences share.
struct SentenceKeywords {
  std::optional<std::string> input_language = {};
  std::optional<std::string> output_language = {};
  bool alignment = false;
  bool attention = false;

  PairLanguages languages() const { return {input_language.value_or(""), output_language.value_or("")}; }
  Alignments alignments() const { return alignment || attention ? Alignments::kRequested : Alignments::kNone; }
  ResultOptions result_options(const SearchOptions& search) const {
    return {.n_best = search.n_best, .attention = attention};
  }
};

}  // namespace edgewise::python
