// Measures tensor files: writing, mapping, reading every byte; CRC-32C by table and by instruction. GB/s of tensor
// data.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "lib/file/crc32c.h"
#include "lib/tensorfile/named_tensors.h"
#include "lib/tensorfile/tensor_reader.h"
#include "lib/tensorfile/tensor_writer.h"

namespace rutile {
namespace {

constexpr int64_t kFloats = 1 << 24;  // 64 MiB: features of about 300 000 atoms

// A file in TMPDIR or /tmp that is removed when the benchmark ends.
class ScratchFile {
 public:
  ~ScratchFile() { std::remove(path.c_str()); }
  const std::string path = [] {
    const char* const directory = std::getenv("TMPDIR");
    return absl::StrCat(directory == nullptr ? "/tmp" : directory, "/rutile_benchmark.", ::getpid(), ".safetensors");
  }();
};

NamedTensors Features() {
  Tensor feature = Tensor::Zeros(DType::kF32, {kFloats / 64, 64});
  uint32_t bits = 1;
  for (float& x : feature.mutable_values<float>()) x = static_cast<float>((bits = bits * 1664525 + 1013904223) >> 8);
  NamedTensors tensors;
  tensors.Set("feature", feature);
  return tensors;
}

void WriteOrStop(benchmark::State& state, const std::string& path, const NamedTensors& tensors) {
  const absl::Status status = WriteTensorFile(path, {{"kind", "benchmark/1"}}, tensors);
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
}

// Measures checksum, write, fsync and rename.
void BM_Write(benchmark::State& state) {
  const ScratchFile scratch;
  const NamedTensors tensors = Features();
  for (auto _ : state) WriteOrStop(state, scratch.path, tensors);
  state.SetBytesProcessed(state.iterations() * tensors.At("feature").num_bytes());
}
BENCHMARK(BM_Write)->Unit(benchmark::kMillisecond)->UseRealTime();

// Writes the bytes of BM_Write in rows of 64 floats, as featurize does.
void BM_WriteStreamOfRows(benchmark::State& state) {
  const ScratchFile scratch;
  const NamedTensors tensors = Features();
  const absl::Span<const float> values = tensors.At("feature").values<float>();
  for (auto _ : state) {
    auto writer = TensorStreamWriter::Create(scratch.path);
    if (!writer.ok()) return state.SkipWithError(writer.status().ToString().c_str());
    bool ok = writer->Declare("feature", DType::kF32, {64}).ok();
    for (int64_t i = 0; i < kFloats; i += 64) ok = ok && writer->Append<float>("feature", values.subspan(i, 64)).ok();
    if (!ok || !writer->Finish({}).ok()) return state.SkipWithError("cannot write");
  }
  state.SetBytesProcessed(state.iterations() * kFloats * sizeof(float));
}
BENCHMARK(BM_WriteStreamOfRows)->Unit(benchmark::kMillisecond)->UseRealTime();

// Measures opening a file, which reads only the header.
void BM_Open(benchmark::State& state) {
  const ScratchFile scratch;
  WriteOrStop(state, scratch.path, Features());
  for (auto _ : state) benchmark::DoNotOptimize(LookIntoTensorFile(scratch.path));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Open)->Unit(benchmark::kMicrosecond);

void BM_OpenAndSum(benchmark::State& state) {
  const ScratchFile scratch;
  WriteOrStop(state, scratch.path, Features());
  for (auto _ : state) {
    const auto file = ReadTensorFile(scratch.path);
    float sums[64] = {};
    const absl::Span<const float> values = file->tensors.At("feature").values<float>();
    for (int64_t i = 0; i < kFloats; i += 64) {
      for (int64_t k = 0; k < 64; ++k) sums[k] += values[i + k];
    }
    benchmark::DoNotOptimize(sums);
  }
  state.SetBytesProcessed(state.iterations() * kFloats * sizeof(float));
}
BENCHMARK(BM_OpenAndSum)->Unit(benchmark::kMillisecond);

void BM_OpenAndVerify(benchmark::State& state) {
  const ScratchFile scratch;
  WriteOrStop(state, scratch.path, Features());
  for (auto _ : state) benchmark::DoNotOptimize(ReadTensorFile(scratch.path));
  state.SetBytesProcessed(state.iterations() * kFloats * sizeof(float));
}
BENCHMARK(BM_OpenAndVerify)->Unit(benchmark::kMillisecond);

// Sizes are a row of features, a spool buffer, and more than the caches hold.
template <uint32_t (*kFunction)(uint32_t, absl::string_view)>
void BM_Crc32c(benchmark::State& state) {
  const std::string bytes(state.range(0), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(kFunction(0, bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK_TEMPLATE(BM_Crc32c, ExtendCrc32cReference)->Arg(256)->Arg(1 << 20)->Arg(1 << 26);
BENCHMARK_TEMPLATE(BM_Crc32c, ExtendCrc32c)->Arg(256)->Arg(1 << 20)->Arg(1 << 26);

}  // namespace
}  // namespace rutile
