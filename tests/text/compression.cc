// SPDX-License-Identifier: Apache-2.0
#include "tests/text/compression.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>

namespace edgewise {

std::string compress_gzip(std::string_view text) {
  constexpr int kGzip = 16;
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string compressed(deflateBound(&stream, text.size()), '\0');
  std::string input(text);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

std::string compress_xz(std::string_view text) {
  std::string compressed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  lzma_easy_buffer_encode(/*preset=*/0, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                          text.size(), reinterpret_cast<std::uint8_t*>(compressed.data()), &size, compressed.size());
  compressed.resize(size);
  return compressed;
}

std::string compress_zstd(std::string_view text) {
  std::string compressed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);  // as the zstd program does
  compressed.resize(ZSTD_compress2(context, compressed.data(), compressed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return compressed;
}

}  // namespace edgewise
