// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "edgewise/options/experiment.h"

// Checks of the options of a model that an exporter writes.

namespace edgewise {

/// Throws an Error about an option: "edgewise export: model.score is additive, needs dot".
[[noreturn]] void refuse_option(std::string_view caller, std::string_view option, std::string_view has,
                                std::string_view needs);

/// Throws Error, beginning with `caller`, if model.kind, score, decoder_mixer, exits, relation, encoder_relation,
/// clamp or norm has a value that no format can express.
void check_exportable(const TransformerOptions& model, std::string_view caller);

/// Throws Error, beginning with `caller`, unless vocabulary.input_case and output_case are `keep`.
void check_case_is_kept(const VocabularySection& vocabulary, std::string_view caller);

}  // namespace edgewise
