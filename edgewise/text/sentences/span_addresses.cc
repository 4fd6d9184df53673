// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <unordered_set>

#include "edgewise/base/ascii.h"
#include "edgewise/text/sentences/span_patterns.h"
#include "edgewise/text/sentences/text_scan.h"

namespace edgewise {
namespace {

using NameSet = std::unordered_set<std::string_view>;

/// Returns the end of the bytes that an address may have: neither white space nor quotes and brackets around it.
std::size_t skip_address(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    const CodePoint point = text_point_at(text, begin);
    const bool is_ascii_mark = point.value < 0x80 && is_one_of(static_cast<char>(point.value), "<>\"`|\\^");
    const bool is_wide_mark = point.value >= 0x80 && (is_punctuation(point.value) || is_symbol(point.value));
    if (is_space(point.value) || is_ascii_mark || is_wide_mark || is_control_or_format(point.value)) break;
    begin += point.size;
  }
  return begin;
}

/// Returns the end without the marks after an address, and without closing brackets that it does not open.
std::size_t trim_address(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin) {
    const char last = text[end - 1];
    const std::string_view address = text.substr(begin, end - begin);
    const bool is_unopened = (last == ')' && std::ranges::count(address, '(') < std::ranges::count(address, ')')) ||
                             (last == ']' && std::ranges::count(address, '[') < std::ranges::count(address, ']')) ||
                             (last == '}' && std::ranges::count(address, '{') < std::ranges::count(address, '}'));
    if (!is_unopened && !is_one_of(last, ".,;:!?'*_~")) break;
    --end;
  }
  return end;
}

/// Returns whether a name ends a domain. Endings that are words, as in `gone.It`, are left out.
bool is_top_domain(std::string_view name) {
  static const NameSet kNames = {
      "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz",    "dev",  "app",  "io",    "ai",  "eu", "de",
      "fr",  "uk",  "es",  "nl",  "ch",  "pl",  "ru",  "ua",   "cz",     "sk",   "hu",   "ro",    "bg",  "gr", "pt",
      "dk",  "se",  "fi",  "ee",  "lv",  "lt",  "jp",  "cn",   "kr",     "tw",   "hk",   "sg",    "br",  "mx", "ar",
      "cl",  "ca",  "au",  "nz",  "za",  "tv",  "xyz", "tech", "online", "shop", "blog", "cloud", "wiki"};
  return kNames.contains(name);
}

bool is_file_ending(std::string_view name) {
  static const NameSet kNames = {
      "txt", "md",   "pdf",  "doc", "docx", "odt",    "rtf",  "xls", "xlsx",       "ods",  "ppt",  "pptx",
      "csv", "tsv",  "json", "xml", "yaml", "yml",    "toml", "ini", "cfg",        "conf", "html", "htm",
      "css", "js",   "ts",   "jsx", "tsx",  "py",     "rb",   "rs",  "java",       "c",    "h",    "cc",
      "cpp", "hpp",  "cs",   "php", "sh",   "bat",    "ps1",  "exe", "dll",        "deb",  "rpm",  "zip",
      "tar", "gz",   "xz",   "bz2", "zst",  "7z",     "rar",  "iso", "png",        "jpg",  "jpeg", "gif",
      "svg", "webp", "bmp",  "tif", "tiff", "ico",    "mp3",  "mp4", "wav",        "ogg",  "flac", "avi",
      "mkv", "webm", "log",  "sql", "db",   "sqlite", "tex",  "bib", "ipynb",      "srt",  "vtt",  "po",
      "pot", "bak",  "tmp",  "pem", "crt",  "onnx",   "npy",  "npz", "safetensors"};
  return kNames.contains(name);
}

/// Labels of a domain, or a file's name: letters, digits and hyphens with full stops between them.
struct DottedName {
  std::size_t end = 0;
  std::size_t num_dots = 0;
  std::string last = {};  // in lower case
};

DottedName read_dotted_name(std::string_view text, std::size_t begin) {
  DottedName name{.end = begin};
  std::size_t last = begin;
  const auto is_label = [](char c) { return is_alphanumeric_of_ascii(c) || c == '-' || c == '_'; };
  for (;;) {
    name.end = skip_while(text, name.end, is_label);
    if (byte_or_zero(text, name.end) != '.' || !is_alphanumeric_of_ascii(byte_or_zero(text, name.end + 1)) ||
        name.end == last)
      break;
    ++name.num_dots;
    last = ++name.end;
  }
  name.last = lower_ascii(text.substr(last, name.end - last));
  return name;
}

std::size_t find_email_end(std::string_view text, std::size_t begin) {
  const std::size_t at =
      skip_while(text, begin, [](char c) { return is_alphanumeric_of_ascii(c) || is_one_of(c, "._%+-"); });
  if (at == begin || byte_or_zero(text, at) != '@' || !is_alphanumeric_of_ascii(byte_or_zero(text, at + 1)))
    return begin;
  const DottedName domain = read_dotted_name(text, at + 1);
  return domain.num_dots > 0 ? domain.end : begin;
}

/// `example.org`, `www.example.it`, with a port and a path if there are some.
std::size_t find_domain_end(std::string_view text, std::size_t begin) {
  const DottedName name = read_dotted_name(text, begin);
  if (name.num_dots == 0 || has_word_at(text, name.end)) return begin;
  const bool has_www = lower_ascii(text.substr(begin, 4)) == "www.";
  const bool has_path = byte_or_zero(text, name.end) == '/';
  const bool is_name = std::ranges::all_of(name.last, is_letter_of_ascii) && name.last.size() > 1;
  if (!has_www && !is_top_domain(name.last) && !(has_path && is_name)) return begin;
  std::size_t end = name.end;
  if (byte_or_zero(text, end) == ':' && is_digit_of_ascii(byte_or_zero(text, end + 1)))
    end = skip_while(text, end + 1, is_digit_of_ascii);
  if (is_one_of(byte_or_zero(text, end), "/?#")) end = trim_address(text, begin, skip_address(text, end));
  return end;
}

std::size_t find_path_end(std::string_view text, std::size_t begin) {
  const std::string_view rest = text.substr(begin);
  const bool is_windows = rest.size() > 3 && is_letter_of_ascii(rest[0]) && rest.substr(1).starts_with(":\\");
  const bool is_relative = rest.starts_with("~/") || rest.starts_with("./") || rest.starts_with("../");
  const bool is_root = rest.starts_with('/') && is_letter_of_ascii(byte_or_zero(rest, 1));
  if (!is_windows && !is_relative && !is_root) return begin;
  const auto is_path = [](char c) {
    return is_alphanumeric_of_ascii(c) || is_one_of(c, "/\\._-~+@*") || (c & 0x80) != 0;
  };
  const std::size_t first = is_windows ? begin + 2 : begin;
  const std::size_t end = trim_address(text, begin, skip_while(text, first, is_path));
  const std::string_view path = text.substr(begin, end - begin);
  const bool has_parts = path.find('/', 1) != std::string_view::npos || path.find('.') != std::string_view::npos;
  return (is_root && !has_parts) || end < begin + 3 ? begin : end;
}

/// A name with marks that only programs have.
std::size_t find_identifier_end(std::string_view text, std::size_t begin) {
  const auto is_name = [](char c) { return is_alphanumeric_of_ascii(c) || c == '_'; };
  if (text.substr(begin).starts_with("--") && is_letter_of_ascii(byte_or_zero(text, begin + 2))) {
    return skip_while(text, begin + 2, [](char c) { return is_alphanumeric_of_ascii(c) || is_one_of(c, "-_="); });
  }
  std::size_t end = skip_while(text, begin, is_name);
  if (end == begin) return begin;
  bool is_code = text.substr(begin, end - begin).find('_', 1) != std::string_view::npos && text[end - 1] != '_';
  while (text.substr(end).starts_with("::") && is_name(byte_or_zero(text, end + 2))) {
    end = skip_while(text, end + 2, is_name);
    is_code = true;
  }
  if (text.substr(end).starts_with("()")) return end + 2;
  return is_code && !has_word_at(text, end) ? end : begin;
}

std::size_t find_file_end(std::string_view text, std::size_t begin) {
  const std::size_t first = text.substr(begin).starts_with("*.") ? begin + 2 : begin;
  const auto is_path = [](char c) { return is_alphanumeric_of_ascii(c) || is_one_of(c, "._-/+"); };
  const std::size_t end = trim_address(text, begin, skip_while(text, first, is_path));
  const std::string_view name = text.substr(begin, end - begin);
  const std::size_t dot = name.rfind('.');
  const bool has_ending = dot != std::string_view::npos && dot > 0 && is_file_ending(lower_ascii(name.substr(dot + 1)));
  return has_ending && !has_word_at(text, end) ? end : begin;
}

}  // namespace

std::size_t find_scheme_end(std::string_view text, std::size_t begin) {
  const std::size_t end =
      skip_while(text, begin, [](char c) { return is_alphanumeric_of_ascii(c) || is_one_of(c, "+-."); });
  if (text.substr(end).starts_with("://") && end > begin + 1) return end + 3;
  const std::string scheme = lower_ascii(text.substr(begin, std::min<std::size_t>(end - begin, 16)));
  const bool is_short = scheme == "mailto" || scheme == "tel" || scheme == "urn" || scheme == "doi";
  return is_short && byte_or_zero(text, end) == ':' && !is_space(text_point_at(text, end + 1).value) ? end + 1 : begin;
}

std::size_t find_address_end(std::string_view text, std::size_t begin) {
  if (const std::size_t scheme = find_scheme_end(text, begin); scheme > begin) {
    const std::size_t end = trim_address(text, begin, skip_address(text, scheme));
    if (end > scheme) return end;
  }
  if (const std::size_t end = find_email_end(text, begin); end > begin) return end;
  return find_domain_end(text, begin);
}

std::size_t find_code_name_end(std::string_view text, std::size_t begin) {
  for (const auto find : {find_path_end, find_file_end, find_identifier_end}) {
    if (const std::size_t end = find(text, begin); end > begin) return end;
  }
  return begin;
}

}  // namespace edgewise
