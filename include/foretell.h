/* Markers with which a C or C++ program tells Foretell what is meant to be atomic.
 *
 *     FORETELL_ATOMIC_BEGIN("transfer");
 *     from->balance -= amount;
 *     to->balance += amount;
 *     FORETELL_ATOMIC_END();
 *
 * In C++ a scope can be an atomic block: FORETELL_ATOMIC_SCOPE("transfer");
 *
 * In a program that was not built with `foretell cc` the markers do nothing: the functions
 * behind them are weak references without a definition.
 */
#ifndef FORETELL_H
#define FORETELL_H

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak)) void foretell_atomic_begin(const char *label);
__attribute__((weak)) void foretell_atomic_end(void);

#ifdef __cplusplus
}
#endif

/* Start of an atomic block. The label is for people and may be NULL. */
#define FORETELL_ATOMIC_BEGIN(label)           \
    do {                                       \
        if (foretell_atomic_begin)             \
            foretell_atomic_begin(label);      \
    } while (0)

/* End of the innermost atomic block of this thread. */
#define FORETELL_ATOMIC_END()                  \
    do {                                       \
        if (foretell_atomic_end)               \
            foretell_atomic_end();             \
    } while (0)

#ifdef __cplusplus
namespace foretell {

/* An atomic block that lasts as long as the object. */
class AtomicScope {
public:
    explicit AtomicScope(const char *label = nullptr) { FORETELL_ATOMIC_BEGIN(label); }
    ~AtomicScope() { FORETELL_ATOMIC_END(); }
    AtomicScope(const AtomicScope &) = delete;
    AtomicScope &operator=(const AtomicScope &) = delete;
};

} // namespace foretell

#define FORETELL_JOIN2(a, b) a##b
#define FORETELL_JOIN(a, b) FORETELL_JOIN2(a, b)
/* Makes the rest of the enclosing scope an atomic block. */
#define FORETELL_ATOMIC_SCOPE(label) \
    ::foretell::AtomicScope FORETELL_JOIN(foretell_scope_, __LINE__)(label)
#endif

#endif
