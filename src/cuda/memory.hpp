// Memory of a device, without CUDA headers. All of it is allocated on, and all copies go to and from, the device that
// UseDevice chose for this thread. Copies wait until they are done.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "cpfm/device.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

// The device has too little memory; says how much was needed and how much is free. A type of its own, since some can do
// with less.
class OutOfDeviceMemory : public Error {
 public:
  using Error::Error;
};

// Makes a device the present one of this thread, and goes back to the one before.
class UseDevice {
 public:
  explicit UseDevice(Device device);
  ~UseDevice();
  UseDevice(const UseDevice&) = delete;
  UseDevice& operator=(const UseDevice&) = delete;

 private:
  int chosen_ = 0, before_ = 0;
};

// Throws OutOfDeviceMemory where there is not enough; `what` is what it was for.
void* device_allocate(std::size_t bytes, const char* what);
void device_free(void* memory) noexcept;
void copy_to_device(void* to, const void* from, std::size_t bytes);
void copy_from_device(void* to, const void* from, std::size_t bytes);
void fill_device(void* to, int byte, std::size_t bytes);

struct DeviceMemory {
  std::size_t free = 0, total = 0;
};
DeviceMemory device_memory();
// Throws OutOfDeviceMemory, before anything is allocated, where the present device has not so much free.
void require_device_memory(double bytes, const char* what);
// The most that device_allocate has held at once in this process, and what it holds now.
std::size_t device_peak();
std::size_t device_held();

template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count, const char* what = "an array")
      : data_(count == 0 ? nullptr : static_cast<T*>(device_allocate(count * sizeof(T), what))), size_(count) {}
  explicit DeviceArray(const std::vector<T>& values, const char* what = "an array") : DeviceArray(values.size(), what) {
    upload(values.data(), values.size());
  }
  ~DeviceArray() { device_free(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  void upload(const T* from, std::size_t count) { copy_to_device(data_, from, count * sizeof(T)); }
  void download(T* to, std::size_t count) const { copy_from_device(to, data_, count * sizeof(T)); }
  std::vector<T> values() const {
    std::vector<T> copy(size_);
    if (size_ > 0) download(copy.data(), size_);
    return copy;
  }
  void zero() { fill_device(data_, 0, size_ * sizeof(T)); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// Of `wanted` entries, to grow into, or of the `needed` ones where there is no room for so many.
template <class T>
DeviceArray<T> roomy_array(std::size_t needed, std::size_t wanted, const char* what) {
  const auto make = [&](std::size_t count) {
    require_device_memory(static_cast<double>(count) * sizeof(T), what);
    return DeviceArray<T>(count, what);
  };
  try {
    return make(wanted);
  } catch (const OutOfDeviceMemory&) {
    if (wanted == needed) throw;
  }
  return make(needed);
}

}  // namespace cpfm
