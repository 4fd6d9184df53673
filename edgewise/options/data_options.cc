// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/data_options.h"

#include "edgewise/base/error.h"

namespace edgewise {

void check_files(const DataOptions& options, std::string_view caller) {
  const std::size_t files = options.train.size();
  const std::size_t corpora = options.weights.size();
  check(files > 0, "{}: data.train names no file, needs one TSV file, or two files with a sentence a line", caller);
  check(corpora > 0 || files <= 2,
        "{}: data.train names {} files, needs one TSV file, or two files with a sentence a line; for several corpora "
        "give data.weights, a number each",
        caller, files);
  check(corpora == 0 || files == corpora || files == 2 * corpora,
        "{}: data.train names {} files, but data.weights has {} numbers, needs one TSV file for each, or two files",
        caller, files, corpora);
}

}  // namespace edgewise
