// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/translate/translation.h"

namespace edgewise::python {

/// Returns an HTML element with the attention weights of an output as a heat map, whose rows are output tokens and
/// whose columns are input tokens. The element has no effect on the page around it.
std::string attention_html(const Translation& translation, const TranslatedText& output);

}  // namespace edgewise::python
