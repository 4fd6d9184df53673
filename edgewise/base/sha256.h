// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace edgewise {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();

  void update(std::string_view bytes);

  /// 64 hexadecimal digits, lower case. Nothing can be added after it.
  std::string finish();

 private:
  std::shared_ptr<void> context_;
};

std::string sha256(std::string_view bytes);

}  // namespace edgewise
