#include "attnscope/rows/npy.h"

#include <bit>
#include <string>

namespace attnscope {

static_assert(std::endian::native == std::endian::little,
              "write_npy stores elements in memory order");

void write_npy(const WeightMatrix& matrix, std::ostream& out) {
  std::visit(
      [&](const auto& dense) {
        constexpr std::size_t kElementBytes = sizeof(*dense.data());
        std::string header = std::string("{'descr': '<f") + std::to_string(kElementBytes) +
                             "', 'fortran_order': False, 'shape': (" +
                             std::to_string(dense.rows()) + ", " + std::to_string(dense.cols()) +
                             "), }";
        // The size of magic, version, length and header together is a multiple of 64; the header
        // ends with a line feed.
        constexpr std::size_t kFixedBytes = 10, kAlignment = 64;
        while ((kFixedBytes + header.size() + 1) % kAlignment != 0) header += ' ';
        header += '\n';
        const auto length = static_cast<unsigned>(header.size());
        out << "\x93NUMPY" << '\x01' << '\x00' << static_cast<char>(length & 0xFF)
            << static_cast<char>(length >> 8) << header;
        out.write(reinterpret_cast<const char*>(dense.data()),
                  static_cast<std::streamsize>(dense.rows() * dense.cols()) *
                      static_cast<std::streamsize>(kElementBytes));
      },
      matrix);
}

}  // namespace attnscope
