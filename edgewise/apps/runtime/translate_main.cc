// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/translate_program.h"

int main(int argc, char** argv) { return edgewise::run_edgewise_translate(argc, argv); }
