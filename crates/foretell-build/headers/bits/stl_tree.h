// Red-black trees of std::map and std::set, defined in the program's own objects instead of
// libstdc++.so.
//
// Found before the library's own file of this name, which it includes. The header node of a tree
// has the root as parent, the first node on its left and the last one on its right; it is red.
#pragma GCC system_header
#include_next <bits/stl_tree.h>
#ifndef _FORETELL_STL_TREE_H
#define _FORETELL_STL_TREE_H
namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION

inline _Rb_tree_node_base* _Rb_tree_increment(_Rb_tree_node_base* __x) throw() {
    if (__x->_M_right != 0) return _Rb_tree_node_base::_S_minimum(__x->_M_right);
    _Rb_tree_node_base* __up = __x->_M_parent;
    while (__x == __up->_M_right) {
        __x = __up;
        __up = __up->_M_parent;
    }
    // From the last node, which may be the root, the next one is the header.
    return __x->_M_right == __up ? __x : __up;
}

inline const _Rb_tree_node_base* _Rb_tree_increment(const _Rb_tree_node_base* __x) throw() {
    return _Rb_tree_increment(const_cast<_Rb_tree_node_base*>(__x));
}

inline _Rb_tree_node_base* _Rb_tree_decrement(_Rb_tree_node_base* __x) throw() {
    if (__x->_M_color == _S_red && __x->_M_parent->_M_parent == __x) return __x->_M_right;
    if (__x->_M_left != 0) return _Rb_tree_node_base::_S_maximum(__x->_M_left);
    _Rb_tree_node_base* __up = __x->_M_parent;
    while (__x == __up->_M_left) {
        __x = __up;
        __up = __up->_M_parent;
    }
    return __up;
}

inline const _Rb_tree_node_base* _Rb_tree_decrement(const _Rb_tree_node_base* __x) throw() {
    return _Rb_tree_decrement(const_cast<_Rb_tree_node_base*>(__x));
}

// Puts `__to`, which may be null, into the place of `__from` below the parent of `__from`.
inline void __foretell_tree_replace(_Rb_tree_node_base* __from, _Rb_tree_node_base* __to,
                                    _Rb_tree_node_base& __header) throw() {
    _Rb_tree_node_base* const __up = __from->_M_parent;
    if (__up == &__header)
        __header._M_parent = __to;
    else if (__up->_M_left == __from)
        __up->_M_left = __to;
    else
        __up->_M_right = __to;
    if (__to != 0) __to->_M_parent = __up;
}

// Rotates a node down, to the left or to the right; its other child takes its place.
inline void __foretell_tree_rotate(_Rb_tree_node_base* __x, bool __left,
                                   _Rb_tree_node_base& __header) throw() {
    _Rb_tree_node_base* const __y = __left ? __x->_M_right : __x->_M_left;
    _Rb_tree_node_base* const __middle = __left ? __y->_M_left : __y->_M_right;
    __foretell_tree_replace(__x, __y, __header);
    if (__left) {
        __x->_M_right = __middle;
        __y->_M_left = __x;
    } else {
        __x->_M_left = __middle;
        __y->_M_right = __x;
    }
    if (__middle != 0) __middle->_M_parent = __x;
    __x->_M_parent = __y;
}

inline void _Rb_tree_insert_and_rebalance(const bool __insert_left, _Rb_tree_node_base* __x,
                                          _Rb_tree_node_base* __p,
                                          _Rb_tree_node_base& __header) throw() {
    __x->_M_parent = __p;
    __x->_M_left = 0;
    __x->_M_right = 0;
    __x->_M_color = _S_red;
    if (__p == &__header) {
        __header._M_parent = __header._M_left = __header._M_right = __x;
    } else if (__insert_left) {
        __p->_M_left = __x;
        if (__p == __header._M_left) __header._M_left = __x;
    } else {
        __p->_M_right = __x;
        if (__p == __header._M_right) __header._M_right = __x;
    }
    // A red node below a red one: colours change upwards until a rotation ends it.
    while (__x != __header._M_parent && __x->_M_parent->_M_color == _S_red) {
        _Rb_tree_node_base* const __up = __x->_M_parent;
        _Rb_tree_node_base* const __top = __up->_M_parent;
        const bool __on_left = __up == __top->_M_left;
        _Rb_tree_node_base* const __uncle = __on_left ? __top->_M_right : __top->_M_left;
        if (__uncle != 0 && __uncle->_M_color == _S_red) {
            __up->_M_color = _S_black;
            __uncle->_M_color = _S_black;
            __top->_M_color = _S_red;
            __x = __top;
        } else {
            if (__x == (__on_left ? __up->_M_right : __up->_M_left)) {
                __x = __up;
                __foretell_tree_rotate(__x, __on_left, __header);
            }
            __x->_M_parent->_M_color = _S_black;
            __top->_M_color = _S_red;
            __foretell_tree_rotate(__top, !__on_left, __header);
        }
    }
    __header._M_parent->_M_color = _S_black;
}

// Restores the number of black nodes on the paths through `__x`, which may be null, below `__up`:
// there is one too few.
inline void __foretell_tree_add_black(_Rb_tree_node_base* __x, _Rb_tree_node_base* __up,
                                      _Rb_tree_node_base& __header) throw() {
    while (__x != __header._M_parent && (__x == 0 || __x->_M_color == _S_black)) {
        const bool __on_left = __x == __up->_M_left;
        _Rb_tree_node_base* __sibling = __on_left ? __up->_M_right : __up->_M_left;
        if (__sibling->_M_color == _S_red) {
            __sibling->_M_color = _S_black;
            __up->_M_color = _S_red;
            __foretell_tree_rotate(__up, __on_left, __header);
            __sibling = __on_left ? __up->_M_right : __up->_M_left;
        }
        _Rb_tree_node_base* __near = __on_left ? __sibling->_M_left : __sibling->_M_right;
        _Rb_tree_node_base* __far = __on_left ? __sibling->_M_right : __sibling->_M_left;
        const bool __far_is_red = __far != 0 && __far->_M_color == _S_red;
        if (!__far_is_red && (__near == 0 || __near->_M_color == _S_black)) {
            __sibling->_M_color = _S_red;
            __x = __up;
            __up = __up->_M_parent;
            continue;
        }
        if (!__far_is_red) {
            __near->_M_color = _S_black;
            __sibling->_M_color = _S_red;
            __foretell_tree_rotate(__sibling, !__on_left, __header);
            __far = __sibling;
            __sibling = __near;
        }
        __sibling->_M_color = __up->_M_color;
        __up->_M_color = _S_black;
        __far->_M_color = _S_black;
        __foretell_tree_rotate(__up, __on_left, __header);
        return;
    }
    if (__x != 0) __x->_M_color = _S_black;
}

inline _Rb_tree_node_base* _Rb_tree_rebalance_for_erase(_Rb_tree_node_base* const __z,
                                                        _Rb_tree_node_base& __header) throw() {
    _Rb_tree_node_base* __x;
    _Rb_tree_node_base* __up;
    _Rb_tree_color __removed = __z->_M_color;
    if (__z->_M_left != 0 && __z->_M_right != 0) {
        // The next node takes the place and the colour of the erased one.
        _Rb_tree_node_base* const __next = _Rb_tree_node_base::_S_minimum(__z->_M_right);
        __removed = __next->_M_color;
        __x = __next->_M_right;
        if (__next->_M_parent == __z) {
            __up = __next;
        } else {
            __up = __next->_M_parent;
            __foretell_tree_replace(__next, __x, __header);
            __next->_M_right = __z->_M_right;
            __next->_M_right->_M_parent = __next;
        }
        __next->_M_left = __z->_M_left;
        __next->_M_left->_M_parent = __next;
        __foretell_tree_replace(__z, __next, __header);
        __next->_M_color = __z->_M_color;
    } else {
        __x = __z->_M_left != 0 ? __z->_M_left : __z->_M_right;
        __up = __z->_M_parent;
        if (__header._M_left == __z)
            __header._M_left = __x != 0 ? _Rb_tree_node_base::_S_minimum(__x) : __up;
        if (__header._M_right == __z)
            __header._M_right = __x != 0 ? _Rb_tree_node_base::_S_maximum(__x) : __up;
        __foretell_tree_replace(__z, __x, __header);
    }
    if (__removed == _S_black) __foretell_tree_add_black(__x, __up, __header);
    return __z;
}

_GLIBCXX_END_NAMESPACE_VERSION
} // namespace std
#endif
