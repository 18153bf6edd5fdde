/*
 * A hand-made ProvisioningRequest that several jobs share: what one has not taken stays claimed
 * for the others.
 */
#include "provisioning_words.h"

#include "core/job.h"
#include "core/provisioning/request_share.h"

/* Two nodes of 8 cpus came for four pods of 3: 12 of 16 cpus are claimed. */
static struct model *provisioned(struct world *w)
{
	struct model *m = world_join(w, "c1", 0, 8);

	m->run_time = 3600 * USEC_PER_SEC;
	big_template(w);
	create(w, TYPE_PROVISIONING_REQUEST,
	       "{'apiVersion':'autoscaling.x-k8s.io/v1','kind':'ProvisioningRequest','metadata':"
	       "{'name':'r','namespace':'default'},'spec':{'provisioningClassName':"
	       "'queued-provisioning.gke.io','podSets':[{'count':4,'podTemplateRef':{'name':"
	       "'pod'}}]}}");
	world_settle(w);
	model_provision_node(m, "queued-1", NULL);
	model_provision_node(m, "queued-2", NULL);
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED));
	return m;
}

static void what_the_first_leaves_is_kept_for_the_second(void **state)
{
	struct world *w = *state;
	struct model *m = provisioned(w);

	consumer(w, "one", "r");
	assert_non_null(sent(w, m, "one"));
	anybody(w, "lurks", 3); /* 10 cpus are free, 6 of them claimed: 2 on each node */
	assert_null(sent(w, m, "lurks"));
	world_restart(w);
	assert_null(sent(w, m, "lurks"));
	consumer(w, "two", "r");
	assert_non_null(sent(w, m, "two"));
	assert_null(sent(w, m, "lurks"));
	/* Used up: what one of them gives back is anybody's. */
	model_finish(m, model_copy(m, "default", "one"), false);
	assert_non_null(sent(w, m, "lurks"));
}

static void a_third_finds_no_more_than_what_is_free(void **state)
{
	struct world *w = *state;
	struct model *m = provisioned(w);

	consumer(w, "one", "r");
	consumer(w, "two", "r");
	consumer(w, "three", "r");
	assert_non_null(sent(w, m, "one"));
	assert_non_null(sent(w, m, "two"));
	assert_null(sent(w, m, "three"));
	model_finish(m, model_copy(m, "default", "one"), false);
	assert_non_null(sent(w, m, "three"));
}

static void the_rest_is_free_when_the_booking_expires(void **state)
{
	struct world *w = *state;
	struct model *m = provisioned(w);

	consumer(w, "one", "r");
	anybody(w, "lurks", 3);
	assert_null(sent(w, m, "lurks"));
	of_request(w, m, "r", CONDITIONS(ACCEPTED "," PROVISIONED "," EXPIRED));
	assert_non_null(sent(w, m, "lurks"));
}

static void the_rest_is_free_when_the_request_is_deleted(void **state)
{
	struct world *w = *state;
	struct model *m = provisioned(w);

	consumer(w, "one", "r");
	anybody(w, "lurks", 3);
	assert_null(sent(w, m, "lurks"));
	assert_int_equal(world_delete(w, TYPE_PROVISIONING_REQUEST, "default", "r"), ERR_NONE);
	assert_non_null(sent(w, m, "lurks"));
}

/* Its share was counted when it was placed first; the rest is the others' still. */
static void a_consumer_that_is_placed_again_takes_nothing_more(void **state)
{
	struct world *w = *state;
	struct model *m = provisioned(w);

	consumer(w, "one", "r");
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", "{'spec':{'suspend':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_false(world_record(w, TYPE_JOB, "default", "one")->holds);
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", "{'spec':{'suspend':false}}"),
			 ERR_NONE);
	world_settle(w);
	assert_true(world_record(w, TYPE_JOB, "default", "one")->holds);
	/* Where its pods stand is the member's scheduler's to decide: two are claimed beside them.
	 */
	const struct provisioning_request *r = request_find(w->core, SPAN("default"), SPAN("r"));
	assert_true(r->claimed);
	assert_int_equal(request_share_left(r, 0, 4), 2);
	consumer(w, "two", "r");
	assert_non_null(sent(w, m, "two"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(what_the_first_leaves_is_kept_for_the_second),
	    STORY(a_third_finds_no_more_than_what_is_free),
	    STORY(the_rest_is_free_when_the_booking_expires),
	    STORY(the_rest_is_free_when_the_request_is_deleted),
	    STORY(a_consumer_that_is_placed_again_takes_nothing_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
