// SPDX-License-Identifier: Apache-2.0

package live

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	discoveryfake "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// asked is discovery that answers with some resources and an error.
type asked struct {
	*discoveryfake.FakeDiscovery
	err error
}

func (a *asked) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return a.Resources, a.err
}

// serving is discovery of a cluster with Gatekeeper and a kind of constraints.
func serving(err error) *asked {
	of := func(version string, names ...string) *metav1.APIResourceList {
		list := &metav1.APIResourceList{GroupVersion: version}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Verbs: []string{"list"}})
		}
		return list
	}
	return &asked{err: err, FakeDiscovery: &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{
		Resources: []*metav1.APIResourceList{of("templates.gatekeeper.sh/v1", "constrainttemplates"),
			of("constraints.gatekeeper.sh/v1beta1", "teamed", "teamed/status"), of("v1", "pods"),
			of("status.gatekeeper.sh/v1beta1", "constraintpodstatuses")}}}}
}

func cluster(objects ...runtime.Object) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "templates.gatekeeper.sh", Version: "v1", Resource: "constrainttemplates"}:    "ConstraintTemplateList",
		{Group: "constraints.gatekeeper.sh", Version: "v1beta1", Resource: "teamed"}:          "TeamedList",
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: "CRDList",
		{Version: "v1", Resource: "namespaces"}:                                               "NamespaceList",
		webhookConfigurations():                                                               "ConfigurationList",
	}, objects...)
}

func teamed(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "constraints.gatekeeper.sh/v1beta1",
		"kind": "Teamed", "metadata": map[string]any{"name": name}}}
}

func TestWhatGatekeeperEnforcesIsRead(t *testing.T) {
	objects := cluster()
	for _, name := range []string{"b", "a"} {
		if err := objects.Tracker().Create(schema.GroupVersionResource{Group: "constraints.gatekeeper.sh",
			Version: "v1beta1", Resource: "teamed"}, teamed(name), ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{`{"metadata": {"name": "gatekeeper-validating-webhook-configuration"}, "webhooks": [
			{"name": "validation.gatekeeper.sh", "objectSelector": {"matchLabels": {"judged": "yes"}},
				"matchConditions": [{"name": "not-nodes", "expression": "true"}],
				"namespaceSelector": {"matchExpressions": [
				{"key": "admission.gatekeeper.sh/ignore", "operator": "DoesNotExist"},
				{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["gatekeeper-system", "legacy"]},
				{"key": "team", "operator": "Exists"}]}},
			{"name": "check-ignore-label.gatekeeper.sh", "objectSelector": {"matchLabels": {"other": "yes"}}}]}`,
		`{"metadata": {"name": "evenkeel"}, "webhooks": [{"name": "validate.evenkeel.dev", "namespaceSelector":
			{"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["legacy"]}]}}]}`,
	} {
		config := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(text), &config.Object); err != nil {
			t.Fatal(err)
		}
		config.SetAPIVersion("admissionregistration.k8s.io/v1")
		config.SetKind("ValidatingWebhookConfiguration")
		if err := objects.Tracker().Create(webhookConfigurations(), config, ""); err != nil {
			t.Fatal(err)
		}
	}
	others := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "metrics.k8s.io", Version: "v1"}: errors.New("unavailable")}}
	s, err := Read(t.Context(), objects, serving(others))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Constraints) != 2 || s.Constraints[0].ID() != "Teamed/a" || len(s.Documents) != 3 {
		t.Errorf("read %v and %d documents", s.Constraints, len(s.Documents))
	}
	if want := []string{"metrics.k8s.io"}; !slices.Equal(s.Options().Unsaid, want) || s.Unasked {
		t.Errorf("groups that don't answer: %q, want %q; Gatekeeper's webhook isn't there: %t", s.Options().Unsaid,
			want, s.Unasked)
	}
	exempt := strings.Join(s.Exemptions, "\n")
	for want, told := range map[string]bool{"isn't asked in gatekeeper-system, by": true, "legacy": false,
		"other":                                false,
		"only in namespaces that match team (": true, "only of objects that match judged=yes (": true,
		"only where not-nodes hold (": true} {
		if strings.Contains(exempt, want) != told {
			t.Errorf("it is told: %t, of %q in\n%s", !told, want, exempt)
		}
	}
}

func TestWhatCanNotBeReadIsSaid(t *testing.T) {
	forbidden := cluster()
	forbidden.PrependReactor("list", "teamed", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("may not list")
	})
	theirs := &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{
		{Group: "constraints.gatekeeper.sh", Version: "v1beta1"}: errors.New("unavailable")}}
	none := serving(nil)
	none.Resources = none.Resources[2:]
	cases := map[string]struct {
		objects *fake.FakeDynamicClient
		kinds   *asked
		want    string
	}{
		"constraints that may not be listed": {forbidden, serving(nil),
			"list teamed.constraints.gatekeeper.sh: may not list"},
		"a group of Gatekeeper's that is away": {cluster(), serving(theirs),
			"which kinds of constraints.gatekeeper.sh"},
		"a cluster that is away": {cluster(), serving(errors.New("refused")),
			"which kinds it serves: refused"},
		"a cluster without Gatekeeper": {cluster(), none, "Gatekeeper isn't installed in it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Read(t.Context(), tc.objects, tc.kinds)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it ended as %v, want %q", err, tc.want)
			}
		})
	}
}
