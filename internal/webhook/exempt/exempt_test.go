// SPDX-License-Identifier: Apache-2.0

package exempt

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

var update = flag.Bool("update", false, "write the generated document anew")

const exemptionsPage = "../../../docs/exemptions.md"

// sent is what the API server's conditions see of a request: empty fields are absent.
func sent(t testing.TB, r *policy.Request) map[string]any {
	t.Helper()
	request := tree{
		"operation": string(r.Operation),
		"kind":      tree{"group": r.Kind.Group, "version": r.Kind.Version, "kind": r.Kind.Kind},
		"resource":  tree{"group": r.Kind.Group, "version": r.Kind.Version, "resource": r.Resource},
		"userInfo":  tree{},
	}
	put := func(into tree, field string, value any, given bool) {
		if given {
			into[field] = value
		}
	}
	put(request, "name", r.Name, r.Name != "")
	put(request, "namespace", r.Namespace, r.Namespace != "")
	put(request, "subResource", r.SubResource, r.SubResource != "")
	put(request["userInfo"].(tree), "username", r.UserInfo.Username, r.UserInfo.Username != "")
	put(request["userInfo"].(tree), "groups", r.UserInfo.Groups, len(r.UserInfo.Groups) > 0)
	in := map[string]any{"request": request, "object": nil, "oldObject": nil}
	put(in, "object", map[string]any(r.Object), r.Object != nil)
	put(in, "oldObject", map[string]any(r.OldObject), r.OldObject != nil)
	return in
}

// exemptInCEL are the exemptions that the API server would leave out; the condition
// must come to a verdict, whatever the request.
func exemptInCEL(t testing.TB, r *policy.Request) []string {
	t.Helper()
	var names []string
	conditions := matchConditions(exemptions())
	for i, e := range exemptions() {
		out, _, err := webhooktest.Condition(t, conditions[i].Expression).Eval(sent(t, r))
		if err != nil {
			t.Fatalf("%s: %v: by an error the API server would skip a webhook that fails open\n%s", e.name, err,
				conditions[i].Expression)
		}
		if out.Value() == false {
			names = append(names, e.name)
		}
	}
	return names
}

func exemptInGo(r *policy.Request) []string {
	var names []string
	for _, e := range exemptions() {
		if e.holds(r) {
			names = append(names, e.name)
		}
	}
	return names
}

type tree = map[string]any

type change func(*policy.Request)

func by(user string, groups ...string) change {
	return func(r *policy.Request) { r.UserInfo = policy.UserInfo{Username: user, Groups: groups} }
}

func of(group, kind, resource, namespace, name string) change {
	return func(r *policy.Request) {
		r.Kind = policy.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
		r.Resource, r.Namespace, r.Name = resource, namespace, name
	}
}

func ownedPod(r *policy.Request) { of("", "Pod", "pods", "shop", "web")(r) }

func metadata(fields tree) tree {
	m := tree{"name": "web", "namespace": "shop", "resourceVersion": "1"}
	for k, v := range fields {
		m[k] = v
	}
	return tree{"apiVersion": "v1", "kind": "Pod", "metadata": m, "spec": tree{"nodeName": "n1"}}
}

func written(operation policy.Operation, old, object tree, changes ...change) *policy.Request {
	r := &policy.Request{Operation: operation, Object: object, OldObject: old,
		UserInfo: policy.UserInfo{Username: "ann", Groups: []string{"system:authenticated"}}}
	ownedPod(r)
	for _, c := range changes {
		c(r)
	}
	return r
}

func withFinalizers(names ...any) tree { return tree{"finalizers": names} }

func dying(names ...any) tree {
	return tree{"finalizers": names, "deletionTimestamp": "2026-03-01T12:00:00Z"}
}

func TestExemptions(t *testing.T) {
	node := by("system:node:n1", "system:nodes", "system:authenticated")
	mirror := metadata(tree{"annotations": tree{mirrorAnnotation: "abc"}})
	plain := metadata(nil)
	other := metadata(dying())
	other["spec"] = tree{"nodeName": "n2"}
	extra := metadata(dying())
	extra["extra"] = true
	wide, narrow := metadata(dying("a")), metadata(dying())
	many := make([]any, 150_000) // as fit into what etcd stores, twice over
	for i := range many {
		many[i] = fmt.Sprintf("a/%06d", i)
	}
	for i := range maxFields + 1 {
		wide[fmt.Sprint(i)], narrow[fmt.Sprint(i)] = i, i
	}
	cases := map[string]struct {
		reason  string
		request *policy.Request
		want    []string
	}{
		"the last finalizer of a deletion": {
			"a deletion must end", written(policy.Update, metadata(dying("a")),
				metadata(tree{"deletionTimestamp": "2026-03-01T12:00:00Z"})), []string{"finalizers-of-a-deletion"}},
		"one of two finalizers of a deletion": {
			"so must one of many steps", written(policy.Update, metadata(dying("a", "b")), metadata(dying("b"))),
			[]string{"finalizers-of-a-deletion"}},
		"a finalizer swapped for another": {
			"it isn't only taking off", written(policy.Update, metadata(dying("a")), metadata(dying("b"))), nil},
		"two finalizers swapped for another": {
			"fewer isn't enough", written(policy.Update, metadata(dying("a", "b")), metadata(dying("c"))), nil},
		"a finalizer and the spec": {
			"a change that hides behind a finalizer", written(policy.Update, metadata(dying("a")), other), nil},
		"a finalizer and a new field": {
			"so does one that is added", written(policy.Update, metadata(dying("a")), extra), nil},
		"a finalizer and a field that goes": {
			"or taken away", written(policy.Update, webhooktest.Set(metadata(dying("a")), "x", "extra"),
				metadata(dying())), nil},
		"a finalizer and a label": {
			"or in the metadata", written(policy.Update, metadata(dying("a")),
				webhooktest.Set(metadata(dying()), tree{"a": "b"}, "metadata", "labels")), nil},
		"a finalizer of what isn't being deleted": {
			"a finalizer may be what protects it", written(policy.Update, metadata(withFinalizers("a")), plain), nil},
		"more fields than any object has": {
			"what could exhaust the budget is judged", written(policy.Update, wide, narrow, by("ann")), nil},
		"another image of a Pod with more finalizers than any has": {
			"a condition that fails has the webhook not be asked", written(policy.Update,
				metadata(withFinalizers(many...)),
				webhooktest.Set(metadata(withFinalizers(many...)), "n2", "spec", "nodeName")), nil},
		"a few finalizers less of more than any has": {
			"what could exhaust the budget is judged", written(policy.Update, metadata(withFinalizers(many...)),
				metadata(withFinalizers(many[1:]...))), nil},
		"more finalizers than any has put on": {
			"that is another object", written(policy.Update, metadata(withFinalizers(jobTracking)),
				metadata(withFinalizers(many...))), nil},
		"a Job's finalizer off its finished Pod": {
			"nobody deletes that Pod", written(policy.Update, metadata(withFinalizers(jobTracking)), plain),
			[]string{"finalizer-of-a-job"}},
		"a Job's finalizer among others": {
			"the others stay", written(policy.Update, metadata(withFinalizers("a", jobTracking)),
				metadata(withFinalizers("a"))), []string{"finalizer-of-a-job"}},
		"a Job's finalizer and another's": {
			"the other protects the Pod", written(policy.Update, metadata(withFinalizers("a", jobTracking)), plain),
			nil},
		"a Job's finalizer and an image": {
			"an editor in the Job's clothes",
			written(policy.Update, metadata(withFinalizers(jobTracking)),
				webhooktest.Set(metadata(nil), "n2", "spec", "nodeName")), nil},
		"a Job's finalizer off a Secret": {
			"Jobs track Pods alone", written(policy.Update, metadata(withFinalizers(jobTracking)), plain,
				of("", "Secret", "secrets", "shop", "web")), nil},
		"a Job's finalizer put on": {
			"that is no way to finish", written(policy.Update, plain, metadata(withFinalizers(jobTracking))), nil},
		"a deletion of what is being deleted": {
			"the node ends the Pod", written(policy.Delete, metadata(dying()), nil, node),
			[]string{"deletion-goes-on"}},
		"a first deletion by a node": {
			"it deletes nobody's Pods", written(policy.Delete, plain, nil, node), nil},
		"a deletion by a person": {
			"that is what the policy is for", written(policy.Delete, plain, nil), nil},
		"a deletion by the namespace controller": {
			"the namespace is gone already", written(policy.Delete, plain, nil, by(namespaceController)),
			[]string{"namespace-ends"}},
		"a deletion by the garbage collector": {
			"an editor can have it delete anything, by an owner that doesn't exist",
			written(policy.Delete, plain, nil, by(kubeSystem+"generic-garbage-collector")), nil},
		"a write by the namespace controller": {
			"it only deletes", written(policy.Update, plain, plain, by(namespaceController)), nil},
		"a cluster-scoped object, by the same": {
			"it isn't in any namespace",
			written(policy.Delete, plain, nil, by(namespaceController), of("", "Namespace", "namespaces", "", "shop")),
			nil},
		"a static Pod's mirror": {
			"the node runs it anyway", written(policy.Create, nil, mirror, node), []string{"nodes"}},
		"a mirror's end": {"", written(policy.Delete, mirror, nil, node), []string{"nodes"}},
		"a Pod made with a node's credentials": {"without NodeRestriction they are good for any Pod",
			written(policy.Create, nil, plain, node), nil},
		"a Pod turned into a mirror": {"it runs already", written(policy.Update, plain, mirror, node),
			nil},
		"a mirror that a person makes": {"an annotation is anybody's", written(policy.Create, nil, mirror),
			nil},
		"a person named like a node": {
			"the group says who is one", written(policy.Create, nil, mirror, by("system:node:n1", "developers")), nil},
		"a node's slices of its devices": {
			"", written(policy.Create, nil, plain, node,
				of("resource.k8s.io", "ResourceSlice", "resourceslices", "", "n1")), []string{"nodes"}},
		"the API server's own Service": {
			"it makes it when it starts",
			written(policy.Create, nil, plain, by(userAPIServer, groupMasters),
				of("", "Service", "services", "default", "kubernetes")), []string{"api-server"}},
		"an administrator": {
			"people err", written(policy.Create, nil, plain, by("kubernetes-admin", groupMasters)), nil},
		"a user who calls itself the API server": {
			"without its group", written(policy.Create, nil, plain, by(userAPIServer)), nil},
		"the cluster's authority for a namespace": {
			"nothing starts there without",
			written(policy.Create, nil, plain, by(kubeSystem+"root-ca-cert-publisher"),
				of("", "ConfigMap", "configmaps", "shop", "kube-root-ca.crt")), []string{"trust"}},
		"another ConfigMap of the publisher": {
			"it makes none", written(policy.Create, nil, plain, by(kubeSystem+"root-ca-cert-publisher"),
				of("", "ConfigMap", "configmaps", "shop", "app")), nil},
		"the authority, written by a person": {
			"that is a forgery", written(policy.Update, plain, plain,
				of("", "ConfigMap", "configmaps", "shop", "kube-root-ca.crt")), nil},
		"a namesake of a controller elsewhere": {
			"its namespace says who it is",
			written(policy.Create, nil, plain, by("system:serviceaccount:shop:root-ca-cert-publisher"),
				of("", "ConfigMap", "configmaps", "shop", "kube-root-ca.crt")), nil},
		"a Pod by the controller of ReplicaSets": {
			"what it makes, an editor asked for",
			written(policy.Create, nil, plain, by(kubeSystem+"replicaset-controller")), nil},
		"a definition of Evenkeel's": {
			"an upgrade must work",
			written(policy.Update, plain, plain,
				of("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", "",
					"clusterregopolicies.evenkeel.dev")), []string{"own-definitions"}},
		"another definition": {
			"", written(policy.Update, plain, plain,
				of("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", "",
					"policies.notevenkeel.dev")), nil},
		"a request without a user or anything": {
			"a condition never errs", &policy.Request{Operation: policy.Create, Object: tree{"metadata": tree{}}}, nil},
		"a connection, which has no metadata": {
			"nor on what isn't an object",
			&policy.Request{Operation: "CONNECT", Object: tree{"command": []any{"sh"}}, Resource: "pods",
				SubResource: "exec"}, nil},
		"an update of what has no metadata either": {
			"", &policy.Request{Operation: policy.Update, Object: tree{"metadata": tree{}},
				OldObject: tree{"metadata": tree{}}}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, exemptInGo(tc.request)); diff != "" {
				t.Errorf("the handler: %s (-want +got)\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, exemptInCEL(t, tc.request)); diff != "" {
				t.Errorf("the API server: %s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// The API server and the handler must agree on every request, or one of the two is
// a way round the other.
func TestTheAPIServerExemptsWhatTheHandlerDoes(t *testing.T) {
	objects := rapid.Custom(func(t *rapid.T) tree {
		if rapid.IntRange(0, 5).Draw(t, "none") == 0 {
			return nil
		}
		m := metadata(nil)
		if rapid.Bool().Draw(t, "dying") {
			webhooktest.Set(m, "2026-03-01T12:00:00Z", "metadata", "deletionTimestamp")
		}
		var names []any
		for _, n := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", jobTracking}), 0, 3,
			rapid.ID).Draw(t, "finalizers") {
			names = append(names, n)
		}
		if len(names) > 0 && rapid.IntRange(0, 9).Draw(t, "many") == 0 {
			for i := range 50_000 {
				names = append(names, fmt.Sprintf("a/%06d", i))
			}
		}
		if len(names) > 0 {
			webhooktest.Set(m, names, "metadata", "finalizers")
		}
		if rapid.Bool().Draw(t, "mirror") {
			webhooktest.Set(m, tree{mirrorAnnotation: "x"}, "metadata", "annotations")
		}
		if rapid.IntRange(0, 3).Draw(t, "moved") == 0 {
			webhooktest.Set(m, "n2", "spec", "nodeName")
		}
		return m
	})
	rapid.Check(t, func(rt *rapid.T) {
		r := &policy.Request{
			Operation: rapid.SampledFrom([]policy.Operation{policy.Create, policy.Update, policy.Delete}).Draw(
				rt, "operation"),
			Object: objects.Draw(rt, "object"), OldObject: objects.Draw(rt, "old"),
			UserInfo: policy.UserInfo{
				Username: rapid.SampledFrom(
					[]string{"", "ann", "system:node:n1", userAPIServer, namespaceController,
						kubeSystem + "root-ca-cert-publisher"}).Draw(rt, "user"),
				Groups: rapid.SliceOf(rapid.SampledFrom([]string{groupNodes, groupMasters, "developers"})).Draw(
					rt, "groups"),
			},
		}
		what := rapid.SampledFrom(
			[]change{ownedPod, of("", "ConfigMap", "configmaps", "shop", "kube-root-ca.crt"),
				of("", "Namespace", "namespaces", "", "shop"),
				of("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", "",
					"clusterregopolicies.evenkeel.dev")}).Draw(rt, "of")
		what(r)
		if diff := cmp.Diff(exemptInGo(r), exemptInCEL(t, r)); diff != "" {
			rt.Fatalf("(-handler +API server)\n%s", diff)
		}
	})
}

func TestKindsThatAdmissionNeverJudges(t *testing.T) {
	for _, k := range exemptKinds() {
		kind := strings.ReplaceAll(k.kind, anyKind, "Any")
		r := written(policy.Create, nil, metadata(nil), of(k.group, kind, "", "", "x"))
		if !Request(r) {
			t.Errorf("%s of %q is judged", kind, k.group)
		}
	}
	for _, kind := range []string{"Namespace", "PersistentVolume"} {
		if why := NeverAsked("", kind); why != "" {
			t.Errorf("%s isn't judged: %s", kind, why)
		}
	}
}

// The page's tables are generated from the lists in code.
func TestTheExemptionsPageIsTrue(t *testing.T) {
	page, err := os.ReadFile(exemptionsPage)
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for name, table := range map[string]string{"kinds": kindsTable(), "requests": requestsTable()} {
		begin, end := "<!-- "+name+": generated by make generate -->\n", "<!-- end of "+name+" -->"
		i, j := strings.Index(want, begin), strings.Index(want, end)
		if i < 0 || j < i {
			t.Fatalf("%s lacks %q … %q", exemptionsPage, begin, end)
		}
		want = want[:i+len(begin)] + table + want[j:]
	}
	if *update {
		if err := os.WriteFile(exemptionsPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, string(page)); diff != "" && !*update {
		t.Errorf("run make generate (-want +got)\n%s", diff)
	}
}

func kindsTable() string {
	var b strings.Builder
	b.WriteString("| kind | group | why | can a policy match it, for the scan |\n|---|---|---|---|\n")
	for _, k := range exemptKinds() {
		kind, group, matched := "`"+k.kind+"`", "`"+k.group+"`", "yes"
		if k.kind == anyKind {
			kind = "all"
		}
		if k.group == "" {
			group = "core"
		}
		if k.unmatched {
			matched = "no"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", kind, group, k.why, matched)
	}
	return b.String()
}

func requestsTable() string {
	var b strings.Builder
	b.WriteString("| never judged | why | condition |\n|---|---|---|\n")
	for _, e := range exemptions() {
		fmt.Fprintf(&b, "| %s | %s | `not-%s` |\n", e.what, e.why, e.name)
	}
	return b.String()
}
