// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "edgewise/base/safetensors.h"
#include "edgewise/options/precision.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/cross_heads.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// A Transformer packed for translating, without libtorch. It never changes, and any number of scorers on any threads
/// share it.
class RuntimeModel {
 public:
  /// Packs parameters as Transformer names them: weights in the precision asked for, biases and norms in fp32. `file`
  /// is not needed afterwards; `file_name` is what errors call it. Throws Error for options that do not fit each other
  /// or the file.
  ///
  /// In bf16 a machine without fast instructions for it computes in fp32, with weights rounded to bf16. In int8 each
  /// column of a weight has a scale, and each row that it is multiplied with.
  RuntimeModel(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
               RuntimePrecision precision);
  ~RuntimeModel();
  RuntimeModel(RuntimeModel&& other) noexcept;
  RuntimeModel& operator=(RuntimeModel&& other) noexcept;

  const TransformerOptions& options() const;

  /// Scores with this model, which must outlive it. One scorer is for one thread at a time; it uses as many threads as
  /// num_threads() says there, and gives a sentence the same bits whatever else it scores with it, and on any number.
  /// `attention` is what a step shows of where its nodes look. Throws Error for a layer or head that there is not.
  std::unique_ptr<Scorer> scorer(const CrossHeads& attention = {}) const;

 private:
  struct Packed;
  std::unique_ptr<const Packed> packed_;
};

}  // namespace edgewise
