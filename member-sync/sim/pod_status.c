#include "member-sync/sim/pod_status.h"
#include "member-sync/sim/pod_codec.h"

/* The kubelet's CrashLoopBackOff: 10 s, doubled up to 5 min. */
#define FIRST_BACKOFF (10 * USEC_PER_SEC)
#define MOST_BACKOFF  (300 * USEC_PER_SEC)

static usec backoff(int32_t restarts)
{
	usec wait = FIRST_BACKOFF;
	while (restarts-- > 0 && wait < MOST_BACKOFF)
		wait *= 2;
	return wait < MOST_BACKOFF ? wait : MOST_BACKOFF;
}

enum pod_next pod_status_decide(const struct sim_pod *p, usec now, int32_t time_scale, usec *ret_at)
{
	*ret_at = 0;
	if (p->lost && !sim_pod_over(p))
		return POD_NEXT_LOST;
	if (p->node_gone)
		return POD_NEXT_REMOVE;
	if (sim_pod_over(p) || p->phase != POD_RUNNING)
		return POD_NEXT_NOTHING;
	if (!p->started) {
		usec at = p->ended + backoff(p->restarts) / time_scale;
		*ret_at = now < at ? at : 0;
		return now < at ? POD_NEXT_NOTHING : POD_NEXT_START;
	}
	if (p->forever)
		return POD_NEXT_NOTHING;
	usec end = p->started + p->duration / time_scale;
	if (now < end) {
		*ret_at = end;
		return POD_NEXT_NOTHING;
	}
	enum pod_restart restart = p->class->restart;
	if (restart == POD_RESTART_ALWAYS ||
	    (restart == POD_RESTART_ON_FAILURE && p->exit_code != 0)) {
		*ret_at = now + backoff(p->restarts) / time_scale;
		return POD_NEXT_BACKOFF;
	}
	return p->exit_code ? POD_NEXT_FAILED : POD_NEXT_SUCCEEDED;
}

static const char *phase_name(enum pod_phase phase)
{
	static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
	return names[phase];
}

static void print_condition(struct buf *out, const char *type, bool status, const char *reason,
			    const char *message, usec at)
{
	char time[CLOCK_TEXT_MAX];
	buf_addf(out,
		 "{\"type\":\"%s\",\"status\":\"%s\",\"lastProbeTime\":null,"
		 "\"lastTransitionTime\":\"%s\"",
		 type, status ? "True" : "False", clock_format(at, time));
	if (reason)
		buf_addf(out, ",\"reason\":\"%s\"", reason);
	if (message) {
		buf_add_str(out, ",\"message\":");
		buf_add_json_str(out, span_of(message));
	}
	buf_add_char(out, '}');
}

static void print_conditions(const struct sim_pod *p, usec now, struct buf *out)
{
	bool ready = p->phase == POD_RUNNING && p->started && !p->unheard;
	const char *reason = NULL;
	if (p->phase == POD_SUCCEEDED)
		reason = "PodCompleted";
	else if (p->phase == POD_FAILED)
		reason = "PodFailed";
	else if (!ready)
		reason = "ContainersNotReady";
	buf_add_str(out, "\"conditions\":[");
	if (p->lost) {
		print_condition(out, "DisruptionTarget", true, "DeletionByPodGC",
				"PodGC: node no longer exists or is not ready", now);
		buf_add_char(out, ',');
	}
	print_condition(out, "Initialized", true, NULL, NULL, p->start_time);
	buf_add_char(out, ',');
	print_condition(out, "Ready", ready, reason, NULL, now);
	buf_add_char(out, ',');
	print_condition(out, "ContainersReady", ready, reason, NULL, now);
	buf_add_char(out, ',');
	print_condition(out, "PodScheduled", true, NULL, NULL, p->start_time);
	buf_add_char(out, ']');
}

static void print_terminated(const struct sim_pod *p, struct buf *out)
{
	char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
	int32_t code = p->lost ? 137 : p->exit_code;
	buf_addf(out,
		 "{\"terminated\":{\"exitCode\":%d,\"reason\":\"%s\",\"startedAt\":\"%s\","
		 "\"finishedAt\":\"%s\"}}",
		 code, code ? "Error" : "Completed", clock_format(p->started, from),
		 clock_format(p->ended, to));
}

static void print_container(const struct sim_pod *p, const struct sim_container *c, struct buf *out)
{
	char time[CLOCK_TEXT_MAX];
	bool runs = p->phase == POD_RUNNING && p->started;
	buf_add_str(out, "{\"name\":");
	buf_add_json_str(out, span_of(c->name));
	buf_add_str(out, ",\"image\":");
	buf_add_json_str(out, span_of(c->image));
	buf_addf(
	    out,
	    ",\"imageID\":\"\",\"ready\":%s,\"started\":%s,\"restartCount\":%d,\"lastState\":{}"
	    ",\"state\":",
	    runs ? "true" : "false", runs ? "true" : "false", p->restarts);
	if (runs)
		buf_addf(out, "{\"running\":{\"startedAt\":\"%s\"}}",
			 clock_format_micro(p->started, time));
	else if (p->phase == POD_RUNNING)
		buf_addf(out,
			 "{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"since %s\"}}",
			 clock_format(p->ended, time));
	else
		print_terminated(p, out);
	buf_add_char(out, '}');
}

static void print_pending(const struct sim_pod *p, const char *why, usec now, struct buf *out)
{
	buf_add_str(out, "{\"phase\":\"Pending\"");
	if (why) {
		buf_add_str(out, ",\"conditions\":[");
		print_condition(out, "PodScheduled", false, "Unschedulable", why, now);
		buf_add_char(out, ']');
	}
	buf_add_str(out, ",\"qosClass\":\"Burstable\"}");
}

void pod_status_print(const struct sim_pod *p, const char *why, usec now, struct buf *out)
{
	char time[CLOCK_TEXT_MAX], ip[32];
	if (p->phase == POD_PENDING) {
		print_pending(p, why, now, out);
		return;
	}
	buf_addf(out, "{\"phase\":\"%s\",", phase_name(p->phase));
	print_conditions(p, now, out);
	if (p->lost)
		buf_add_str(out, ",\"reason\":\"" POD_CODEC_LOST
				 "\",\"message\":\"The node of this pod was "
				 "lost\"");
	snprintf(ip, sizeof(ip), "10.%u.%u.%u", 128 + (p->address >> 16) % 127,
		 (p->address >> 8) & 255, p->address & 255);
	buf_addf(out,
		 ",\"hostIP\":\"10.0.0.1\",\"podIP\":\"%s\",\"podIPs\":[{\"ip\":\"%s\"}],"
		 "\"startTime\":\"%s\",\"containerStatuses\":[",
		 ip, ip, clock_format(p->start_time, time));
	for (size_t i = 0; i < p->class->n_containers; i++) {
		if (i)
			buf_add_char(out, ',');
		print_container(p, &p->class->containers[i], out);
	}
	buf_add_str(out, "],\"qosClass\":\"Burstable\"}");
}
