// Measures reading structures: numbers beside the C and C++ libraries', lines alone, then whole files of each format.
// bytes/s are those of the text in the file (before gzip); items are numbers, lines or atoms.
//
// Frames have 24 atoms, as DFT cells often do, or 216. Numbers have 8 decimals, as most writers print, or 17 digits.

#include <zlib.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"
#include "lib/base/logging.h"
#include "lib/base/random.h"
#include "lib/file/file.h"
#include "lib/file/line_reader.h"
#include "lib/structure/parse_number.h"
#include "lib/structure/structure.h"
#include "lib/structure/structure_reader.h"

namespace rutile {
namespace {

constexpr int64_t kBytes = 8 << 20;  // beyond the second-level cache

std::string Number(RandomStream* random, int64_t digits) {
  const double value = random->Uniform(-20, 20);
  return digits == 17 ? absl::StrFormat("%.17g", value) : absl::StrFormat("%.*f", digits, value);
}

// Returns a row "Ti x y z fx fy fz", without line end.
std::string Row(RandomStream* random, int64_t digits) {
  std::string row = random->Below(3) == 0 ? "Ti" : "O ";
  for (int k = 0; k < 6; ++k) row += " " + Number(random, digits);
  return row;
}

std::string Extxyz(int64_t atoms, int64_t digits) {
  RandomStream random(1, "structure_benchmark");
  std::string text;
  while (text.size() < kBytes) {
    absl::StrAppendFormat(&text,
                          "%d\nLattice=\"9.5 0 0 0.5 9.5 0 0 0 9.25\" Properties=species:S:1:pos:R:3:forces:R:3 "
                          "energy=%s pbc=\"T T T\" config_type=bulk\n",
                          atoms, Number(&random, digits));
    for (int64_t i = 0; i < atoms; ++i) text += Row(&random, digits) + "\n";
  }
  return text;
}

// Returns the frames of one animation, since opening a file for each would measure the file system.
std::string Xsf(int64_t atoms, int64_t digits) {
  RandomStream random(1, "structure_benchmark");
  std::string text;
  int64_t frames = 0;
  while (text.size() < kBytes) {
    absl::StrAppendFormat(&text, "# total energy = %s eV\nPRIMVEC\n9.5 0 0\n0.5 9.5 0\n0 0 9.25\nPRIMCOORD %d\n%d 1\n",
                          Number(&random, digits), ++frames, atoms);
    for (int64_t i = 0; i < atoms; ++i) text += Row(&random, digits) + "\n";
  }
  return absl::StrFormat("ANIMSTEPS %d\nCRYSTAL\n", frames) + text;
}

std::string Runner(int64_t atoms, int64_t digits) {
  RandomStream random(1, "structure_benchmark");
  std::string text;
  while (text.size() < kBytes) {
    text += "begin\nlattice 9.5 0 0\nlattice 0.5 9.5 0\nlattice 0 0 9.25\n";
    for (int64_t i = 0; i < atoms; ++i) {
      text += "atom";
      for (int k = 0; k < 3; ++k) text += " " + Number(&random, digits);
      text += random.Below(3) == 0 ? " Ti 0.0 0.0" : " O 0.0 0.0";
      for (int k = 0; k < 3; ++k) text += " " + Number(&random, digits);
      text += "\n";
    }
    absl::StrAppendFormat(&text, "energy %s\ncharge 0.0\nend\n", Number(&random, digits));
  }
  return text;
}

std::string Gzip(const std::string& bytes) {
  z_stream stream = {};
  CHECK_EQ(::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out.size();
  CHECK_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

void Read(benchmark::State& state, const std::string& text, bool gzip) {
  const std::string path = absl::StrFormat("/tmp/structure_benchmark.%d", state.thread_index());
  CHECK(WriteFileAtomically(path, gzip ? Gzip(text) : text).ok());
  StructureReaderOptions options;
  options.runner_units = RunnerUnits::kAngstromEv;
  Structure structure;
  int64_t atoms = 0;
  for (auto _ : state) {
    auto reader = StructureReader::Open(path, options);
    CHECK(reader.ok()) << reader.status();
    while (true) {
      const auto more = (*reader)->Next(&structure);
      CHECK(more.ok()) << more.status();
      if (!*more) break;
      atoms += structure.size();
    }
  }
  std::remove(path.c_str());
  state.SetBytesProcessed(state.iterations() * text.size());
  state.SetItemsProcessed(atoms);
}

void BM_Extxyz(benchmark::State& state) { Read(state, Extxyz(state.range(0), state.range(1)), false); }
void BM_ExtxyzGzip(benchmark::State& state) { Read(state, Extxyz(state.range(0), state.range(1)), true); }
void BM_Xsf(benchmark::State& state) { Read(state, Xsf(state.range(0), state.range(1)), false); }
void BM_Runner(benchmark::State& state) { Read(state, Runner(state.range(0), state.range(1)), false); }
BENCHMARK(BM_Extxyz)->Args({24, 8})->Args({216, 8})->Args({216, 17});
BENCHMARK(BM_ExtxyzGzip)->Args({24, 8});
BENCHMARK(BM_Xsf)->Args({24, 8})->Args({216, 17});
BENCHMARK(BM_Runner)->Args({24, 8})->Args({216, 17});

void BM_Lines(benchmark::State& state) {
  const std::string text = Extxyz(24, 8);
  int64_t lines = 0;
  for (auto _ : state) {
    LineReader reader = LineReader::FromBytes("x", text);
    absl::string_view line;
    while (reader.Next(&line)) ++lines;
  }
  state.SetBytesProcessed(state.iterations() * text.size());
  state.SetItemsProcessed(lines);
}
BENCHMARK(BM_Lines);

const char* WithCLibrary(const char* p, const char* end, double* value) {
  char* behind;
  *value = std::strtod(p, &behind);
  return behind;
}
const char* WithFromChars(const char* p, const char* end, double* value) { return std::from_chars(p, end, *value).ptr; }

template <const char* (*parse)(const char*, const char*, double*)>
void BM_Number(benchmark::State& state) {
  constexpr int kNumbers = 20000;
  RandomStream random(1, "structure_benchmark");
  std::string text;
  for (int i = 0; i < kNumbers; ++i) text += Number(&random, state.range(0)) + " ";
  for (auto _ : state) {
    const char* p = text.data();
    const char* const end = p + text.size();
    double sum = 0;
    while (p != end) {
      double value;
      p = parse(p, end, &value) + 1;
      sum += value;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * text.size());
  state.SetItemsProcessed(state.iterations() * kNumbers);
}
BENCHMARK_TEMPLATE(BM_Number, WithCLibrary)->Arg(8)->Arg(17);
BENCHMARK_TEMPLATE(BM_Number, WithFromChars)->Arg(8)->Arg(17);
BENCHMARK_TEMPLATE(BM_Number, ParseDouble)->Arg(8)->Arg(17);

}  // namespace
}  // namespace rutile
