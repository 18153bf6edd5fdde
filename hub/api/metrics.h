#ifndef API_METRICS_H
#define API_METRICS_H
/*
 * Counts of one front, named and labelled as kube-apiserver names them (its
 * endpoints/metrics/metrics.go), in Prometheus' text format 0.0.4.
 *
 * A series is one (verb, group, version, resource, subresource, scope). Its labels come from the
 * kinds that are served and from fixed words, never from what a client wrote; there are at most
 * METRICS_MAX_SERIES of them, and what comes after goes to one series without a resource.
 *
 * The loop alone counts. It takes a copy (metrics_copy) that any thread may print: printing takes
 * longer than a loop may work at a stretch. Series live as long as the metrics.
 */
#include "api/request_info.h"
#include "api/turn_clock.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/kind.h"
#include <stdint.h>

#define METRICS_MAX_SERIES 1024
#define METRICS_BUCKETS	   23
#define METRICS_CODES	   12

struct metrics_labels {
	const char *verb; /* static: "GET", "LIST", ... */
	const char *group, *version, *resource, *subresource;
	const char *scope; /* static: "cluster", "namespace", "resource" or "" */
};

struct metrics_series {
	struct metrics_labels labels;	      /* strings owned by the series */
	uint64_t bucket[METRICS_BUCKETS + 1]; /* last: beyond all bounds */
	uint64_t count;
	usec sum;
	struct {
		int code;
		uint64_t n;
	} codes[METRICS_CODES]; /* the last takes what finds no place, as code 0 */
	int64_t open;		/* long-running requests under way */
	uint64_t events;	/* told to watchers */
};

#define METRICS_RECENT 64

struct metrics {
	struct map by_labels;			       /* -> struct metrics_series */
	struct metrics_series *recent[METRICS_RECENT]; /* by type and verb, found without a key */
	struct VEC(struct metrics_series *) series;
	uint64_t watch_closed_slow;
	int64_t watches;
};

void metrics_done(struct metrics *m);

/* The series of a request. kind NULL: of no kind that is served. Never NULL; borrowed. */
struct metrics_series *metrics_series(struct metrics *m, const struct request_info *i,
				      enum http_method method, const struct kind *kind);
/* An answer was given, `duration` after the request was there. */
void metrics_count(struct metrics_series *s, int code, usec duration);

/* Gauges that others keep. */
struct metrics_gauges {
	size_t executing_read, executing_write, waiting, connections;
	uint64_t dispatched, exempt, refused;
	size_t seats, seats_taken, flows;
	uint64_t audit_events, audit_lost;
	struct turn_times turns; /* of the loop */
};

/* What metrics_print() reads: a copy that stays as it is. */
struct metrics_copy {
	struct metrics_series *series; /* owned; label strings are the metrics' */
	size_t n;
	uint64_t watch_closed_slow;
	int64_t watches;
	struct metrics_gauges gauges;
};
void metrics_copy(const struct metrics *m, const struct metrics_gauges *g,
		  struct metrics_copy *ret);
void metrics_copy_done(struct metrics_copy *c);
void metrics_print(const struct metrics_copy *c, struct buf *out);

/* A label's value: quote, backslash and newline escaped. */
void metrics_add_label(struct buf *out, struct span value);
/* Seconds with six digits behind the point. */
void metrics_add_seconds(struct buf *out, usec t);

#endif
