// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "edgewise/base/files.h"
#include "edgewise/translate/text_lines.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

struct HtmlDocumentOptions {
  std::string path = "-";  // plain or compressed; "-" is standard input
  std::string caller;      // error messages begin with this function name
  BadText bad_text = BadText::kStop;
  std::size_t max_bytes = std::size_t{16} << 20;
  std::function<void(const std::string& report)> report = {};  // receives a line if bytes are not UTF-8
};

/// Reads a whole document. Throws Error if it has more than max_bytes or, unless bad_text allows these, bytes that are
/// not UTF-8. Such bytes stay in the result: parse_html replaces those in text.
std::string read_html_document(const HtmlDocumentOptions& options);

/// Translates a document and writes it to a file, which is committed, or to standard output if the file is null. The
/// translator needs TranslatorOptions::alignment. The text's language is that of TextOptions.
void write_html(Translator& translator, std::string_view html, AtomicFile* file, std::string_view caller,
                const std::string& language);

}  // namespace edgewise
