// Lists of structures, such as a run's train_frames.txt: numbers over all that was read, from 0, and, where train wrote
// them, each structure's name and the hash of its content, by which it is found again in another file or order.
//
//   12  # b.extxyz#3 4f2a91c07be1
//
//   ASSIGN_OR_RETURN(const StructureList list, ReadStructureList("run/test_frames.txt"));
//   ASSIGN_OR_RETURN(const ListedPlaces found, PlacesOfListed(list, data));

#ifndef RUTILE_LIB_POTENTIAL_DATA_STRUCTURE_LIST_H_
#define RUTILE_LIB_POTENTIAL_DATA_STRUCTURE_LIST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/descriptor/descriptor_options.h"
#include "lib/potential/data/atomic_data.h"
#include "lib/structure/structure_reader.h"

namespace rutile {

struct StructureList {
  std::string path;
  std::vector<int64_t> numbers;
  std::vector<std::string> names, hashes;  // one for each number; "" where the list does not say

  bool has_hashes() const;  // for all numbers, of which there is at least one
};

// Reads whole numbers separated by white space; # starts a comment up to the end of the line. A line of one number
// whose comment ends with a hash says which structure that is. "-" is standard input. INVALID_ARGUMENT naming path and
// line; a number that is there twice.
absl::StatusOr<StructureList> ReadStructureList(absl::string_view path);

// Reads the same from text; path: for messages.
absl::StatusOr<StructureList> ParseStructureList(absl::string_view path, absl::string_view text);

// Writes a line for each of the structures, as ReadStructureList reads them.
std::string StructureListOf(const AtomicData& data, absl::Span<const int64_t> structures);

// All structures that were read, known by their numbers.
struct NumberedStructures {
  int64_t count = 0;
  std::function<std::string(int64_t number)> hash;
};

struct ListedNumbers {
  std::vector<int64_t> numbers;  // in the order of the list
  int64_t moved = 0;             // how many have other numbers than in the list
};

// Returns the numbers under which the listed structures were read. Where the list has hashes, content decides: a
// structure of the listed number with the listed hash, or else the first with that hash that is not taken yet.
// INVALID_ARGUMENT: structures that are not there, by number and name.
absl::StatusOr<ListedNumbers> FindListed(const StructureList& list, const NumberedStructures& read);

struct ListedPlaces {
  std::vector<int64_t> places;        // in the data, in the order of the list
  std::vector<std::string> left_out;  // "12 (b.extxyz#3)": listed, read, and left out by the data's filters
  int64_t moved = 0;                  // as in ListedNumbers
};

// Returns the places of the listed structures in the data, with the errors of FindListed.
absl::StatusOr<ListedPlaces> PlacesOfListed(const StructureList& list, const AtomicData& data);

// Like FindListed, over the structures of inputs as PredictionSource reads them, once where features and neighbors are
// of the same structures (InputsOnce). Reads all inputs if the list has hashes; standard input, which cannot be read
// twice, is taken by number.
absl::StatusOr<ListedNumbers> FindListedInInputs(const StructureList& list, absl::Span<const std::string> inputs,
                                                 const DescriptorOptions& descriptor,
                                                 const StructureReaderOptions& reader, bool forces);

// Says in a sentence that structures were found under other numbers; "" if none was.
std::string DescribeMoved(const StructureList& list, int64_t moved);

}  // namespace rutile

#endif  // RUTILE_LIB_POTENTIAL_DATA_STRUCTURE_LIST_H_
