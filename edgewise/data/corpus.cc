// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/corpus.h"

#include <string>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/data/synthetic.h"

namespace edgewise {
namespace {

SentencePairs read_split(const std::vector<std::string>& files, const std::filesystem::path& folder,
                         BadPairs bad_pairs) {
  if (files.empty()) return {};
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back((folder / file).string());
  return read_pairs(paths, {.bad_pairs = bad_pairs});
}

void keep_first(SentencePairs& pairs, std::int64_t limit) {
  if (limit == 0 || limit >= static_cast<std::int64_t>(pairs.size())) return;
  pairs.inputs.resize(static_cast<std::size_t>(limit));
  pairs.outputs.resize(static_cast<std::size_t>(limit));
  pairs.account.kept = limit;
}

}  // namespace

Corpus load_corpus(const DataOptions& options, const std::filesystem::path& folder) {
  if (options.task != DataTask::kText) return make_synthetic(options);
  check(!options.train.empty(),
        "load_corpus: data.train names no file, needs one TSV file, or two files with a sentence a line");
  Corpus corpus = {.train = read_split(options.train, folder, BadPairs::kSkip),
                   .valid = read_split(options.valid, folder, BadPairs::kError),
                   .test = read_split(options.test, folder, BadPairs::kError)};
  keep_first(corpus.train, options.limit);
  return corpus;
}

}  // namespace edgewise
