// Encodings of data in a page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attnscope {

/// A gzip file of the bytes (RFC 1952). Throws std::bad_alloc.
std::string gzip(std::string_view bytes);

/// float32 numbers as four planes: all lowest bytes, then all next ones, …. Neighbours in a
/// spectrum have equal high bytes, so planes compress to little more than half.
std::string byte_planes(std::span<const float> numbers);

/// An attention weight in one byte: 0 is exactly 0, and 1 to 255 are 2^-16 to 1 in equal steps of
/// the logarithm, so that a weight above 2^-16 is within 2.2 %.
std::uint8_t weight_byte(float weight);

/// A signed number in one byte, from 1 at −limit to 255 at limit; 128 is 0.
std::uint8_t signed_byte(double number, double limit);

}  // namespace attnscope
