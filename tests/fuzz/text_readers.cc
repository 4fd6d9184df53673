// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/utf8.h"
#include "edgewise/text/corpus/indexed_text.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/text/corpus/parallel_text.h"
#include "edgewise/text/tokenizer/tokenizer_codec.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "edgewise/text/vocabulary/sentence_case.h"
#include "edgewise/text/vocabulary/sentence_frame.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "tests/fuzz/archive.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

constexpr std::size_t kMaxLineBytes = 4096;

const std::vector<std::string>& sentences() {
  static const std::vector<std::string> list = {"",
                                                " ",
                                                "It's \xC3\xA9t\xC3\xA9 again, and \xE4\xB8\xAD I won !",
                                                "\xE2\x96\x81",
                                                "<pad> <0x41> a\tb\n\xF0\x9F\x98\x80",
                                                std::string(300, 'a')};
  return list;
}

void use(const Vocabulary& vocabulary) {
  for (const std::string& sentence : sentences()) {
    const std::vector<std::int64_t> tokens = vocabulary.encode(sentence);
    for (const std::int64_t token : tokens) require(token >= 0 && token < vocabulary.size());
    require(!find_bad_utf8(vocabulary.decode(tokens)));
  }
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) require(!vocabulary.token_text(token).empty());
}

/// Reads a model whose special pieces are those of another system.
void read_any_pieces(std::string_view bytes) {
  accept_errors([&] {
    const PieceCodec codec(std::string(bytes), "fuzzed", SpecialPieces::kAny);
    for (const std::string& sentence : sentences()) {
      const std::vector<std::string> pieces = codec.split(sentence);
      require(!find_bad_utf8(codec.join({pieces.begin(), pieces.end()})));
    }
  });
}

/// Takes an option for each bit of the byte.
PairOptions pair_options(unsigned bits) {
  PairOptions options = {.max_line_bytes = (bits & 1) == 0 ? kMaxLineBytes : 20};
  if ((bits & 2) != 0) options.bad_pairs = BadPairs::kError;
  if ((bits & 4) != 0) options.same_sides = SameSides::kSkip;
  if ((bits & 8) != 0) options.bad_utf8 = (bits & 16) != 0 ? BadUtf8::kError : BadUtf8::kReplace;
  return options;
}

void require_usable(const std::string& sentence, const PairOptions& options) {
  require(!find_bad_utf8(sentence) && !sentence.empty());
  require(sentence.find('\0') == std::string::npos && sentence.find('\n') == std::string::npos);
  if (options.bad_utf8 != BadUtf8::kReplace) require(sentence.size() <= options.max_line_bytes);
}

/// Reads a file with chunks of several sizes, which must give the same lines.
std::vector<std::string> read_lines(const std::string& path, std::size_t chunk_size) {
  LineReader reader(path, {.max_line_bytes = kMaxLineBytes, .long_lines = LongLines::kCut, .chunk_size = chunk_size});
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) {
    require(line.size() <= kMaxLineBytes);
    lines.push_back(line);
  }
  require(reader.line_number() == std::ssize(lines));
  return lines;
}

}  // namespace

void read_vocabulary(std::string_view bytes) {
  accept_errors([&] {
    const auto vocabulary = parse_vocabulary(bytes, "fuzzed");
    require(vocabulary->serialize() == bytes);
    use(*vocabulary);
  });
}

void read_token_list(std::string_view bytes) {
  accept_errors([&] {
    TokenList list = parse_token_list(bytes, "fuzzed");
    require(parse_token_list(write_token_list(list), "written") == list);
    list.text = TokenText::kTokens;
    const auto vocabulary = make_mapped_vocabulary(std::make_shared<TokenIndex>(std::move(list), "fuzzed"), nullptr);
    use(*vocabulary);
    const PairLanguages languages = {"en", "fr"};
    for (const std::string& sentence : sentences()) {
      accept_errors([&] { frame_input(*vocabulary, ">>fr<<" + sentence, true, languages, "fuzz"); });
    }
    accept_errors([&] { check_sentence_options(*vocabulary, *vocabulary, true, languages, "fuzz"); });
  });
}

void read_tokenizer(std::string_view bytes) {
  accept_errors([&] {
    const TokenizerCodec codec(std::string(bytes), "fuzzed");
    for (const std::string& sentence : sentences()) {
      accept_errors([&] {
        const std::vector<std::int64_t> tokens = codec.encode(sentence);
        for (const std::int64_t token : tokens) require(token >= 0 && token < std::ssize(codec.tokens()));
        require(!find_bad_utf8(codec.decode(tokens)));
      });
    }
  });
}

void read_sentencepiece(std::string_view bytes) {
  read_any_pieces(bytes);
  accept_errors([&] {
    const auto vocabulary = parse_vocabulary(bytes, "fuzzed");
    if (vocabulary->kind() != VocabularyKind::kSentencePiece) return;
    use(*vocabulary);
    for (const std::string& sentence : sentences()) {
      const auto tokens = vocabulary->sample(sentence, {.strength = 0.5, .best = 4}, 7);
      require(tokens == vocabulary->sample(sentence, {.strength = 0.5, .best = 4}, 7));
    }
  });
}

void read_case(std::string_view bytes) {
  accept_errors([&] {
    const SentenceCase sentence_case = SentenceCase::parse(bytes, "fuzzed");
    require(sentence_case.serialize() == bytes);
    sentence_case.undo(sentence_case.apply("\"\xC3\x89t\xC3\xA9 !\" The cat: \xE4\xB8\xAD"));
  });
}

void read_corpus(std::string_view bytes) {
  const MemoryFile file(bytes);
  accept_errors([&] {
    const std::vector<std::string> lines = read_lines(file.path(), 1 << 16);
    // A small compressed file may have many bytes, for which tiny chunks would take seconds.
    const bool is_packed = is_compressed({.path = file.path(), .caller = "fuzz"});
    require(read_lines(file.path(), is_packed ? 1021 : 7) == lines);
  });
  accept_errors([&] {
    const std::vector<std::string> files = {file.path()};
    const PairOptions options = {.max_line_bytes = kMaxLineBytes};
    const SentencePairs pairs = edgewise::read_pairs(files, options);
    const IndexedText text(files, options);
    require(text.report().kept == static_cast<std::int64_t>(pairs.size()));
    const SentencePairs all = sample_pairs(text, 0);
    require(all.inputs == pairs.inputs && all.outputs == pairs.outputs);
  });
}

void read_pairs(std::string_view bytes) {
  if (bytes.empty()) return;
  PairOptions options = pair_options(static_cast<unsigned char>(bytes[0]) - unsigned{'0'});
  auto sides = split_archive(bytes.substr(1));
  options.has_links = sides.contains("links");
  const MemoryFile input(sides["input"]);
  const MemoryFile output(sides["output"]);
  const MemoryFile links(sides["links"]);
  accept_errors([&] {
    std::vector<std::string> files = {input.path(), output.path()};
    if (options.has_links) files.push_back(links.path());
    const SentencePairs pairs = edgewise::read_pairs(files, options);
    const PairReport& report = pairs.report;
    require(report.kept == std::ssize(pairs.inputs) && report.kept == std::ssize(pairs.outputs));
    require(report.kept_identical <= report.kept && report.num_skipped() >= 0);
    require(report.describe_skipped().empty() == (report.num_skipped() == 0));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      require_usable(pairs.inputs[i], options);
      require_usable(pairs.outputs[i], options);
      if (options.same_sides == SameSides::kSkip) require(pairs.inputs[i] != pairs.outputs[i]);
      if (!options.has_links) continue;
      for (const WordLink& link : pairs.links.at(i)) {
        require(link.input >= 0 && link.input < std::ssize(split_words(pairs.inputs[i])));
        require(link.output >= 0 && link.output < std::ssize(split_words(pairs.outputs[i])));
      }
    }
    const SentencePairs all = sample_pairs(IndexedText(files, options), 0);
    require(all.inputs == pairs.inputs && all.outputs == pairs.outputs);
    if (options.bad_pairs == BadPairs::kError) require(report.num_skipped() == 0);
  });
}

}  // namespace edgewise::fuzz
