// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "edgewise/distributed/process_group.h"
#include "edgewise/translate/vocabulary_files.h"

namespace edgewise {

/// Returns the vocabularies that `make` returns in process 0, which alone calls it: learning takes minutes. All
/// processes call this function. An Error of `make` becomes that of on_first_process.
Vocabularies share_vocabularies(ProcessGroup& processes, bool is_shared, const std::function<Vocabularies()>& make);

}  // namespace edgewise
