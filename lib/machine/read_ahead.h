// Overlaps input with computation: reads the next chunk while one is being processed.

#ifndef RUTILE_LIB_MACHINE_READ_AHEAD_H_
#define RUTILE_LIB_MACHINE_READ_AHEAD_H_

#include <functional>
#include <future>

#include "absl/status/status.h"
#include "lib/trace/scope.h"

namespace rutile {

// Processes chunks in order, up to the one whose member `last` is true: read(chunk) fills it, compute(chunk) processes
// it while, if `ahead`, another thread reads the next, and done(chunk) follows when both have succeeded. Two chunks are
// used alternately and keep their memory. Returns the first error; compute's error takes precedence over that of the
// chunk read meanwhile.
template <typename Chunk>
absl::Status ForEachChunk(bool ahead, const std::function<absl::Status(Chunk*)>& read,
                          const std::function<absl::Status(Chunk*)>& compute,
                          const std::function<absl::Status(Chunk*)>& done) {
  Chunk chunks[2];
  if (absl::Status status = read(&chunks[0]); !status.ok()) return status;
  for (int current = 0;; current ^= 1) {
    Chunk& chunk = chunks[current];
    Chunk& next = chunks[current ^ 1];
    std::future<absl::Status> reading;
    if (!chunk.last && ahead) {
      reading = std::async(std::launch::async, [&] {
        SetProfileThreadName("reader");
        return read(&next);
      });
    }
    absl::Status status = compute(&chunk);
    if (reading.valid()) {
      // The error that comes first in the input is reported first, with or without another thread.
      const ProfileScope scope(Stage::kWaitForData);
      const absl::Status read_status = reading.get();
      if (status.ok()) status = read_status;
    }
    if (status.ok()) status = done(&chunk);
    if (!status.ok() || chunk.last) return status;
    if (!ahead) {
      if (status = read(&next); !status.ok()) return status;
    }
  }
}

}  // namespace rutile

#endif  // RUTILE_LIB_MACHINE_READ_AHEAD_H_
