// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "edgewise/device/stream.h"

// Memory of the device, for code that nvcc does not compile. The emulator's is memory of the host. No function waits
// for more than one stream: a wait for the whole device would fail while another thread records a LaunchGraph, and make
// that recording fail.
namespace edgewise::device {

/// The GPUs of this program: none, those of CUDA, or the emulator of tests.
enum class Platform { kNone, kCuda, kEmulator };
Platform platform();

/// Returns memory that is aligned to 256 bytes, for kernels and copies that begin in `stream` from now on, and for
/// other streams after wait_for(stream). free_memory() frees it. Throws std::exception if there is none.
void* allocate_memory(std::size_t bytes, Stream stream);

/// Frees memory after all kernels and copies that have begun in `stream`.
void free_memory(void* memory, Stream stream);

/// Returns memory of the host that begin_copy() can read and write, and that free_host_memory() frees. Throws
/// std::exception if there is none.
void* allocate_host_memory(std::size_t bytes);
void free_host_memory(void* memory);

/// Begins a copy within the device, or between the device and memory of allocate_host_memory(). Other memory of the
/// host is an error in the emulator: a device would copy it later than its stream says.
void begin_copy(void* to, const void* from, std::size_t bytes, Stream stream);

/// Makes the GPU with this number the current one of the thread.
void use_gpu(std::int64_t number);

/// Returns how many bytes of shared memory a block may have on the thread's current GPU: 227 KiB on an H100, 163 KiB on
/// an A100, 99 KiB on an RTX 30, RTX 40, L4 or A10.
std::size_t max_shared_memory();

/// Returns a new stream, which destroy_stream() destroys. Throws std::exception if there is none.
Stream create_stream();
void destroy_stream(Stream stream);

/// Waits for all kernels and copies in `stream`. Throws std::runtime_error if one of them failed.
void wait_for(Stream stream);

}  // namespace edgewise::device
