#include <gtest/gtest.h>

#include <string>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/table/table.hpp"

namespace headtorch::table {
namespace {

void expect_answer(const std::string& bytes) {
  try {
    const Table table = parse_table(bytes, "f.csv");
    for (const Column& column : table.columns) {
      const bool words = column.kind == ColumnKind::kWord;
      EXPECT_EQ(words ? column.codes.size() : column.numbers.size(), table.rows());
      as_words(column);
    }
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(Table, answers_or_refuses_whatever_the_bytes) {
  constexpr std::string_view kPieces[] = {
      "\"", "\"\"", ",",          ";",     "\t",           "\n", "\r", "\r\n", "1",  ".",  "-",
      "NA", "inf",  "2012-01-31", "1e400", "\xef\xbb\xbf", "x",  " ",  "\xff", "0x", "1,2"};
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Random random(1, i);
    std::string bytes;
    for (auto left = random.below(40); left > 0; --left)
      bytes += kPieces[static_cast<std::size_t>(random.below(std::ssize(kPieces)))];
    expect_answer(bytes);
  }
}

TEST(Table, answers_or_refuses_a_changed_file) {
  const std::string file = "\xef\xbb\xbf\"t\",y,w\r\n2012-01-31,1.5,\"a\"\"b\nc\"\r\n2012-02-01,,d\r\n";
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Random random(2, i);
    std::string bytes = file;
    for (auto left = random.below(4); left >= 0; --left)
      bytes[static_cast<std::size_t>(random.below(std::ssize(bytes)))] = static_cast<char>(random.below(256));
    bytes.resize(static_cast<std::size_t>(random.below(std::ssize(bytes) + 1)));
    expect_answer(bytes);
  }
}

}  // namespace
}  // namespace headtorch::table
