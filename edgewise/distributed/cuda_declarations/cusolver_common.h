// SPDX-License-Identifier: Apache-2.0
#pragma once

enum cusolverStatus_t : int;
