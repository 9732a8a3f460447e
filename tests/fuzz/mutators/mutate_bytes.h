// Mutations that know nothing of what they change.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace stepscope::fuzz {

/// Changes a bit, a byte or a number, cuts the end off, repeats a piece or takes one out.
void mutate_once(std::vector<uint8_t>& bytes, std::mt19937_64& random);

}  // namespace stepscope::fuzz
