#include "lib/tensorfile/tensor_header.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/testing/error_names.h"

namespace rutile {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(absl::string_view json) {
  const auto header = ParseTensorHeader(json);
  EXPECT_EQ(header.status().code(), absl::StatusCode::kInvalidArgument) << json;
  return std::string(header.status().message());
}

TEST(ParseTensorHeaderTest, ReadsEntriesInTheirOrder) {
  const auto header = ParseTensorHeader(
      R"({"b":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}, "__metadata__" : {"k":"v\u00e4\n","":""},)"
      R"("a":{"data_offsets":[0,8],"shape":[],"dtype":"I64"}}   )");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->metadata, (Metadata{{"k", "vä\n"}, {"", ""}}));
  ASSERT_EQ(header->entries.size(), 2u);
  EXPECT_EQ(header->entries[0].name, "b");
  EXPECT_EQ(header->entries[0].dtype, DType::kF32);
  EXPECT_THAT(header->entries[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(header->entries[0].begin, 8);
  EXPECT_EQ(header->entries[0].end, 32);
  EXPECT_EQ(header->entries[1].name, "a");
  EXPECT_THAT(header->entries[1].shape, ElementsAre());
  EXPECT_TRUE(ParseTensorHeader("{}").ok());
}

TEST(ParseTensorHeaderTest, NotJson) {
  EXPECT_EQ(Message(""), "the header does not start with '{'");
  EXPECT_EQ(Message(" {}"), "the header does not start with '{'");
  EXPECT_EQ(Message("[]"), "the header does not start with '{'");
  EXPECT_EQ(Message(absl::string_view("{}\0\0", 4)), "header byte 2: NUL, expected JSON padded with spaces");
  EXPECT_EQ(Message("{} x"), "header byte 4: not valid JSON");
  EXPECT_EQ(Message("{}{}"), "header byte 3: not valid JSON");
  for (const char* const bad :
       {"{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":{", "{\"a\":{}", "{,}", "{\"a\":1,}", "{a:1}", "{\"\\x\":1}",
        "{\"a\nb\":1}", "{\"a\":nul}", "{\"a\":01}", "{/**/}", "{\"\\ud800\":1}"}) {
    EXPECT_THAT(Message(bad),
                AnyOf(HasSubstr("not valid JSON"), HasSubstr("expected an object"), HasSubstr("has no dtype")))
        << bad;
  }
  EXPECT_THAT(Message("{\"\xff\":1}"), ErrorNames({"not UTF-8"}));
  EXPECT_THAT(Message("{\"\xc0\x80\":1}"), ErrorNames({"not UTF-8"}));
}

TEST(ParseTensorHeaderTest, NamesTheTensorAndTheRule) {
  const auto entry = [](absl::string_view text) { return Message(absl::StrCat("{\"x\":", text, "}")); };
  const std::string wanted = ", expected an object with dtype, shape and data_offsets";
  EXPECT_EQ(entry("3"), "tensor \"x\": is 3" + wanted);
  EXPECT_EQ(entry("-3"), "tensor \"x\": is -3" + wanted);
  EXPECT_EQ(entry("1.5"), "tensor \"x\": is 1.5" + wanted);
  EXPECT_EQ(entry("null"), "tensor \"x\": is null" + wanted);
  EXPECT_EQ(entry("true"), "tensor \"x\": is true" + wanted);
  EXPECT_EQ(entry("\"F32\""), "tensor \"x\": is a text" + wanted);
  EXPECT_EQ(entry("[1]"), "tensor \"x\": is an array" + wanted);
  EXPECT_EQ(entry("{}"), "tensor \"x\": has no dtype");
  EXPECT_EQ(entry(R"({"dtype":"F32"})"), "tensor \"x\": has no shape");
  EXPECT_EQ(entry(R"({"dtype":"F32","shape":[]})"), "tensor \"x\": has no data_offsets");
  EXPECT_EQ(entry(R"({"dtype":"F32","dtype":"F32"})"), "tensor \"x\": \"dtype\" comes twice");
  EXPECT_EQ(entry(R"({"offset":1})"), "tensor \"x\": unknown key \"offset\", expected dtype, shape and data_offsets");
  EXPECT_EQ(entry(R"({"dtype":5})"), "tensor \"x\": dtype is 5, expected the name of a type");
  EXPECT_EQ(entry(R"({"dtype":["F32"]})"), "tensor \"x\": dtype is an array, expected the name of a type");
  EXPECT_EQ(entry(R"({"dtype":"float"})"), "tensor \"x\": unknown dtype \"float\", expected F32, F64, I64 or the like");
  EXPECT_EQ(entry(R"({"dtype":"F8_E4M3"})"),
            "tensor \"x\": has dtype F8_E4M3, which rutile does not read; convert it to F32 or F64");
  EXPECT_EQ(entry(R"({"shape":7})"), "tensor \"x\": shape is 7, expected an array of whole numbers");
  EXPECT_EQ(entry(R"({"shape":[-1]})"), "tensor \"x\": -1 in shape, expected numbers from 0 on");
  EXPECT_EQ(entry(R"({"shape":[2.0]})"), "tensor \"x\": 2.0 in shape, expected whole numbers below 2^63");
  EXPECT_EQ(entry(R"({"shape":[1e3]})"), "tensor \"x\": 1e3 in shape, expected whole numbers below 2^63");
  EXPECT_EQ(entry(R"({"shape":[9223372036854775808]})"), "tensor \"x\": 9223372036854775808 in shape is above 2^63");
  EXPECT_EQ(entry(R"({"shape":[99999999999999999999]})"),
            "tensor \"x\": 99999999999999999999 in shape, expected whole numbers below 2^63");
  EXPECT_EQ(entry(R"({"shape":["2"]})"), "tensor \"x\": a text in shape, expected whole numbers");
  EXPECT_EQ(entry(R"({"data_offsets":[null]})"), "tensor \"x\": null in data_offsets, expected whole numbers");
}

TEST(ParseTensorHeaderTest, NestingIsLimited) {
  EXPECT_THAT(Message(R"({"x":{"shape":[[1]]}})"), ErrorNames({"nested too deep", "\"x\""}));
  EXPECT_THAT(Message(R"({"x":{"shape":[{}]}})"), ErrorNames({"nested too deep", "\"x\""}));
  EXPECT_THAT(Message(R"({"x":{"y":{}}})"), ErrorNames({"tensor \"x\"", "unknown key \"y\""}));
  EXPECT_THAT(Message(R"({"x":{"dtype":{}}})"), ErrorNames({"nested too deep", "\"x\""}));
  EXPECT_THAT(Message(R"({"__metadata__":{"a":{}}})"), ErrorNames({"nested too deep", "\"__metadata__\""}));
  EXPECT_THAT(Message("{\"x\":" + std::string(1000000, '[')), ErrorNames({"tensor \"x\"", "array"}));
}

TEST(ParseTensorHeaderTest, NamesComeOnce) {
  const std::string x = R"("x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(Message("{" + x + "," + x + "}"), "tensor \"x\": the name comes twice");
  EXPECT_EQ(Message(R"({"__metadata__":{},"__metadata__":{}})"), "tensor \"__metadata__\": the name comes twice");
  EXPECT_EQ(Message(R"({"__metadata__":{"a":"1","a":"1"}})"), "metadata \"a\" comes twice");
  // An escape spells the same name in another way.
  EXPECT_EQ(Message("{" + x + R"(,"\u0078":{}})"), "tensor \"x\": the name comes twice");
}

TEST(ParseTensorHeaderTest, MetadataAreTexts) {
  EXPECT_EQ(Message(R"({"__metadata__":null})"), "__metadata__ is null, expected an object");
  EXPECT_EQ(Message(R"({"__metadata__":[]})"), "__metadata__ is an array, expected an object");
  EXPECT_EQ(Message(R"({"__metadata__":{"a":1}})"), "metadata \"a\" is 1, expected a text");
  EXPECT_EQ(Message(R"({"__metadata__":{"a":[]}})"), "metadata \"a\" is an array, expected a text");
}

TEST(ParseTensorHeaderTest, SizesMatchOffsets) {
  const auto entry = [](absl::string_view shape, absl::string_view offsets) {
    return absl::StrCat(R"({"feature":{"dtype":"F32","shape":)", shape, ",\"data_offsets\":", offsets, "}}");
  };
  EXPECT_EQ(Message(entry("[10,9]", "[0,400]")),
            "tensor \"feature\": bytes 0..400 do not match F32 [10,9] (360 bytes)");
  EXPECT_EQ(Message(entry("[1]", "[8,4]")), "tensor \"feature\": bytes 8..4 end before they begin");
  EXPECT_EQ(Message(entry("[1]", "[4]")), "tensor \"feature\": data_offsets has 1 numbers, expected 2");
  EXPECT_EQ(Message(entry("[1]", "[0,4,8]")), "tensor \"feature\": data_offsets has 3 numbers, expected 2");
  EXPECT_EQ(Message(entry("[4294967296,4294967296]", "[0,0]")),
            "tensor \"feature\": the size of F32 [4294967296,4294967296] overflows");
  EXPECT_EQ(Message(entry("[4611686018427387904]", "[0,0]")),
            "tensor \"feature\": the size of F32 [4611686018427387904] overflows");
  // The tensor is empty, but the product of any of its dimensions must not overflow.
  EXPECT_THAT(Message(entry("[0,4294967296,4294967296]", "[0,0]")),
              ErrorNames({"tensor \"feature\"", "[0,4294967296,4294967296]", "overflows"}));
  EXPECT_TRUE(ParseTensorHeader(entry("[0,4294967296]", "[5,5]")).ok());
  EXPECT_TRUE(ParseTensorHeader(entry("[]", "[0,4]")).ok());
}

TEST(FormatTensorHeaderTest, ReadsBackAndAligns) {
  TensorHeader header;
  header.metadata = {{"quote\"\\", "line\nbreak\ttab\x01\x7f"}, {"umlaut", "ä€😀"}, {"", "/"}};
  header.entries = {
      {"a\"b", DType::kBF16, {2}}, {"", DType::kF64, {}}, {"ü", DType::kU8, {3, 0}}, {"c", DType::kI32, {1}}};
  LayOutTensors(&header.entries);
  const auto bytes = FormatTensorHeader(header);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(bytes->size() % 64, 0u);
  EXPECT_EQ(static_cast<unsigned char>((*bytes)[0]) + 256 * static_cast<unsigned char>((*bytes)[1]), bytes->size() - 8);
  const auto read = ParseTensorHeader(absl::string_view(*bytes).substr(8));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->metadata, header.metadata);
  std::vector<std::string> order;
  for (const TensorEntry& entry : read->entries) {
    order.push_back(absl::StrCat(entry.name, "@", entry.begin, "..", entry.end));
  }
  EXPECT_THAT(order, ElementsAre("@0..8", "c@8..12", "a\"b@12..16", "ü@16..16"));
}

TEST(FormatTensorHeaderTest, Refuses) {
  TensorHeader header;
  header.entries = {{"__metadata__", DType::kF32, {0}}};
  EXPECT_EQ(FormatTensorHeader(header).status().message(),
            "tensor \"__metadata__\": the name is reserved for metadata");
  header.entries = {{"\xff", DType::kF32, {0}}};
  EXPECT_THAT(FormatTensorHeader(header), ErrorNames({"not UTF-8"}));
  header.entries.clear();
  header.metadata = {{"a", "\xff"}};
  EXPECT_EQ(FormatTensorHeader(header).status().message(), "metadata \"a\" is not UTF-8");
  header.metadata = {{"a", std::string(kMaxTensorHeader, 'x')}};
  EXPECT_THAT(FormatTensorHeader(header), ErrorNames({"at most 100000000"}));
}

TEST(LayOutTensorsTest, WidestFirstOtherwiseAsGiven) {
  std::vector<TensorEntry> entries = {{"b1", DType::kBool, {1}}, {"f1", DType::kF32, {1}}, {"d1", DType::kF64, {1}},
                                      {"i1", DType::kI32, {2}},  {"d2", DType::kI64, {1}}, {"h1", DType::kF16, {1}}};
  LayOutTensors(&entries);
  std::vector<std::string> order;
  for (const TensorEntry& entry : entries) order.push_back(absl::StrCat(entry.name, "@", entry.begin));
  EXPECT_THAT(order, ElementsAre("d1@0", "d2@8", "f1@16", "i1@20", "h1@28", "b1@30"));
}

TEST(IsUtf8Test, Forms) {
  for (const char* const good : {"", "a", "ä", "€", "😀", "\x7f", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  EXPECT_TRUE(IsUtf8(absl::string_view("\0", 1)));
  // A lone byte, cut off, overlong, a surrogate, above U+10FFFF, and bytes that never occur.
  for (const char* const bad :
       {"\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",
        "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xc3(", "a\xff"}) {
    EXPECT_FALSE(IsUtf8(bad)) << JsonQuote(bad);
  }
}

}  // namespace
}  // namespace rutile
