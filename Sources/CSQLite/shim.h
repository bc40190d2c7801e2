// SQLite, and functions for what it hides behind macros and variadic calls.
#ifndef KITH_CSQLITE_SHIM_H
#define KITH_CSQLITE_SHIM_H
#include <sqlite3.h>

static inline sqlite3_destructor_type kith_sqlite_static(void) { return SQLITE_STATIC; }
static inline sqlite3_destructor_type kith_sqlite_transient(void) { return SQLITE_TRANSIENT; }

// sqlite3_db_config is variadic, which Swift cannot call: one function for the options that take a switch.
static inline int kith_sqlite_set_option(sqlite3 *database, int option, int isOn) {
    return sqlite3_db_config(database, option, isOn, (int *)0);
}
#endif
