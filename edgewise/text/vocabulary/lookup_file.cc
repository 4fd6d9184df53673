// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/lookup_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <unordered_map>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::string_view kVocabularyMagic = "#edgewise-vocabulary";
constexpr std::string_view kFormat = "2";
constexpr const char* kFileCaller = "load_vocabulary";

bool is_escaped(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte <= ' ' || byte == 0x7F || character == '\\';
}

/// Returns whether a token is one byte that is no text by itself.
bool is_high_byte(std::string_view token) { return token.size() == 1 && static_cast<unsigned char>(token[0]) >= 0x80; }

std::string escape(std::string_view token) {
  std::string text;
  for (const char character : token) {
    if (is_escaped(character) || is_high_byte(token)) {
      fmt::format_to(std::back_inserter(text), "\\x{:02X}", static_cast<unsigned char>(character));
    } else {
      text += character;
    }
  }
  return text;
}

/// Returns nullopt for text that is not a result of escape().
std::optional<std::string> unescape(std::string_view text) {
  constexpr std::size_t kEscapeSize = 4;  // \xHH
  std::string token;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      token += text[i++];
      continue;
    }
    const std::string_view digits = text.substr(i).size() < kEscapeSize ? "" : text.substr(i + 2, 2);
    unsigned value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.empty() || end.ptr != digits.data() + digits.size()) return std::nullopt;
    token += static_cast<char>(value);
    i += kEscapeSize;
  }
  return escape(token) == text ? std::optional(token) : std::nullopt;
}

std::string header_of(const LookupFile& file) {
  return fmt::format("{} {} kind={} size={} separate_punctuation={} marks={}", kVocabularyMagic, kFormat,
                     enum_name(file.kind), file.tokens.size(), file.preprocessing.separate_punctuation,
                     file.preprocessing.marks == MarkSpacing::kClose ? "close" : "apart");
}

/// Iterates over the lines of a file, without their line feeds.
struct Lines {
  std::string_view rest;
  std::string_view name;    // the name of the file
  std::int64_t number = 0;  // lines that next() has returned

  std::string_view next() {
    ++number;
    const auto size = rest.find('\n');
    check(size != std::string_view::npos,
          "{}: {}:{} has no line feed at its end, needs one; the file was cut, copy it again", kFileCaller, name,
          number);
    const std::string_view line = rest.substr(0, size);
    rest.remove_prefix(size + 1);
    return line;
  }
};

/// Reads the `key=value` fields of the header in order.
class HeaderFields {
 public:
  HeaderFields(std::string_view header, std::string_view name) : words_(split_words(header)), name_(name) {
    const std::string_view format = words_.size() > 1 ? words_[1] : "";
    check(format == kFormat, "{}: {} has format {}, needs {}; use the build that wrote it", kFileCaller, name_,
          quote(format), kFormat);
  }

  std::string_view read_value(std::string_view key) {
    const std::string_view word = next_ < words_.size() ? words_[next_] : "";
    ++next_;
    const bool is_key = word.starts_with(key) && word.substr(key.size()).starts_with('=');
    check(is_key, "{}: {}:1 has {}, needs {}=", kFileCaller, name_, quote(word), key);
    return word.substr(key.size() + 1);
  }

  VocabularyKind read_kind() {
    constexpr std::array kKinds = {VocabularyKind::kWords, VocabularyKind::kCharacters, VocabularyKind::kBytes};
    const std::string_view text = read_value("kind");
    const auto* found = std::ranges::find(kKinds, text, [](VocabularyKind kind) { return enum_name(kind); });
    check(found != kKinds.end(), "{}: {}:1 has kind={}, needs words, characters or bytes", kFileCaller, name_,
          quote(text));
    return *found;
  }

  bool read_choice(std::string_view key, std::string_view if_false, std::string_view if_true) {
    const std::string_view text = read_value(key);
    check(text == if_false || text == if_true, "{}: {}:1 has {}={}, needs {} or {}", kFileCaller, name_, key,
          quote(text), if_false, if_true);
    return text == if_true;
  }

  std::size_t read_count(std::string_view key) {
    const std::string_view text = read_value(key);
    std::size_t number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    check(!text.empty() && end.ec == std::errc() && end.ptr == text.data() + text.size(),
          "{}: {}:1 has {}={}, needs a whole number", kFileCaller, name_, key, quote(text));
    return number;
  }

 private:
  std::vector<std::string_view> words_;
  std::string_view name_;
  std::size_t next_ = 2;
};

/// Parses a line. Formats an error message only in case of an error, because vocabularies are large.
std::string parse_token(std::string_view line, VocabularyKind kind, const std::string& place) {
  auto fail_with = [&](std::string_view has, std::string_view needs) {
    fail("{}: {} has {}, needs {}", kFileCaller, place, quote(has), needs);
  };
  if (line.empty()) fail("{}: {} is empty, needs a token", kFileCaller, place);
  const auto token = unescape(line);
  if (!token) {
    const bool is_bad = kind != VocabularyKind::kBytes && find_bad_utf8(line);
    fail_with(line, is_bad ? "UTF-8" : "control characters, spaces and backslashes written \\xHH");
  }
  if (kind == VocabularyKind::kBytes) {
    if (token->size() != 1) fail_with(*token, "a single byte");
    return *token;
  }
  if (find_bad_utf8(*token)) fail_with(*token, "UTF-8");
  if (kind == VocabularyKind::kWords) {
    const auto words = split_words(*token);
    if (words.size() != 1 || words[0] != *token) fail_with(*token, "a word without white space");
  } else if (code_point_at(*token, 0).size != token->size()) {
    fail_with(*token, "a single character");
  }
  return *token;
}

/// Writes the header's fields to `file`, and returns the number of tokens.
std::size_t parse_header(std::string_view header, std::string_view name, LookupFile& file) {
  check(header.starts_with(kVocabularyMagic), "{}: {}:1 has {}, needs {}", kFileCaller, name, quote(header),
        kVocabularyMagic);
  HeaderFields fields(header, name);
  file.kind = fields.read_kind();
  const std::size_t size = fields.read_count("size");
  file.preprocessing.separate_punctuation = fields.read_choice("separate_punctuation", "false", "true");
  file.preprocessing.marks = fields.read_choice("marks", "close", "apart") ? MarkSpacing::kApart : MarkSpacing::kClose;
  return size;
}

void parse_tokens(Lines& lines, std::size_t num_lines, LookupFile& file) {
  file.tokens.reserve(num_lines);  // so that the views below stay valid
  std::unordered_map<std::string_view, std::int64_t> line_of;
  while (!lines.rest.empty()) {
    const std::string_view line = lines.next();
    const std::string place = fmt::format("{}:{}", lines.name, lines.number);
    const std::size_t index = file.tokens.size();
    if (index < kSpecialTokens.size()) {
      if (line != kSpecialTokens[index]) {
        fail("{}: {} has {}, needs {}: the first four tokens are {}", kFileCaller, place, quote(line),
             kSpecialTokens[index], fmt::join(kSpecialTokens, ", "));
      }
      file.tokens.emplace_back(line);
    } else {
      file.tokens.push_back(parse_token(line, file.kind, place));
    }
    const auto [first, is_new] = line_of.emplace(file.tokens.back(), lines.number);
    if (!is_new) {
      fail("{}: {} has {} again, which line {} has, needs each token once", kFileCaller, place,
           quote(file.tokens.back()), first->second);
    }
  }
}

}  // namespace

std::string write_lookup_file(const LookupFile& file) {
  std::string text = header_of(file) + '\n';
  for (const std::string& token : file.tokens) text += escape(token) + '\n';
  return text;
}

LookupFile parse_lookup_file(std::string_view bytes, std::string_view name) {
  check(!bytes.empty(), "{}: {} is empty, needs a vocabulary", kFileCaller, name);
  Lines lines{bytes, name};
  LookupFile file;
  const std::string_view header = lines.next();
  const std::size_t size = parse_header(header, name, file);
  parse_tokens(lines, static_cast<std::size_t>(std::ranges::count(bytes, '\n')), file);
  check(file.tokens.size() == size, "{}: {} has {} tokens, needs the {} that its first line says; the file was {}",
        kFileCaller, name, file.tokens.size(), size, file.tokens.size() < size ? "cut, copy it again" : "altered");
  check(size > kSpecialTokens.size(), "{}: {} has {} tokens, needs more than the four special ones", kFileCaller, name,
        size);
  check(file.kind != VocabularyKind::kBytes || size == kSpecialTokens.size() + 256,
        "{}: {} has {} tokens, needs the four special ones and the 256 bytes", kFileCaller, name, size);
  check(header == header_of(file), "{}: {}:1 has more than its fields, needs \"{}\"", kFileCaller, name,
        header_of(file));
  return file;
}

}  // namespace edgewise
