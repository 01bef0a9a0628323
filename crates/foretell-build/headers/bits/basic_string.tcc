// Members of std::string, instantiated in the program's own objects instead of libstdc++.so.
//
// Found before the library's own file of this name, which it includes. A value of -1 leaves out the
// explicit instantiation declarations of basic_string, and nothing else (bits/c++config.h).
#pragma GCC system_header
#pragma push_macro("_GLIBCXX_EXTERN_TEMPLATE")
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#include_next <bits/basic_string.tcc>
#pragma pop_macro("_GLIBCXX_EXTERN_TEMPLATE")
