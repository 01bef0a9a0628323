// Links of std::list, defined in the program's own objects instead of libstdc++.so.
//
// Found before the library's own file of this name, which it includes.
#pragma GCC system_header
#include_next <bits/stl_list.h>
#ifndef _FORETELL_STL_LIST_H
#define _FORETELL_STL_LIST_H
namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION
namespace __detail {

// Inserts this node before a position.
inline void _List_node_base::_M_hook(_List_node_base* const __position) _GLIBCXX_USE_NOEXCEPT {
    _List_node_base* const __before = __position->_M_prev;
    _M_next = __position;
    _M_prev = __before;
    __before->_M_next = this;
    __position->_M_prev = this;
}

// Removes this node from its list.
inline void _List_node_base::_M_unhook() _GLIBCXX_USE_NOEXCEPT {
    _List_node_base* const __after = _M_next;
    _List_node_base* const __before = _M_prev;
    __before->_M_next = __after;
    __after->_M_prev = __before;
}

// Moves the nodes from `__first` up to `__last`, which stays, to the place before this one.
inline void _List_node_base::_M_transfer(_List_node_base* const __first,
                                         _List_node_base* const __last) _GLIBCXX_USE_NOEXCEPT {
    if (this == __last) return;
    _List_node_base* const __tail = __last->_M_prev;
    _List_node_base* const __gap = __first->_M_prev;
    __gap->_M_next = __last;
    __last->_M_prev = __gap;
    _List_node_base* const __before = _M_prev;
    __before->_M_next = __first;
    __first->_M_prev = __before;
    __tail->_M_next = this;
    _M_prev = __tail;
}

// Reverses the ring of nodes that this one is in.
inline void _List_node_base::_M_reverse() _GLIBCXX_USE_NOEXCEPT {
    _List_node_base* __node = this;
    do {
        _List_node_base* const __after = __node->_M_next;
        __node->_M_next = __node->_M_prev;
        __node->_M_prev = __after;
        __node = __after;
    } while (__node != this);
}

// Exchanges the nodes of two lists, given by their ends.
inline void _List_node_base::swap(_List_node_base& __x,
                                  _List_node_base& __y) _GLIBCXX_USE_NOEXCEPT {
    _List_node_base* const __first = __x._M_next;
    if (__first != &__x) {
        // The nodes of y take the place of those of x, which follow the end of y for a moment.
        _List_node_base* const __last = __x._M_prev;
        __x._M_next = __x._M_prev = &__x;
        if (__y._M_next != &__y) __x._M_transfer(__y._M_next, &__y);
        __y._M_next = __first;
        __first->_M_prev = &__y;
        __y._M_prev = __last;
        __last->_M_next = &__y;
    } else if (__y._M_next != &__y) {
        __x._M_transfer(__y._M_next, &__y);
    }
}

} // namespace __detail
_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std
#endif
