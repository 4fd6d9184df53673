// SPDX-License-Identifier: Apache-2.0
#pragma once

typedef struct cusolverDnContext* cusolverDnHandle_t;
