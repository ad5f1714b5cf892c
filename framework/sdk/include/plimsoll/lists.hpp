// Plimsoll plugin SDK: C++ views of the texts and lists of <plimsoll/objects.h>.
#pragma once

#include <plimsoll/objects.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace plimsoll::sdk {

[[nodiscard]] constexpr std::string_view view(const plimsoll_str& text) {
  return {text.data, text.len};
}

// An ABI string that points to `text`, which must outlive it.
[[nodiscard]] constexpr plimsoll_str str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), PLIMSOLL_SYMBOL_NONE};
}

// Compares the symbols if both strings are interned, otherwise the texts.
[[nodiscard]] inline bool equal(const plimsoll_str& a, const plimsoll_str& b) {
  if (a.symbol != 0 && b.symbol != 0) return a.symbol == b.symbol;
  return view(a) == view(b);
}

// A plimsoll_list as a random-access range of const T. It uses the list's own stride.
template <typename T>
class List {
 public:
  class iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    iterator() = default;
    iterator(const std::byte* at, uint32_t stride) : at_(at), stride_(stride) {}

    reference operator*() const { return *reinterpret_cast<const T*>(at_); }
    pointer operator->() const { return &**this; }
    reference operator[](difference_type n) const { return *(*this + n); }
    iterator& operator+=(difference_type n) {
      at_ += n * static_cast<difference_type>(stride_);
      return *this;
    }
    iterator& operator-=(difference_type n) { return *this += -n; }
    iterator& operator++() { return *this += 1; }
    iterator& operator--() { return *this -= 1; }
    iterator operator++(int) {
      iterator old = *this;
      ++*this;
      return old;
    }
    iterator operator--(int) {
      iterator old = *this;
      --*this;
      return old;
    }
    friend iterator operator+(iterator i, difference_type n) { return i += n; }
    friend iterator operator+(difference_type n, iterator i) { return i += n; }
    friend iterator operator-(iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(const iterator& a, const iterator& b) {
      return a.stride_ == 0 ? 0 : (a.at_ - b.at_) / static_cast<difference_type>(a.stride_);
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const iterator& a, const iterator& b) { return a.at_ <=> b.at_; }

   private:
    const std::byte* at_ = nullptr;
    uint32_t stride_ = 0;
  };

  constexpr List() = default;
  constexpr List(const plimsoll_list& list) : list_(list) {}  // NOLINT: a view of the same thing

  [[nodiscard]] size_t size() const { return list_.count; }
  [[nodiscard]] bool empty() const { return list_.count == 0; }
  [[nodiscard]] const T& operator[](size_t i) const {
    return *reinterpret_cast<const T*>(bytes() + i * list_.stride);
  }
  [[nodiscard]] iterator begin() const { return {bytes(), list_.stride}; }
  [[nodiscard]] iterator end() const {
    return {list_.count == 0 ? bytes() : bytes() + size_t{list_.count} * list_.stride,
            list_.stride};
  }

 private:
  [[nodiscard]] const std::byte* bytes() const { return static_cast<const std::byte*>(list_.data); }
  plimsoll_list list_{};
};

// A list that points to the plugin's own elements. Valid as long as the elements.
template <typename T>
[[nodiscard]] plimsoll_list list_of(std::span<const T> elements) {
  return {elements.data(), static_cast<uint32_t>(elements.size()), sizeof(T)};
}

using Strings = List<plimsoll_str>;

}  // namespace plimsoll::sdk
