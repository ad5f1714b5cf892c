#pragma once
// A binary heap of pointers. Each element stores its index in the heap, so that any element can be
// removed in O(log n).

#include <cstddef>
#include <utility>
#include <vector>

namespace plimsoll {

// `Element` has a member `size_t heap_index`; `Less(const Element&, const Element&)` is a strict
// weak order.
template <typename Element, typename Less>
class IndexedHeap {
 public:
  explicit IndexedHeap(Less less = {}) : less_(std::move(less)) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] size_t size() const { return heap_.size(); }
  [[nodiscard]] Element* top() const { return heap_.front(); }
  [[nodiscard]] const std::vector<Element*>& elements() const { return heap_; }

  void push(Element* element) {
    heap_.push_back(element);
    up(heap_.size() - 1);
  }

  void remove(Element* element) {
    const size_t hole = element->heap_index;
    Element* last = heap_.back();
    heap_.pop_back();
    if (last == element) return;
    place(hole, last);
    up(hole);
    down(last->heap_index);
  }

  Element* pop() {
    Element* first = top();
    remove(first);
    return first;
  }

 private:
  void place(size_t index, Element* element) {
    heap_[index] = element;
    element->heap_index = index;
  }

  void up(size_t index) {
    Element* moving = heap_[index];
    while (index > 0) {
      const size_t parent = (index - 1) / 2;
      if (!less_(*moving, *heap_[parent])) break;
      place(index, heap_[parent]);
      index = parent;
    }
    place(index, moving);
  }

  void down(size_t index) {
    Element* moving = heap_[index];
    for (;;) {
      size_t child = 2 * index + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && less_(*heap_[child + 1], *heap_[child])) ++child;
      if (!less_(*heap_[child], *moving)) break;
      place(index, heap_[child]);
      index = child;
    }
    place(index, moving);
  }

  std::vector<Element*> heap_;
  Less less_;
};

}  // namespace plimsoll
