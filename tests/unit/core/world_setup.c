#include "world.h"

int world_setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

int world_teardown(void **state)
{
	world_close(*state);
	free(*state);
	return 0;
}

void world_space(struct world *w, const char *ns)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s'}}", ns);
	assert_int_equal(world_create(w, TYPE_NAMESPACE, text), ERR_NONE);
}

void world_policy(struct world *w, const char *ns, const char *more)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'policy.karmada.io/v1alpha1','kind':'PropagationPolicy',"
		       "'metadata':{'name':'p','namespace':'%s'},'spec':{'resourceSelectors':[{"
		       "'apiVersion':'batch/v1','kind':'Job'}],'placement':{"
		       "'customSchedulingType':'Gang'}%s}}",
		       ns, more);
	assert_int_equal(world_create(w, TYPE_PROPAGATION_POLICY, text), ERR_NONE);
}

static void add_root(struct buf *b, int max_root, int max_a)
{
	buf_addf(b,
		 "'root':{'name':'root','min':{'cpu':%d},'max':{'cpu':%d},'children':[{'name':'a',"
		 "'namespaces':['team-a'],'min':{'cpu':4},'max':{'cpu':%d}},{'name':'b',"
		 "'namespaces':['team-b'],'min':{'cpu':4},'max':{'cpu':12}}]}",
		 max_root, max_root, max_a);
}

char *world_tree_text(const char *name, int max_root, int max_a)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree',"
		 "'metadata':{'name':'%s','namespace':'kube-system'},'spec':{",
		 name);
	add_root(&b, max_root, max_a);
	buf_add_str(&b, "}}");
	return buf_steal(&b, NULL);
}

enum err_kind world_edit_tree(struct world *w, int max_root, int max_a)
{
	auto_buf b = BUF_INIT;

	buf_add_str(&b, "{'spec':{");
	add_root(&b, max_root, max_a);
	buf_add_str(&b, "}}");
	return world_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree", b.ptr);
}

void world_unjoin(struct world *w, const char *name)
{
	(void)world_delete(w, TYPE_CLUSTER, "", name);
}

void world_teams(struct world *w, int max_root, int max_a)
{
	auto_free char *tree = world_tree_text("tree", max_root, max_a);

	world_space(w, "team-a");
	world_space(w, "team-b");
	assert_int_equal(world_create(w, TYPE_ELASTIC_QUOTA_TREE, tree), ERR_NONE);
	world_policy(w, "team-a", ",'suspension':{'scheduling':true}");
	world_policy(w, "team-b", ",'suspension':{'scheduling':true}");
}
