// What every test includes, compiled once (lib/testing/BUILD). Only googletest: it hides no include that a test
// forgets. The name gives it the flags of tests (.bazelrc), without which the compiler would not use it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
