// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/translate_html.h"

#include <fmt/format.h>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/byte_source.h"
#include "edgewise/translate/aligned_texts.h"
#include "edgewise/translate/markup.h"

namespace edgewise {
namespace {

std::string read_bytes(const HtmlDocumentOptions& options) {
  const auto source = open_source({.path = options.path, .caller = options.caller});
  std::string bytes;
  std::vector<char> buffer(std::size_t{64} * 1024);
  while (const std::size_t size = source->read(buffer)) {
    bytes.append(buffer.data(), size);
    check(bytes.size() <= options.max_bytes,
          "{}: {} has more than {} bytes, needs at most as many; divide the document or raise --max-document",
          options.caller, source_name(options.path), options.max_bytes);
  }
  return bytes;
}

}  // namespace

std::string read_html_document(const HtmlDocumentOptions& options) {
  std::string html = read_bytes(options);
  const auto bad = find_bad_utf8(html);
  if (!bad) return html;
  const std::string what =
      fmt::format("{}: {} has a byte that is not UTF-8 at {}", options.caller, source_name(options.path), *bad);
  check(options.bad_text == BadText::kReplace, "{}, UTF-8 is needed", what);
  if (options.report) options.report(what + "; such bytes are replaced by U+FFFD");
  return html;
}

void write_html(Translator& translator, std::string_view html, AtomicFile* file, std::string_view caller,
                const std::string& language) {
  const std::string translated = translate_markup(
      html, [&](std::span<const std::string> texts) { return translate_aligned(translator, texts, language); });
  if (file != nullptr) {
    file->write(translated);
    file->commit();
  } else {
    write_output(translated);
    require_output(caller);
  }
}

}  // namespace edgewise
