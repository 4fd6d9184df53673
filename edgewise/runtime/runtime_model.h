// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/scorer.h"
#include "edgewise/search/shortlist.h"

namespace edgewise {

/// A Transformer for inference, without libtorch. Its weights are packed for matrix products and never change, so that
/// scorers on several threads can share them.
class RuntimeModel {
 public:
  /// Copies the parameters in `file`, which has the tensor names of checkpoints. Weights are packed in `precision`;
  /// biases and norms stay in fp32. Error messages call the file `file_name`. Throws Error for options that contradict
  /// each other or the file, and StopException if `stop` is set meanwhile: it is read before each parameter.
  ///
  /// kBf16 on a machine without fast bf16 instructions computes in fp32 with weights rounded to bf16. kInt8 scales each
  /// column of a weight matrix and each row that is multiplied with it.
  RuntimeModel(const TransformerOptions& options, const SafetensorsFile& file, const std::string& file_name,
               RuntimePrecision precision, const StopRequest* stop = nullptr);
  ~RuntimeModel();
  RuntimeModel(RuntimeModel&& other) noexcept;
  RuntimeModel& operator=(RuntimeModel&& other) noexcept;

  const TransformerOptions& options() const;

  /// Returns a scorer that uses this model, which must outlive it. One thread at a time may call a scorer, which
  /// computes on num_threads() threads of the caller. A sentence's results have the same bits in any batch and on any
  /// number of threads; another instruction set (kernels::instruction_set()) may give other bits. `recorded_heads`
  /// selects the cross-attention weights that steps return. Throws Error for a layer or head that the model does not
  /// have. With a shortlist, log-probabilities are normalised over the tokens that it selects for an input, and are
  /// -inf for others.
  std::unique_ptr<Scorer> make_scorer(const CrossHeads& recorded_heads = {},
                                      std::shared_ptr<const Shortlist> shortlist = nullptr) const;

 private:
  struct Packed;
  std::unique_ptr<const Packed> packed_;
};

}  // namespace edgewise
