// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/seeds.h"

namespace edgewise::fuzz {
namespace {

class FuzzCorpus : public testing::TestWithParam<Reader> {};

TEST_P(FuzzCorpus, IsReadOrRejected) { expect_to_read_seeds(GetParam()); }

INSTANTIATE_TEST_SUITE_P(, FuzzCorpus, testing::ValuesIn(readers().begin(), readers().end()), reader_name);

}  // namespace
}  // namespace edgewise::fuzz
