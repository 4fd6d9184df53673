// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

// The parts of HTTP/1.1 syntax (RFC 9112) that are checked before the library parses a request, because servers and
// proxies that disagree about them can be made to see other requests than each other (request smuggling).

namespace edgewise {

/// Returns the length of the head of a request at the beginning of `bytes`, its empty line included; 0 if the head is
/// incomplete. A line feed without carriage return before it ends the head at once, so that check_head() refuses it.
std::size_t find_head_end(std::string_view bytes);

/// Returns what is wrong with the bytes of a head, or an empty string: a line end other than CR LF, a control
/// character, a folded field, white space before a colon, an empty line before the request.
std::string check_head(std::string_view head);

/// Returns whether the characters of a field Host are those of a host with or without a port; it may be empty.
bool is_host(std::string_view text);

/// Divides a request target in origin form (`/path?query`), absolute form (`http://host/path`) or asterisk form (`*`).
/// Returns the path and the query. The path is empty for another form, and for a target with a fragment (`#`).
std::pair<std::string, std::string> divide_target(std::string_view target);

}  // namespace edgewise
