// What is added to attention scores by the places of query and key, as data.
#pragma once

#include <cstdint>
#include <string>

namespace attnscope {

/// ALiBi: slope · (key − query), with a slope for each head. Source: arXiv 2108.12409.
struct Alibi {
  /// The slopes of H heads, where H is no power of two. False: those of the next smaller power,
  /// then every other one of twice as many heads (BLOOM, Falcon). True: of those of the next larger
  /// power the 2nd, 4th …, then the 1st, 3rd …, as many as there are heads (MPT).
  bool of_larger_power = false;
  /// slope · key is rounded to bfloat16, and scaled as q k is (Falcon).
  bool in_bfloat16 = false;

  bool operator==(const Alibi&) const = default;
};

/// A learned number for each head and each bucket of distances: small distances have a bucket each,
/// larger ones share buckets whose widths grow like the distance. Where tokens see both ways, half
/// of the buckets are for keys after the query. Source: T5, arXiv 1910.10683.
struct BucketBias {
  std::string table;           // a pattern under the prefix, (count, H)
  std::int64_t count = 32;     // of buckets
  std::int64_t distant = 128;  // tokens from which on all are in the last bucket

  bool operator==(const BucketBias&) const = default;
};

}  // namespace attnscope
