// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

namespace edgewise {

/// Writes a model directory whose parameters are the mean of those of several models, each a model directory or a run:
/// checkpoints of one training, mostly, whose mean is often better than the last. Everything else is the first one's.
/// Sums are made in double, one model in memory at a time. Throws Error for models that do not fit together (another
/// [model] section, other vocabularies, tensors of other names, shapes or types) and then writes nothing.
void average_models(std::span<const std::filesystem::path> models, const std::filesystem::path& destination);

}  // namespace edgewise
