// What a device can do at most of the one operation that bounds sums over pairs.
#pragma once

#include "cpfm/device.hpp"

namespace cpfm {

// Exponentials (ex2.approx) per second when nothing else is done, the best of a few runs.
double exponentials_per_second(Device device);

}  // namespace cpfm
