package main

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// kind is one that the hub, or the simulated member, takes in protobuf.
type kind struct {
	apiVersion, name string
	create           func() runtime.Object
}

var kinds = []kind{
	{"v1", "ConfigMap", func() runtime.Object { return &corev1.ConfigMap{} }},
	{"v1", "Event", func() runtime.Object { return &corev1.Event{} }},
	{"v1", "Namespace", func() runtime.Object { return &corev1.Namespace{} }},
	{"v1", "Node", func() runtime.Object { return &corev1.Node{} }},
	{"v1", "PersistentVolumeClaim", func() runtime.Object { return &corev1.PersistentVolumeClaim{} }},
	{"v1", "Pod", func() runtime.Object { return &corev1.Pod{} }},
	{"v1", "PodTemplate", func() runtime.Object { return &corev1.PodTemplate{} }},
	{"v1", "Secret", func() runtime.Object { return &corev1.Secret{} }},
	{"v1", "Service", func() runtime.Object { return &corev1.Service{} }},
	{"v1", "ServiceAccount", func() runtime.Object { return &corev1.ServiceAccount{} }},
	{"v1", "DeleteOptions", func() runtime.Object { return &metav1.DeleteOptions{} }},
	{"events.k8s.io/v1", "Event", func() runtime.Object { return &eventsv1.Event{} }},
	{"autoscaling/v1", "Scale", func() runtime.Object { return &autoscalingv1.Scale{} }},
	{"batch/v1", "Job", func() runtime.Object { return &batchv1.Job{} }},
	{"coordination.k8s.io/v1", "Lease", func() runtime.Object { return &coordinationv1.Lease{} }},
	{"scheduling.k8s.io/v1", "PriorityClass",
		func() runtime.Object { return &schedulingv1.PriorityClass{} }},
	{"rbac.authorization.k8s.io/v1", "Role", func() runtime.Object { return &rbacv1.Role{} }},
	{"rbac.authorization.k8s.io/v1", "RoleBinding",
		func() runtime.Object { return &rbacv1.RoleBinding{} }},
	{"rbac.authorization.k8s.io/v1", "ClusterRole",
		func() runtime.Object { return &rbacv1.ClusterRole{} }},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
		func() runtime.Object { return &rbacv1.ClusterRoleBinding{} }},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition",
		func() runtime.Object { return &apiextensionsv1.CustomResourceDefinition{} }},
	{"authentication.k8s.io/v1", "SelfSubjectReview",
		func() runtime.Object { return &authenticationv1.SelfSubjectReview{} }},
	{"authentication.k8s.io/v1", "TokenRequest",
		func() runtime.Object { return &authenticationv1.TokenRequest{} }},
	{"authentication.k8s.io/v1", "TokenReview",
		func() runtime.Object { return &authenticationv1.TokenReview{} }},
	{"authorization.k8s.io/v1", "LocalSubjectAccessReview",
		func() runtime.Object { return &authorizationv1.LocalSubjectAccessReview{} }},
	{"authorization.k8s.io/v1", "SelfSubjectAccessReview",
		func() runtime.Object { return &authorizationv1.SelfSubjectAccessReview{} }},
	{"authorization.k8s.io/v1", "SelfSubjectRulesReview",
		func() runtime.Object { return &authorizationv1.SelfSubjectRulesReview{} }},
	{"authorization.k8s.io/v1", "SubjectAccessReview",
		func() runtime.Object { return &authorizationv1.SubjectAccessReview{} }},
}

var scheme = runtime.NewScheme()

func init() {
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme,
		authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme, rbacv1.AddToScheme,
		schedulingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			fatal("%v", err)
		}
	}
}

// wire is how client-go writes requests.
var wire = protobuf.NewSerializer(scheme, scheme)
