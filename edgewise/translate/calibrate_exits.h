// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/translate/model_paths.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

struct CalibrateExitsOptions {
  double loss = 1.0;  // points of chrF
  double risk = 0.05;
  TranslatorOptions translator = {};  // depth has no effect

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("loss", self.loss, "largest expected loss of a sentence, in points of chrF", at_least(0.001).at_most(99));
    field("risk", self.risk, "largest probability that the expected loss is above `loss`", at_least(1e-6).at_most(0.5));
  }
};

/// A threshold of halting, as measured on sentence pairs.
struct TestedThreshold {
  double threshold = 1;
  double loss = 0;     // mean loss of a sentence, in points of chrF
  double p_value = 1;  // the hypothesis is that the expected loss is above the limit
  double layers = 0;   // mean number of decoder layers of a token
};

/// Chooses the threshold of a model with exits by Learn then Test (Angelopoulos et al. 2021), as CALM does (Schuster et
/// al. 2022): translates `inputs` with all layers, then with the thresholds 0.95, 0.9, … 0, until the hypothesis that
/// the expected loss of a sentence is above options.loss cannot be rejected at the level options.risk (risk_control.h).
/// The loss of a sentence is by how much chrF for its reference falls: chrF with all layers - chrF with exits, which is
/// negative if it rises. Because the order of the thresholds is fixed, each is tested at the whole level. The guarantee
/// holds for sentences of the distribution of these ones, which must not have been used in training.
///
/// Returns the thresholds that were tested; the last one was not rejected, unless it is 0.
std::vector<TestedThreshold> test_exit_thresholds(const std::filesystem::path& model,
                                                  const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& references,
                                                  const CalibrateExitsOptions& options);

/// The files of sentence pairs, a sentence on each line.
struct CalibrationFiles {
  std::string inputs;
  std::string references;
};

/// Writes a model directory whose config has the lowest threshold that passed, with the guarantee in a comment. Returns
/// the thresholds that were tested. Throws Error, without writing anything, if none passed, for a model without exits,
/// for files of different lengths, and for a destination that check_output_directory refuses.
std::vector<TestedThreshold> calibrate_exits(const std::filesystem::path& model, const CalibrationFiles& files,
                                             const std::filesystem::path& destination,
                                             const CalibrateExitsOptions& options = {},
                                             Overwrite overwrite = Overwrite::kNo);

}  // namespace edgewise
