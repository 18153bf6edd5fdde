#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>

static usec read_clock(clockid_t id)
{
	struct timespec ts;
	if (clock_gettime(id, &ts) != 0)
		abort();
	return (usec)ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000;
}

usec clock_now(void)
{
	return read_clock(CLOCK_REALTIME);
}

usec clock_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

usec clock_thread_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void split(usec t, struct tm *ret_tm, int *ret_micro)
{
	int64_t sec = t / USEC_PER_SEC;
	int64_t micro = t % USEC_PER_SEC;
	if (micro < 0) {
		micro += USEC_PER_SEC;
		sec--;
	}
	time_t tt = (time_t)sec;
	(void)gmtime_r(&tt, ret_tm);
	*ret_micro = (int)micro;
}

static char *two_digits(char *at, int v, char behind)
{
	at[0] = (char)('0' + v / 10);
	at[1] = (char)('0' + v % 10);
	at[2] = behind;
	return at + 3;
}

/* strftime() would write the year 1 as "1", and printf() costs as much as the rest of a small
 * object. */
static size_t format_seconds(const struct tm *tm, char out[CLOCK_TEXT_MAX])
{
	int year = tm->tm_year + 1900;
	char *at = out;

	if (year < 0 || year > 9999) {
		int n = snprintf(out, CLOCK_TEXT_MAX, "%04d-", year);
		at += n > 0 ? n : 0;
	} else {
		(void)two_digits(at, year / 100, '0');
		at = two_digits(at + 2, year % 100, '-');
	}
	at = two_digits(at, tm->tm_mon + 1, '-');
	at = two_digits(at, tm->tm_mday, 'T');
	at = two_digits(at, tm->tm_hour, ':');
	at = two_digits(at, tm->tm_min, ':');
	return (size_t)(two_digits(at, tm->tm_sec, '\0') - out) - 1;
}

const char *clock_format(usec t, char out[CLOCK_TEXT_MAX])
{
	struct tm tm;
	int micro;
	split(t, &tm, &micro);
	memcpy(out + format_seconds(&tm, out), "Z", 2);
	return out;
}

const char *clock_format_micro(usec t, char out[CLOCK_TEXT_MAX])
{
	struct tm tm;
	int micro;
	split(t, &tm, &micro);
	size_t n = format_seconds(&tm, out);
	(void)snprintf(out + n, CLOCK_TEXT_MAX - n, ".%06dZ", micro);
	return out;
}

static bool digits(struct span s, size_t at, size_t n, int *ret)
{
	int v = 0;
	if (at + n > s.len)
		return false;
	for (size_t i = at; i < at + n; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
		v = v * 10 + (s.ptr[i] - '0');
	}
	*ret = v;
	return true;
}

static bool parse_fraction(struct span s, size_t *at, int64_t *ret_micro)
{
	int64_t unit = 100000;
	size_t start = ++*at;
	while (*at < s.len && s.ptr[*at] >= '0' && s.ptr[*at] <= '9') {
		*ret_micro += (s.ptr[*at] - '0') * unit;
		unit /= 10;
		++*at;
	}
	return *at > start;
}

static bool parse_zone(struct span s, size_t at, int64_t *ret_offset_sec)
{
	int h, m;
	if (at + 1 == s.len && (s.ptr[at] == 'Z' || s.ptr[at] == 'z')) {
		*ret_offset_sec = 0;
		return true;
	}
	if (at + 6 != s.len || (s.ptr[at] != '+' && s.ptr[at] != '-') || s.ptr[at + 3] != ':' ||
	    !digits(s, at + 1, 2, &h) || !digits(s, at + 4, 2, &m) || h > 23 || m > 59)
		return false;
	*ret_offset_sec = (h * 3600 + m * 60) * (s.ptr[at] == '-' ? -1 : 1);
	return true;
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return days[month - 1] + (leap && month == 2);
}

int clock_parse(struct span s, usec *ret)
{
	int y, mo, d, h, mi, sec;
	int64_t micro = 0, offset;
	size_t at = 19;

	if (!digits(s, 0, 4, &y) || !digits(s, 5, 2, &mo) || !digits(s, 8, 2, &d) ||
	    !digits(s, 11, 2, &h) || !digits(s, 14, 2, &mi) || !digits(s, 17, 2, &sec))
		return -EINVAL;
	if (s.ptr[4] != '-' || s.ptr[7] != '-' || (s.ptr[10] != 'T' && s.ptr[10] != 't') ||
	    s.ptr[13] != ':' || s.ptr[16] != ':')
		return -EINVAL;
	if (mo < 1 || mo > 12 || d < 1 || d > days_in(y, mo) || h > 23 || mi > 59 || sec > 60)
		return -EINVAL;
	if (at < s.len && s.ptr[at] == '.' && !parse_fraction(s, &at, &micro))
		return -EINVAL;
	if (at >= s.len || !parse_zone(s, at, &offset))
		return -EINVAL;
	struct tm tm = {.tm_year = y - 1900,
			.tm_mon = mo - 1,
			.tm_mday = d,
			.tm_hour = h,
			.tm_min = mi,
			.tm_sec = sec};
	*ret = ((usec)timegm(&tm) - offset) * USEC_PER_SEC + micro;
	return 0;
}

static const char *two_units(char out[CLOCK_TEXT_MAX], int64_t a, char ua, int64_t b, char ub)
{
	if (b)
		(void)snprintf(out, CLOCK_TEXT_MAX, "%" PRId64 "%c%" PRId64 "%c", a, ua, b, ub);
	else
		(void)snprintf(out, CLOCK_TEXT_MAX, "%" PRId64 "%c", a, ua);
	return out;
}

const char *clock_human(usec duration, char out[CLOCK_TEXT_MAX])
{
	int64_t s = duration > 0 ? duration / USEC_PER_SEC : 0;
	int64_t m = s / 60, h = s / 3600, d = s / 86400;
	if (s < 120)
		return two_units(out, s, 's', 0, 0);
	if (m < 10)
		return two_units(out, m, 'm', s % 60, 's');
	if (m < 180)
		return two_units(out, m, 'm', 0, 0);
	if (h < 8)
		return two_units(out, h, 'h', m % 60, 'm');
	if (h < 48)
		return two_units(out, h, 'h', 0, 0);
	if (h < 192)
		return two_units(out, d, 'd', h % 24, 'h');
	if (h < 24 * 365 * 2)
		return two_units(out, d, 'd', 0, 0);
	if (h < 24 * 365 * 8)
		return two_units(out, d / 365, 'y', d % 365, 'd');
	return two_units(out, d / 365, 'y', 0, 0);
}
