// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gpu/conformance/conformance.cc"
