// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/options/data_options.h"
#include "edgewise/text/corpus/document_text.h"

namespace edgewise {

/// The texts of a language model. A text that the options do not name is null.
struct TextCorpus {
  std::shared_ptr<const DocumentText> train;
  std::shared_ptr<const DocumentText> valid;
  std::shared_ptr<const DocumentText> test;
};

struct TextCorpusOptions {
  bool is_bytes = false;      // whether the text may have any bytes (VocabularyKind::kBytes)
  std::int64_t length = 256;  // tokens of a chunk: blocks have at least 64 times as many bytes
};

/// Opens the files of a language model. Relative paths begin at `folder`. With data.valid_share, the end of the
/// training file validates. Lines of the training text that are not UTF-8 are treated as data.bad_utf8 says; elsewhere
/// they are an error. Throws Error if there is no training file, or no text in a file that is named.
TextCorpus load_text_corpus(const DataOptions& data, const TextCorpusOptions& options,
                            const std::filesystem::path& folder = {});

/// Opens files as one text, whose documents `separator` ends. Errors begin with `caller`.
std::shared_ptr<const DocumentText> open_text(const std::vector<std::string>& paths, const DocumentOptions& options);

}  // namespace edgewise
