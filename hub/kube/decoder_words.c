/*
 * The walk follows the object's members in their order, as a decoder that reads a text does, beside
 * the schema. What Go's decoder knows of the place is the innermost struct, and the names of the
 * fields on the way; indexes and keys of maps are not in it (encoding/json's errorContext). It goes
 * on after a value that it cannot take, and tells of the first one in the end, unless a type that
 * reads itself ends it before.
 */
#include "kube/decoder_words.h"

#include "base/json.h"
#include "kube/decoder_texts.h"
#include "kube/openapi_names.h"
#include "kube/quantity.h"
#include "kube/schema.h"
#include <errno.h>

struct place {
	const char *structure, *field;
	int depth;
};

struct walk {
	struct buf path; /* "spec.template" */
	struct buf saved, *out;
};

static const struct {
	const char *structure, *field, *type; /* structure NULL: any */
} named_types[] = {
    {"Toleration", "operator", "v1.TolerationOperator"},
    {"NodeSelectorRequirement", "operator", "v1.NodeSelectorOperator"},
    {"LabelSelectorRequirement", "operator", "v1.LabelSelectorOperator"},
    {"PodFailurePolicyOnExitCodesRequirement", "operator",
     "v1.PodFailurePolicyOnExitCodesOperator"},
    {"PodFailurePolicyRule", "action", "v1.PodFailurePolicyAction"},
    {"PodFailurePolicyOnPodConditionsPattern", "type", "v1.PodConditionType"},
    {"Secret", "type", "v1.SecretType"},
    {"HostPathVolumeSource", "type", "v1.HostPathType"},
    {"EmptyDirVolumeSource", "medium", "v1.StorageMedium"},
    {"SeccompProfile", "type", "v1.SeccompProfileType"},
    {"AppArmorProfile", "type", "v1.AppArmorProfileType"},
    {"SecurityContext", "procMount", "v1.ProcMountType"},
    {"PodSecurityContext", "fsGroupChangePolicy", "v1.PodFSGroupChangePolicy"},
    {"PodSecurityContext", "supplementalGroupsPolicy", "v1.SupplementalGroupsPolicy"},
    {"PodSecurityContext", "seLinuxChangePolicy", "v1.PodSELinuxChangePolicy"},
    {"ContainerResizePolicy", "resourceName", "v1.ResourceName"},
    {"ContainerResizePolicy", "restartPolicy", "v1.ResourceResizeRestartPolicy"},
    {"PodReadinessGate", "conditionType", "v1.PodConditionType"},
    {"PodOS", "name", "v1.OSName"},
    {"Container", "restartPolicy", "v1.ContainerRestartPolicy"},
    {"TopologySpreadConstraint", "nodeAffinityPolicy", "v1.NodeInclusionPolicy"},
    {"TopologySpreadConstraint", "nodeTaintsPolicy", "v1.NodeInclusionPolicy"},
    {"LeaseSpec", "strategy", "v1.CoordinatedLeaseStrategy"},
    {"TopologySpreadConstraint", "whenUnsatisfiable", "v1.UnsatisfiableConstraintAction"},
    {"HTTPGetAction", "scheme", "v1.URIScheme"},
    {"JobSpec", "completionMode", "v1.CompletionMode"},
    {"JobSpec", "podReplacementPolicy", "v1.PodReplacementPolicy"},
    {"ManagedFieldsEntry", "operation", "v1.ManagedFieldsOperationType"},
    {"PodFailurePolicyOnPodConditionsPattern", "status", "v1.ConditionStatus"},
    {"JobCondition", "status", "v1.ConditionStatus"},
    {"JobCondition", "type", "v1.JobConditionType"},
    {"NamespaceSpec", "finalizers", "v1.FinalizerName"},
    {"Capabilities", "add", "v1.Capability"},
    {"Capabilities", "drop", "v1.Capability"},
    {NULL, "restartPolicy", "v1.RestartPolicy"},
    {NULL, "dnsPolicy", "v1.DNSPolicy"},
    {NULL, "imagePullPolicy", "v1.PullPolicy"},
    {"ImageVolumeSource", "pullPolicy", "v1.PullPolicy"},
    {NULL, "terminationMessagePolicy", "v1.TerminationMessagePolicy"},
    {NULL, "protocol", "v1.Protocol"},
    {NULL, "effect", "v1.TaintEffect"},
    {NULL, "preemptionPolicy", "v1.PreemptionPolicy"},
    {NULL, "mountPropagation", "v1.MountPropagationMode"},
    {NULL, "volumeMode", "v1.PersistentVolumeMode"},
    {NULL, "accessModes", "v1.PersistentVolumeAccessMode"},
    {NULL, "uid", "types.UID"},
};

/* Structs that others hold without a name of their own: it is in the path, not in the JSON. */
static const struct {
	const char *structure, *field, *embedded; /* field NULL: all, but for a name */
} embedded[] = {
    {"Volume", NULL, "VolumeSource"},
    {"Probe", "exec", "ProbeHandler"},
    {"Probe", "httpGet", "ProbeHandler"},
    {"Probe", "tcpSocket", "ProbeHandler"},
    {"Probe", "grpc", "ProbeHandler"},
    {"ConfigMapKeySelector", "name", "LocalObjectReference"},
    {"SecretKeySelector", "name", "LocalObjectReference"},
    {"ConfigMapEnvSource", "name", "LocalObjectReference"},
    {"SecretEnvSource", "name", "LocalObjectReference"},
    {"ConfigMapVolumeSource", "name", "LocalObjectReference"},
    {"ConfigMapProjection", "name", "LocalObjectReference"},
    {"SecretProjection", "name", "LocalObjectReference"},
};

/* Definitions that stand for several structs, or have a name of their own here. */
static const struct {
	const char *definition, *field, *structure; /* field NULL: any */
} aliases[] = {
    {"TemplateMeta", NULL, "ObjectMeta"},
    {"ResourceClaimReference", NULL, "ResourceClaim"},
    {"ConfigMapProjection", "secret", "SecretProjection"},
    {"PodAffinity", "podAntiAffinity", "PodAntiAffinity"},
    {"OptionalObjectReference", "configMapRef", "ConfigMapEnvSource"},
    {"OptionalObjectReference", "secretRef", "SecretEnvSource"},
};

/* "io.k8s.api.batch.v1.JobSpec" -> "JobSpec". */
static const char *struct_name(const struct place *p, const struct schema *s)
{
	const char *dot = s->name ? strrchr(s->name, '.') : NULL;
	const char *name = dot ? dot + 1 : s->name;

	for (size_t i = 0; name && i < ARRAY_LEN(aliases); i++)
		if (strcmp(aliases[i].definition, name) == 0 &&
		    (!aliases[i].field || strcmp(aliases[i].field, p->field) == 0))
			return aliases[i].structure;
	return name;
}

static const char *named_type(const struct place *p)
{
	for (size_t i = 0; i < ARRAY_LEN(named_types) && p->field; i++)
		if (strcmp(named_types[i].field, p->field) == 0 &&
		    (!named_types[i].structure ||
		     (p->structure && strcmp(named_types[i].structure, p->structure) == 0)))
			return named_types[i].type;
	return "string";
}

/* "VolumeSource." or "". */
static void add_embedded(const char *structure, const char *field, struct buf *path)
{
	for (size_t i = 0; structure && i < ARRAY_LEN(embedded); i++)
		if (strcmp(embedded[i].structure, structure) == 0 &&
		    (embedded[i].field ? strcmp(embedded[i].field, field) == 0
				       : strcmp(field, "name") != 0))
			buf_addf(path, "%s.", embedded[i].embedded);
}

/* The last two labels: "v1.JobSpec". */
static void add_struct_type(const struct place *p, const struct schema *s, struct buf *out)
{
	struct span rest = span_of(s->name), last = SPAN_NONE, package = SPAN_NONE;

	while (rest.len) {
		package = last;
		last = span_split(&rest, '.');
	}
	buf_addf(out, "%.*s.%s", SPAN_ARGS(package), struct_name(p, s));
}

static void add_type(const struct place *p, const struct schema *s, struct buf *out)
{
	switch ((enum schema_type)s->type) {
	case SCHEMA_STRING:
		if (s->format == SCHEMA_DATE_TIME || s->format == SCHEMA_MICRO_TIME)
			buf_add_str(out, "v1.Time");
		else
			buf_add_str(out, s->format == SCHEMA_BYTE ? "[]uint8" : named_type(p));
		break;
	case SCHEMA_INTEGER:
		buf_add_str(out, s->format == SCHEMA_INT32 ? "int32" : "int64");
		break;
	case SCHEMA_NUMBER:
		buf_add_str(out, "float64");
		break;
	case SCHEMA_BOOLEAN:
		buf_add_str(out, "bool");
		break;
	case SCHEMA_INT_OR_STRING:
		buf_add_str(out, "intstr.IntOrString");
		break;
	case SCHEMA_QUANTITY:
		buf_add_str(out, "resource.Quantity");
		break;
	case SCHEMA_MAP:
		if (s->items && s->items->type == SCHEMA_QUANTITY) {
			buf_add_str(out, "v1.ResourceList");
			break;
		}
		buf_add_str(out, "map[string]");
		add_type(p, s->items, out);
		break;
	case SCHEMA_ARRAY:
		buf_add_str(out, "[]");
		add_type(p, s->items, out);
		break;
	case SCHEMA_OBJECT:
		if (s->name)
			add_struct_type(p, s, out);
		else
			buf_add_str(out, "map[string]interface {}");
		break;
	case SCHEMA_ANY:
		buf_add_str(out, "interface {}");
		break;
	}
}

static const char *value_word(const struct cJSON *v)
{
	if (json_is(v, JSON_BOOL))
		return "bool";
	return json_type_name(json_type_of(v));
}

/* A value of the wrong type: the first is kept while the decoder goes on. `type`: of the value that
 * was wanted; NULL: what the schema says. number: the text of one that does not fit is said. */
static void complain(struct walk *w, const struct place *p, const struct schema *s,
		     const struct cJSON *v, bool number, const char *type, struct buf *out)
{
	buf_addf(out, "json: cannot unmarshal %s", value_word(v));
	if (number)
		buf_addf(out, " %.*s", SPAN_ARGS(json_number_text(v)));
	buf_addf(out, " into Go struct field %s.%.*s of type ", p->structure, (int)w->path.len,
		 w->path.ptr);
	if (type)
		buf_add_str(out, type);
	else
		add_type(p, s, out);
}

static bool cannot(struct walk *w, const struct place *p, const struct schema *s,
		   const struct cJSON *v, bool number)
{
	if (!w->saved.len)
		complain(w, p, s, v, number, NULL, &w->saved);
	return false;
}

/* A type that reads itself ends the decoding with its error. */
static bool cannot_itself(struct walk *w, const struct place *p, const struct cJSON *v, bool number,
			  const char *type)
{
	complain(w, p, NULL, v, number, type, w->out);
	return true;
}

static bool check_string(struct walk *w, const struct place *p, const struct schema *s,
			 const struct cJSON *v)
{
	const char *text = json_value_str(v);

	if (s->format == SCHEMA_DATE_TIME || s->format == SCHEMA_MICRO_TIME) {
		if (!text)
			return cannot_itself(w, p, v, false, "string");
		return decoder_time_words(span_of(text), s->format == SCHEMA_MICRO_TIME, w->out);
	}
	if (!text)
		return cannot(w, p, s, v, false);
	if (s->format == SCHEMA_BYTE && !w->saved.len)
		(void)decoder_base64_words(span_of(text), &w->saved);
	return false;
}

static bool is_int32(const struct cJSON *v)
{
	int64_t n = 0;
	return json_value_int64(v, &n) == 0 && n >= INT32_MIN && n <= INT32_MAX;
}

static bool check_scalar(struct walk *w, const struct place *p, const struct schema *s,
			 const struct cJSON *v)
{
	bool number = json_is(v, JSON_NUMBER);
	int64_t n = 0;

	switch ((enum schema_type)s->type) {
	case SCHEMA_STRING:
		return check_string(w, p, s, v);
	case SCHEMA_INTEGER:
		if (!number ||
		    (s->format == SCHEMA_INT32 ? !is_int32(v) : json_value_int64(v, &n) < 0))
			return cannot(w, p, s, v, number);
		return false;
	case SCHEMA_NUMBER:
		return !number && cannot(w, p, s, v, false);
	case SCHEMA_BOOLEAN:
		return !json_is(v, JSON_BOOL) && cannot(w, p, s, v, false);
	case SCHEMA_INT_OR_STRING:
		return !json_is(v, JSON_STRING) && !is_int32(v) &&
		       cannot_itself(w, p, v, number, "int32");
	case SCHEMA_QUANTITY:
		if (quantity_from_node(v, QUANTITY_NEGATIVE, &n) != -EINVAL)
			return false;
		buf_add_str(w->out, quantity_error_text(-EINVAL));
		return true;
	default:
		return false;
	}
}

static bool check(struct walk *w, struct place p, const struct schema *s, const struct cJSON *v);

static bool check_members(struct walk *w, const struct place *p, const struct schema *s,
			  const struct cJSON *object)
{
	size_t before = w->path.len;
	const char *name = struct_name(p, s);

	json_foreach (object, member) {
		const struct schema_field *f = schema_field_find(s, json_key(member));
		struct place inside = {.structure = name ? name : p->structure,
				       .depth = p->depth + 1};
		if (!f || !f->schema)
			continue;
		inside.field = f->name;
		buf_add_str(&w->path, before ? "." : "");
		add_embedded(inside.structure, f->name, &w->path);
		buf_add_str(&w->path, f->name);
		if (check(w, inside, f->schema, member))
			return true;
		w->path.len = before;
	}
	return false;
}

static bool check(struct walk *w, struct place p, const struct schema *s, const struct cJSON *v)
{
	if (json_is(v, JSON_NULL) || p.depth++ > SCHEMA_MAX_DEPTH)
		return false;
	switch ((enum schema_type)s->type) {
	case SCHEMA_ANY:
		return false;
	case SCHEMA_OBJECT:
		if (!json_is(v, JSON_OBJECT))
			return cannot(w, &p, s, v, false);
		return check_members(w, &p, s, v);
	case SCHEMA_MAP:
		if (!json_is(v, JSON_OBJECT))
			return cannot(w, &p, s, v, false);
		json_foreach (v, member)
			if (s->items && check(w, p, s->items, member))
				return true;
		return false;
	case SCHEMA_ARRAY:
		if (!json_is(v, JSON_ARRAY))
			return cannot(w, &p, s, v, false);
		json_foreach (v, item)
			if (s->items && check(w, p, s->items, item))
				return true;
		return false;
	default:
		return check_scalar(w, &p, s, v);
	}
}

bool decoder_words_apply(const struct kind *k)
{
	return k->schema && k->type < KIND_FIRST_USER_TYPE &&
	       openapi_is_own_group(span_of(k->group));
}

bool decoder_words(const struct kind *k, const struct cJSON *object, struct buf *out)
{
	struct walk w = {.out = out};
	/* The root may be shared by kinds: its struct is named after the kind. */
	struct place p = {.depth = 1};
	bool found = false;

	json_foreach (object, member) {
		const struct schema_field *f = schema_field_find(k->schema, json_key(member));
		if (!f || !f->schema)
			continue;
		p.structure = k->kind;
		p.field = f->name;
		buf_clear(&w.path);
		buf_add_str(&w.path, f->name);
		found = check(&w, p, f->schema, member);
		if (found)
			break;
	}
	if (!found && w.saved.len) {
		buf_add_span(out, buf_span(&w.saved));
		found = true;
	}
	buf_done(&w.path);
	buf_done(&w.saved);
	return found;
}
