// Goes through chunks of an input, the next of which is read while one is worked on.

#ifndef RUTILE_LIB_BASE_READ_AHEAD_H_
#define RUTILE_LIB_BASE_READ_AHEAD_H_

#include <functional>
#include <future>

#include "absl/status/status.h"
#include "lib/trace/scope.h"

namespace rutile {

// For chunks one after the other, up to the one whose member `last` is true: read(chunk) fills it, compute(chunk) works
// on it, while, if `ahead`, another thread reads the next; done(chunk) follows when both have succeeded. Two chunks are
// used in turn and keep their memory. Returns the first error, compute's before that of the chunk read meanwhile.
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
    if (!chunk.last && ahead)
      reading = std::async(std::launch::async, [&] {
        SetProfileThreadName("reader");
        return read(&next);
      });
    absl::Status status = compute(&chunk);
    if (reading.valid()) {
      // What comes first in the input is reported first, with or without another thread.
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

#endif  // RUTILE_LIB_BASE_READ_AHEAD_H_
