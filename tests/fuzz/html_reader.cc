// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "edgewise/base/utf8.h"
#include "edgewise/translate/markup.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"
#include "tests/translate/fake_translations.h"
#include "tests/translate/nesting.h"

namespace edgewise::fuzz {

void read_html(std::string_view bytes) {
  require(find_bad_nesting(translate_markup(bytes, reverse_words())).empty());
  const std::string copied = translate_markup(bytes, copy_words());
  require(find_bad_nesting(copied).empty());
  require(translate_markup(copied, copy_words()) == copied);
}

}  // namespace edgewise::fuzz
