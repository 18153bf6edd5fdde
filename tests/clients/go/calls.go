package main

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var jobsResource = schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1",
	Resource: "pytorchjobs"}

type object = map[string]any

func trainingJob(name string, labels object) *unstructured.Unstructured {
	container := object{"name": "pytorch", "image": "registry.example/train:1"}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
		"metadata": object{"name": name, "namespace": namespace, "labels": labels},
		"spec": object{
			"runPolicy": object{"suspend": true},
			"pytorchReplicaSpecs": object{"Master": object{
				"template": object{"spec": object{"containers": []any{container}}}}},
		}}}
}

// Server-side apply with the dynamic client.
func apply(ctx context.Context, config *rest.Config) {
	d, err := dynamic.NewForConfig(config)
	must(err, "the dynamic client")
	jobs := d.Resource(jobsResource).Namespace(namespace)
	one := metav1.ApplyOptions{FieldManager: "one"}
	two := metav1.ApplyOptions{FieldManager: "two"}

	made, err := jobs.Apply(ctx, "applied", trainingJob("applied", object{"a": "1", "b": "1"}), one)
	must(err, "apply")
	// The hub may stand there, too, for the status that it wrote in between.
	owners := []string{}
	for _, entry := range made.GetManagedFields() {
		if entry.Manager != "musterd" || entry.Subresource != "status" {
			owners = append(owners, entry.Manager+" "+string(entry.Operation))
		}
	}
	check(made.GetUID() != "" && strings.Join(owners, ",") == "one Apply", "apply creates, with an owner",
		made.GetManagedFields())
	again, err := jobs.Apply(ctx, "applied", trainingJob("applied", object{"a": "1", "b": "1"}), one)
	must(err, "apply again")
	check(again.GetGeneration() == made.GetGeneration() && again.GetLabels()["b"] == "1",
		"applied again it is the same", again.GetGeneration())

	other := &unstructured.Unstructured{Object: object{"apiVersion": "kubeflow.org/v1",
		"kind": "PyTorchJob", "metadata": object{"name": "applied", "labels": object{"b": "2"}}}}
	_, err = jobs.Apply(ctx, "applied", other, two)
	check(errors.IsConflict(err) && strings.Contains(err.Error(), `conflict with "one"`),
		"another manager hears of a conflict", err)
	status := err.(errors.APIStatus).Status()
	check(len(status.Details.Causes) == 1 &&
		status.Details.Causes[0].Type == metav1.CauseTypeFieldManagerConflict &&
		status.Details.Causes[0].Field == ".metadata.labels.b", "which names the field", status)
	two.Force = true
	_, err = jobs.Apply(ctx, "applied", other, two)
	must(err, "apply by force")
	left, err := jobs.Apply(ctx, "applied", trainingJob("applied", object{}), one)
	must(err, "apply with less")
	check(len(left.GetLabels()) == 1 && left.GetLabels()["b"] == "2",
		"what one does not say any more is gone, what two took stays", left.GetLabels())
	must(jobs.Delete(ctx, "applied", metav1.DeleteOptions{}), "delete")
}

// The generated clientset, which sends protobuf.
func typed(ctx context.Context, config *rest.Config) {
	c, err := kubernetes.NewForConfig(config)
	must(err, "the clientset")
	maps := c.CoreV1().ConfigMaps(namespace)
	made, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "typed-"}, Data: map[string]string{"a": "1"},
	}, metav1.CreateOptions{})
	must(err, "create")
	stale := made.DeepCopy()
	made.Data["a"] = "2"
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	must(err, "update")
	_, err = maps.Update(ctx, stale, metav1.UpdateOptions{})
	check(errors.IsConflict(err), "an update from a stale reading is a conflict", err)
	named := applycorev1.ConfigMap(made.Name, namespace).WithData(map[string]string{"b": "1"})
	both, err := maps.Apply(ctx, named, metav1.ApplyOptions{FieldManager: "typed"})
	must(err, "apply")
	check(both.Data["a"] == "2" && both.Data["b"] == "1", "a typed apply merges", both.Data)
	uid := both.UID
	wrong := uid + "x"
	err = maps.Delete(ctx, made.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &wrong}})
	check(errors.IsConflict(err), "a delete of another uid is a conflict", err)
	must(maps.Delete(ctx, made.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}}), "delete")
	_, err = maps.Get(ctx, made.Name, metav1.GetOptions{})
	check(errors.IsNotFound(err), "gone", err)
	_, err = c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{})
	check(errors.IsForbidden(err), "nothing beyond the role", err)
	details := err.(errors.APIStatus).Status().Details
	check(details != nil && details.Kind == "namespaces", "and the details name the resource", details)
}

// controller-runtime's client: status patches, of a custom kind and a typed one.
func statuses(ctx context.Context, config *rest.Config) {
	c, err := client.New(config, client.Options{})
	must(err, "controller-runtime's client")
	job := trainingJob("patched", object{})
	must(c.Create(ctx, job), "create")
	before := job.DeepCopy()
	conditions := []any{object{"type": "Noted", "status": "True", "reason": "Test", "message": "x"}}
	must(unstructured.SetNestedSlice(job.Object, conditions, "status", "conditions"), "set")
	must(unstructured.SetNestedField(job.Object, false, "spec", "runPolicy", "suspend"), "set")
	must(c.Status().Patch(ctx, job, client.MergeFrom(before)), "a status patch")
	must(c.Get(ctx, client.ObjectKeyFromObject(job), job), "get")
	found, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "runPolicy", "suspend")
	noted := false
	for _, condition := range found {
		noted = noted || condition.(object)["type"] == "Noted"
	}
	check(noted && suspended, "a status patch changes the status and nothing else", job.Object)

	old := before.DeepCopy()
	locked := client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
	changed := old.DeepCopy()
	changed.SetLabels(map[string]string{"late": "yes"})
	err = c.Patch(ctx, changed, locked)
	check(errors.IsConflict(err), "a patch with an optimistic lock is a conflict", err)
	must(c.Delete(ctx, job), "delete")

	yes := true
	counted := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "counted", Namespace: namespace},
		Spec: batchv1.JobSpec{Suspend: &yes, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "main", Image: "registry.example/x:1"}}}}}}
	must(c.Create(ctx, counted), "create a Job")
	base := counted.DeepCopy()
	counted.Status.Active = 1
	must(c.Status().Patch(ctx, counted, client.StrategicMergeFrom(base)), "a strategic status patch")
	check(counted.Status.Active == 1 && *counted.Spec.Suspend,
		"a strategic patch of a Job's status", counted.Status)
	var list batchv1.JobList
	must(c.List(ctx, &list, client.InNamespace(namespace)), "list")
	check(len(list.Items) == 1, "and it is listed", list.Items)
	must(c.Delete(ctx, counted, client.PropagationPolicy(metav1.DeletePropagationBackground)),
		"delete the Job")
}
