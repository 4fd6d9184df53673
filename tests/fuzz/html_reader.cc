// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/translate/markup.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"
#include "tests/translate/fake_translations.h"
#include "tests/translate/nesting.h"

namespace edgewise::fuzz {

void read_html(std::string_view bytes) {
  const std::string reversed = translate_markup(bytes, reverse_words());
  require(find_bad_nesting(reversed).empty());
  std::vector<std::string> texts = texts_of(bytes);
  for (std::string& text : texts) text = reversed_words(text);
  // The texts of attributes go where their tags go.
  std::vector<std::string> found = texts_of(reversed);
  std::ranges::sort(texts);
  std::ranges::sort(found);
  require(found == texts);
}

}  // namespace edgewise::fuzz
