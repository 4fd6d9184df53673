// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/text_corpus.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

std::string path_in(const std::filesystem::path& folder, const std::string& file) {
  return file == "-" ? file : (folder / file).string();
}

std::shared_ptr<const DocumentText> make_text(std::vector<FileRange> ranges, const DocumentOptions& options) {
  return std::make_shared<DocumentText>(std::move(ranges), options);
}

/// Opens files that must have text; null if there are none.
std::shared_ptr<const DocumentText> open_if_named(const std::vector<std::string>& files,
                                                  const std::filesystem::path& folder, const DocumentOptions& options) {
  if (files.empty()) return nullptr;
  std::vector<std::string> paths;
  paths.reserve(files.size());
  for (const std::string& file : files) paths.push_back(path_in(folder, file));
  return open_text(paths, options);
}

}  // namespace

std::shared_ptr<const DocumentText> open_text(const std::vector<std::string>& paths, const DocumentOptions& options) {
  std::vector<FileRange> ranges;
  ranges.reserve(paths.size());
  for (const std::string& path : paths) {
    ranges.push_back(whole_file(std::make_shared<SeekableFile>(path, options.caller)));
  }
  return make_text(std::move(ranges), options);
}

TextCorpus load_text_corpus(const DataOptions& data, const TextCorpusOptions& options,
                            const std::filesystem::path& folder) {
  constexpr std::int64_t kSmallestBlock = std::int64_t{1} << 20;
  constexpr std::int64_t kLargestBlock = std::int64_t{1} << 26;
  constexpr std::int64_t kChunksOfBlock = 64;
  check(!data.train.empty(), "load_text_corpus: data.train names no file, needs at least one");
  DocumentOptions strict = {.separator = data.document_separator,
                            .is_bytes = options.is_bytes,
                            .block_bytes = std::clamp(kChunksOfBlock * options.length, kSmallestBlock, kLargestBlock)};
  DocumentOptions lenient = strict;
  lenient.bad_utf8 = data.bad_utf8;
  // The training text may be large, so errors in the other files are reported first.
  TextCorpus corpus = {.train = nullptr,
                       .valid = open_if_named(data.valid, folder, strict),
                       .test = open_if_named(data.test, folder, strict)};
  if (data.valid_share == 0.0) {
    corpus.train = open_if_named(data.train, folder, lenient);
    return corpus;
  }
  check(data.train.size() == 1, "load_text_corpus: data.valid_share is {} with {} files in data.train, needs one file",
        data.valid_share, data.train.size());
  const auto file = std::make_shared<SeekableFile>(path_in(folder, data.train.front()), strict.caller);
  auto [first, last] = cut_file(file, 1.0 - data.valid_share, options.is_bytes);
  corpus.valid = make_text({std::move(last)}, strict);
  corpus.train = make_text({std::move(first)}, lenient);
  return corpus;
}

}  // namespace edgewise
