// Checks that any bytes give an error or a valid setup, never a crash. Runs with libFuzzer, and on testdata as a test.

#include <cstddef>
#include <cstdint>

#include "lib/base/logging.h"
#include "lib/descriptor/files/stp_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto setup = rutile::ParseStp({reinterpret_cast<const char*>(data), size}, "fuzz.stp");
  if (setup.ok()) CHECK(setup->options.Validate().ok());
  return 0;
}
