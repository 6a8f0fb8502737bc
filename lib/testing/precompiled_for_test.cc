// Precompiles the headers that every test includes (lib/testing/BUILD). It has only googletest, so that it hides no
// missing include. The file's name gives it the flags of tests (.bazelrc), without which the compiler would not use it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
