#ifndef TESTS_SIM_SIM_TEST_H
#define TESTS_SIM_SIM_TEST_H
/* What every test of the simulator includes first, in the order that cmocka wants. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"

#define T0 ((usec)1700000000 * USEC_PER_SEC)
#define S  USEC_PER_SEC

#endif
