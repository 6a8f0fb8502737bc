// What most tests include. The file's name gives it the flags of tests (.bazelrc), without which the compiler would not
// use it.

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/types/span.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
