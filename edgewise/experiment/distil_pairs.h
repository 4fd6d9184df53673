// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "edgewise/base/stop_request.h"
#include "edgewise/experiment/distil.h"
#include "edgewise/translate/translator.h"

// The steps of distil() that make the student's pairs.

namespace edgewise {

/// Loads the teachers, which translate with the options of [search].
Translator load_teachers(const DistilOptions& options, const std::filesystem::path& folder, const StopRequest& stop);

/// Translates the lines of the inputs that `file` lacks, and appends for each a line of three fields: input, output,
/// and the mean log-probability of the output's tokens. Tabs and line feeds inside a field become spaces. An incomplete
/// last line of the file is removed. Throws Error for references of another number of lines, and StopException if
/// `stop` is set; the lines before stay.
void translate_corpus(const DistilOptions& options, const std::filesystem::path& folder,
                      const std::filesystem::path& file, DistilObserver& observer, const StopRequest& stop);

/// Writes the sides of the pairs that the options keep, a line each, to two files. Throws Error if no pair is left.
DistilledPairs filter_pairs(const std::filesystem::path& translations, const DistilFilterOptions& options,
                            const std::filesystem::path& inputs, const std::filesystem::path& outputs,
                            const StopRequest& stop);

/// Aligns the words of the pairs (align_words), and writes a line of links for each.
void write_links(const std::filesystem::path& inputs, const std::filesystem::path& outputs, std::int64_t iterations,
                 const std::filesystem::path& links, const StopRequest& stop);

}  // namespace edgewise
