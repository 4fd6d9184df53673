// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/device/conformance/conformance.cc"
