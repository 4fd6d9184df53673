// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/program.h"

int main(int argc, char** argv) { return edgewise::run_edgewise(argc, argv); }
