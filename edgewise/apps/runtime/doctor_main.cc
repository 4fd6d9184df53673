// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/doctor_program.h"

int main(int argc, char** argv) { return edgewise::run_edgewise_doctor(argc, argv); }
