#include "member-sync/sim/scheduler_priv.h"

static bool term_selects(const struct scheduler_term *t, struct span own_ns,
			 const struct scheduler_pod *p)
{
	bool ns = t->n_namespaces == 0 && span_eq(own_ns, p->ns);
	for (size_t i = 0; i < t->n_namespaces && !ns; i++)
		ns = span_eq(t->namespaces[i], p->ns);
	return ns && scheduler_match(t->requirements, t->n_requirements, p->labels, p->n_labels);
}

static struct span domain_of(const struct scheduler_node *n, struct span key)
{
	const struct info_pair *l = scheduler_find_label(n->info.labels, n->info.n_labels, key);
	return l ? l->value : SPAN_NONE;
}

/* Domains of one topology key where pods are that a term selects. */
struct domains {
	struct map found;
};

static void find_domains(const struct scheduler *s, const struct scheduler_term *t, struct span ns,
			 struct domains *ret)
{
	vec_foreach (&s->nodes, it) {
		struct span domain = (*it)->gone ? SPAN_NONE : domain_of(*it, t->topology_key);
		if (!domain.ptr || map_has(&ret->found, domain))
			continue;
		for (const struct scheduler_pod *p = (*it)->pods; p; p = p->next)
			if (term_selects(t, ns, p)) {
				map_put(&ret->found, domain, *it);
				break;
			}
	}
}

/* Marks the nodes that terms forbid. `banned` has a flag per node slot. */
static void apply_term(const struct scheduler *s, const struct scheduler_pod *p,
		       const struct scheduler_term *t, bool *banned)
{
	struct domains d = {MAP_INIT};
	find_domains(s, t, p->ns, &d);
	/* The first pod of a group that asks for itself may go anywhere (upstream's rule). */
	bool first = !t->anti && d.found.len == 0 && term_selects(t, p->ns, p);
	for (size_t i = 0; i < s->nodes.len; i++) {
		struct span domain = domain_of(s->nodes.items[i], t->topology_key);
		bool has = domain.ptr && map_has(&d.found, domain);
		banned[i] |= t->anti ? has : !domain.ptr || (!first && !has);
	}
	map_done(&d.found);
}

/* Anti-affinity is mutual: bound pods keep others out of their domain. */
static void apply_others(const struct scheduler *s, const struct scheduler_pod *p, bool *banned)
{
	vec_foreach (&s->nodes, it) {
		for (const struct scheduler_pod *o = (*it)->pods; o; o = o->next) {
			const struct scheduler_needs *needs = &o->shape->needs;
			for (size_t t = 0; t < needs->n_terms; t++) {
				struct span key = needs->terms[t].topology_key;
				struct span domain = domain_of(*it, key);
				if (!needs->terms[t].anti || !domain.ptr ||
				    !term_selects(&needs->terms[t], o->ns, p))
					continue;
				for (size_t i = 0; i < s->nodes.len; i++)
					banned[i] |=
					    span_eq(domain_of(s->nodes.items[i], key), domain);
			}
		}
	}
}

void scheduler_apply_terms(const struct scheduler *s, const struct scheduler_pod *p, bool *banned)
{
	const struct scheduler_needs *needs = &p->shape->needs;
	for (size_t t = 0; t < needs->n_terms; t++)
		apply_term(s, p, &needs->terms[t], banned);
	if (s->n_anti)
		apply_others(s, p, banned);
}
