// The one convention for dense data: matrices are row-major, n rows (samples) of d columns (features), no padding.
// Views are passed in, FloatMatrix values come out.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace cpfm {

template <class T>
struct MatrixView;
template <class T>
struct MatrixView<const T> {
  const T* data = nullptr;
  std::size_t rows = 0, cols = 0;

  std::span<const T> row(std::size_t i) const { return {data + i * cols, cols}; }
  const T& operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
  std::size_t size() const { return rows * cols; }
};

template <class T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0, cols = 0;

  std::span<T> row(std::size_t i) const { return {data + i * cols, cols}; }
  T& operator()(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
  std::size_t size() const { return rows * cols; }
  operator MatrixView<const T>() const { return {data, rows, cols}; }
};

// Owns n × d floats. The memory is not touched on allocation, so pages that are never written cost nothing, and it
// grows by realloc (which moves pages, not bytes), so that reading a stream of unknown length does not hold the data
// twice.
class FloatMatrix {
 public:
  FloatMatrix() = default;
  // Uninitialised. Throws std::bad_alloc when there is no room; the caller has checked that rows * cols * 4 fits.
  FloatMatrix(std::size_t rows, std::size_t cols) {
    reserve(rows * cols);
    rows_ = rows;
    cols_ = cols;
  }

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t size() const { return rows_ * cols_; }
  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::span<float> row(std::size_t i) { return {data() + i * cols_, cols_}; }
  std::span<const float> row(std::size_t i) const { return {data() + i * cols_, cols_}; }
  float& operator()(std::size_t i, std::size_t j) { return data()[i * cols_ + j]; }
  float operator()(std::size_t i, std::size_t j) const { return data()[i * cols_ + j]; }
  std::span<const float> values() const { return {data(), size()}; }
  MatrixView<float> view() { return {data(), rows_, cols_}; }
  MatrixView<const float> view() const { return {data(), rows_, cols_}; }

  // Room for `count` floats in all; keeps what is there.
  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    float* grown = static_cast<float*>(std::realloc(data_.get(), count * sizeof(float)));
    if (grown == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(grown);
    capacity_ = count;
  }
  // Changes the shape within what is reserved (or grows); the bytes stay, in order.
  void reshape(std::size_t rows, std::size_t cols) {
    reserve(rows * cols);
    rows_ = rows;
    cols_ = cols;
  }
  std::size_t capacity() const { return capacity_; }
  // Gives unused room back.
  void shrink() {
    if (capacity_ == size() || size() == 0) return;
    if (float* fitted = static_cast<float*>(std::realloc(data_.get(), size() * sizeof(float)))) {
      (void)data_.release();
      data_.reset(fitted);
      capacity_ = size();
    }
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
  std::size_t rows_ = 0, cols_ = 0, capacity_ = 0;
};

}  // namespace cpfm
