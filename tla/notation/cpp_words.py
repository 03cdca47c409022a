"""The words of C++, which nothing in a text of C++ is named.

Source: ISO C++20, [lex.key]; the integers of <cstdint>, and the macros of compilers on Linux.
"""

from __future__ import annotations

_WORDS = """
    alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await co_return
    co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else
    enum explicit export extern false float for friend goto if inline int int16_t int32_t int64_t int8_t long mutable namespace new noexcept
    not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename uint16_t uint32_t uint64_t
    uint8_t union unsigned using virtual void volatile wchar_t while xor xor_eq linux unix
"""
#: The words of C++.
CPP_WORDS = frozenset(_WORDS.split())
