// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/webhook/names"
	"evenkeel.dev/evenkeel/test/recorded"
)

// onCall is what ClusterRole evenkeel-operator grants.
func onCall(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()
	text, err := os.ReadFile("../../config/rbac/operator_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict([]byte(document), role); err != nil {
			t.Fatal(err)
		}
		if role.Name == "evenkeel-operator" {
			rules = role.Rules
		}
	}
	if len(rules) == 0 {
		t.Fatal("there is no ClusterRole evenkeel-operator")
	}
	return rules
}

// may refuses what rules don't grant, as the API server does.
func may(rules []rbacv1.PolicyRule, c client.Client, verb, name string, of any) error {
	var gvk schema.GroupVersionKind
	switch o := of.(type) {
	case client.Object:
		gvk, _ = apiutil.GVKForObject(o, c.Scheme())
	case client.ObjectList:
		gvk, _ = apiutil.GVKForObject(o, c.Scheme())
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	if slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, gvk.Group) && slices.Contains(r.Resources, plural.Resource) &&
			slices.Contains(r.Verbs, verb) && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
	}) {
		return nil
	}
	return refused(gvk.Group, plural.Resource, verb)
}

// held is a cluster whose API server grants these rules, and whose webhook judges overrides.
func held(rules []rbacv1.PolicyRule, now time.Time) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if err := may(rules, c, "get", key.Name, o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := may(rules, c, "list", "", list); err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Create: func(_ context.Context, c client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if err := may(rules, c, "create", "", o); err != nil {
				return err
			}
			override, is := o.(*v1alpha1.PolicyOverride)
			switch {
			case !is:
				return errors.New("nobody expects this")
			case override.Spec.ExpirationTime.Time.Before(now):
				return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(
					`admission webhook "`+names.WebhookOverrides+`" denied the request: it has passed`))
			}
			recorded.Requests(override, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionOverride, User: "dana"}}...)
			return nil
		}}
}

// behindAService is an installation of config/default, which is well.
func behindAService(now time.Time) []client.Object {
	named := metav1.ObjectMeta{Namespace: "evenkeel-system", Name: "evenkeel"}
	service := &admissionregistrationv1.ServiceReference{Namespace: named.Namespace, Name: "evenkeel-webhook"}
	var entries []admissionregistrationv1.ValidatingWebhook
	for name, failure := range expected(nil) {
		entries = append(entries, admissionregistrationv1.ValidatingWebhook{Name: name, FailurePolicy: &failure,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: service}})
	}
	// A policy that fails closed is asked about new Pods.
	entries = append(entries, entries[0])
	entries[len(entries)-1].Name = names.WebhookFail
	entries[len(entries)-1].Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, Resources: []string{"pods"}}}}
	return []client.Object{leaseOf(now),
		&appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(2))},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 2}},
		&corev1.ServiceAccount{ObjectMeta: named},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: named.Namespace, Name: "evenkeel-webhook"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
			Name: names.Configuration}, Webhooks: entries}}
}

func TestWhoeverIsOnCallIsToldAllThatMatters(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := remediates(v1alpha1.RemediationAutomatic)
	p.Name = "fixes"
	p.Status.Scan = &v1alpha1.ScanStatus{State: v1alpha1.ScanComplete, LastFullScanTime: &metav1.Time{Time: now}}
	p.Status.Conditions = kube.Ready(v1alpha1.ReasonCompiled, "in force")
	look := func(rules []rbacv1.PolicyRule) map[string][]Finding {
		in := looked(t, now, held(rules, now), append(behindAService(now), p)...)
		in.Mapper = kindsServed()
		found, told := map[string][]Finding{}, map[string]bool{}
		for _, c := range checks() {
			// The first asks by HTTP; authorities are told apart.
			if c.name != checkServer && c.name != "certificate" {
				found[c.name] = joined(c.look(t.Context(), in), told)
			}
		}
		return found
	}
	t.Run("with the role for it", func(t *testing.T) {
		var skippedBy []string
		for name, findings := range look(onCall(t)) {
			if worst := Worst(findings); worst == Unknown || worst == Fail {
				t.Errorf("of %s it finds %+v", name, findings)
			}
			if slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == Skipped }) {
				skippedBy = append(skippedBy, name)
			}
		}
		slices.Sort(skippedBy)
		if diff := cmp.Diff([]string{"cold-start", "opt-outs", "read-permissions", "webhooks", "write-permissions"},
			skippedBy); diff != "" {
			t.Errorf("the checks that skip something (-want +got)\n%s", diff)
		}
	})
	t.Run("without the right to override", func(t *testing.T) {
		rules := slices.DeleteFunc(onCall(t), func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, "policyoverrides") && slices.Contains(r.Verbs, "create")
		})
		found := look(rules)["admission"]
		if len(found) != 1 || found[0].Status != Unknown ||
			!strings.Contains(found[0].Message, "you may not create policyoverrides.evenkeel.dev") {
			t.Errorf("of admission it finds %+v", found)
		}
	})
}
