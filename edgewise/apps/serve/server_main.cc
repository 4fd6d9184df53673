// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/serve/server_program.h"

int main(int argc, char** argv) { return edgewise::run_edgewise_server(argc, argv); }
