//! Initialisation and destruction of objects: an address may be used for several objects.

use super::*;

/// Initialises or destroys an object, and records that.
fn lifecycle(object: usize, kind: SyncKind, mut pc: usize, f: &dyn Fn() -> c_int) -> c_int {
    let Some(t) = enter() else { return f() };
    if kind == SyncKind::Destroy {
        // Destructors of global objects run while other threads may still use them: the program
        // ends, and no such use is an error of its schedule.
        if crate::exit::has_begun() {
            let r = f();
            leave(t);
            return r;
        }
        pc = caller(pc);
        access_step(t, Kind::Destroy, pc, (object, 1));
        let r = f();
        put(t, kind, object, r as usize, pc);
        leave(t);
        return r;
    }
    put(t, kind, object, 0, pc);
    let r = f();
    leave(t);
    r
}

macro_rules! lifecycle_fns {
    ($($name:ident = $real:ident ( $($extra:ident)? ), $kind:ident;)*) => {$(
        extern "C-unwind" fn $name(object: usize, $($extra: usize,)? pc: usize) -> c_int {
                lifecycle(object, SyncKind::$kind, pc, &|| {
                    real!($real(object: usize $(, $extra: usize)?) -> c_int)
                })
        }
    )*};
}
lifecycle_fns! {
    mutex_init = pthread_mutex_init(attr), Init;
    mutex_destroy = pthread_mutex_destroy(), Destroy;
    rwlock_init = pthread_rwlock_init(attr), Init;
    rwlock_destroy = pthread_rwlock_destroy(), Destroy;
    cond_init = pthread_cond_init(attr), Init;
    cond_destroy = pthread_cond_destroy(), Destroy;
    spin_init = pthread_spin_init(shared), Init;
    spin_destroy = pthread_spin_destroy(), Destroy;
    barrier_destroy = pthread_barrier_destroy(), Destroy;
    sem_destroy_fn = sem_destroy(), Destroy;
    mtx_init_fn = mtx_init(kind), Init;
    cnd_init_fn = cnd_init(), Init;
}

macro_rules! void_lifecycle_fns {
    ($($name:ident = $real:ident;)*) => {$(
        extern "C-unwind" fn $name(object: usize, pc: usize) {
                lifecycle(object, SyncKind::Destroy, pc, &|| {
                    real!($real(object: usize));
                    0
                });
        }
    )*};
}
void_lifecycle_fns! {
    mtx_destroy_fn = mtx_destroy;
    cnd_destroy_fn = cnd_destroy;
}

entries! {
    pthread_mutex_init => mutex_init, "rdx";
    pthread_mutex_destroy => mutex_destroy, "rsi";
    pthread_spin_init => spin_init, "rdx";
    pthread_spin_destroy => spin_destroy, "rsi";
    pthread_rwlock_init => rwlock_init, "rdx";
    pthread_rwlock_destroy => rwlock_destroy, "rsi";
    pthread_cond_init => cond_init, "rdx";
    pthread_cond_destroy => cond_destroy, "rsi";
    pthread_barrier_destroy => barrier_destroy, "rsi";
    sem_destroy => sem_destroy_fn, "rsi";
    mtx_init => mtx_init_fn, "rdx";
    mtx_destroy => mtx_destroy_fn, "rsi";
    cnd_init => cnd_init_fn, "rsi";
    cnd_destroy => cnd_destroy_fn, "rsi";
}
