package main

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func watchable(config *rest.Config) []schema.GroupVersionResource {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	must(err, "the discovery client")
	lists, err := d.ServerPreferredResources()
	must(err, "discovery")
	var all []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		must(err, list.GroupVersion)
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}

func tellOf(e *events, what string) cache.ResourceEventHandlerFuncs {
	name := func(o any) string {
		if gone, late := o.(cache.DeletedFinalStateUnknown); late {
			o = gone.Obj
		}
		return what + " " + o.(metav1.Object).GetName()
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { e.add("add " + name(o)) },
		DeleteFunc: func(o any) { e.add("delete " + name(o)) },
	}
}

// Informers over every kind of discovery, and typed ones beside them, through a restart.
func informersOverAllKinds(ctx context.Context, config *rest.Config) {
	d, err := dynamic.NewForConfig(config)
	must(err, "the dynamic client")
	e := newEvents()
	all := watchable(config)
	check(slices.Contains(all, jobsResource) && len(all) > 30, "discovery names the kinds", all)
	dynamics := dynamicinformer.NewDynamicSharedInformerFactory(d, 0)
	for _, r := range all {
		informer := dynamics.ForResource(r).Informer()
		_, err := informer.AddEventHandler(tellOf(e, r.Resource))
		must(err, r.String())
	}
	clientset, err := kubernetes.NewForConfig(config)
	must(err, "the clientset")
	typed := informers.NewSharedInformerFactory(clientset, 0)
	_, err = typed.Core().V1().ConfigMaps().Informer().AddEventHandler(tellOf(e, "typed"))
	must(err, "a typed informer")

	dynamics.Start(ctx.Done())
	typed.Start(ctx.Done())
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	synced := dynamics.WaitForCacheSync(soon.Done())
	for r, ok := range synced {
		if !ok {
			panic(failure{"never synced: " + r.String()})
		}
	}
	check(len(synced) == len(all), fmt.Sprintf("informers over all %d kinds have synced", len(all)))
	typed.WaitForCacheSync(soon.Done())

	create(ctx, d, "before")
	e.await("add pytorchjobs before")
	askForRestart()
	create(ctx, d, "after")
	must(d.Resource(jobsResource).Namespace(namespace).Delete(ctx, "before",
		metav1.DeleteOptions{}), "delete")
	for _, what := range []string{"add pytorchjobs after", "delete pytorchjobs before",
		"add configmaps after", "add typed after"} {
		e.await(what)
	}
	check(e.count("add pytorchjobs before") == 1 && e.count("add typed before") == 1 &&
		e.count("add typed after") == 1, "after a restart they go on, with nothing twice", e.seen)
}

func create(ctx context.Context, d dynamic.Interface, name string) {
	_, err := d.Resource(jobsResource).Namespace(namespace).Create(ctx,
		trainingJob(name, object{}), metav1.CreateOptions{})
	must(err, "create "+name)
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	_, err = d.Resource(maps).Namespace(namespace).Create(ctx, &unstructured.Unstructured{
		Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}},
	}, metav1.CreateOptions{})
	must(err, "create the ConfigMap "+name)
}
