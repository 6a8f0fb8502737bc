// The sample of a split's triples that is ranked where ranking all of them would take too long.

#ifndef RUTILE_LIB_GRAPH_TRIPLE_SAMPLE_H_
#define RUTILE_LIB_GRAPH_TRIPLE_SAMPLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rutile {

// Returns min(count, num_triples) indices of 0 .. num_triples - 1, ascending; each set of so many is as likely. It is a
// function of the arguments alone, so that train and evaluate, and all models, are judged by the same triples.
std::vector<int64_t> SampleOfTriples(int64_t num_triples, int64_t count);

// Returns what people must know of figures of a sample: "a sample of 1000 of 40932 triples is ranked: the figures have
// errors of chance". "" if all triples are in the sample.
std::string SampleNote(int64_t num_triples, int64_t count);

}  // namespace rutile

#endif  // RUTILE_LIB_GRAPH_TRIPLE_SAMPLE_H_
