// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/runtime/translate_command.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/corpus/byte_source.h"
#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_translator.h"

namespace edgewise {
namespace {

std::string read_bytes(const TranslateCommand& command) {
  const auto source = open_source({.path = command.input, .caller = "translate"});
  std::string bytes;
  std::vector<char> buffer(std::size_t{64} * 1024);
  while (const std::size_t size = source->read(buffer)) {
    bytes.append(buffer.data(), size);
    check(bytes.size() <= command.max_document,
          "translate: {} has more than {} bytes, needs at most as many; divide the document or raise --max-document",
          source_name(command.input), command.max_document);
  }
  return bytes;
}

/// Reads a whole document. Bytes that are not UTF-8, if the command allows them, stay in the result: parse_html
/// replaces those in text.
std::string read_document(const TranslateCommand& command) {
  std::string html = read_bytes(command);
  const auto bad = find_bad_utf8(html);
  if (!bad) return html;
  const std::string what =
      fmt::format("translate: {} has a byte that is not UTF-8 at {}", source_name(command.input), *bad);
  check(command.bad_text == BadText::kReplace, "{}, needs UTF-8", what);
  print_report(what + "; such bytes are replaced by U+FFFD");
  return html;
}

}  // namespace

void run_html(const TranslateCommand& command) {
  const std::string html = read_document(command);
  const std::unique_ptr<AtomicFile> file = open_output_file(command);
  Translator translator = open_translator_of_texts(command, "--html");
  const std::string translated = translate_markup(html, [&](std::span<const std::string> texts) {
    return translate_aligned(translator, texts, command.text.language);
  });
  if (file != nullptr) {
    file->write(translated);
    file->commit();
  } else {
    write_output(translated);
    require_output("translate");
  }
}

}  // namespace edgewise
