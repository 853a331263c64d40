// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ir"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/builtins"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// digests makes digests of requests, for a policy of one rule.
func digests(t *testing.T, rule string) func(*policy.Request) [16]byte {
	t.Helper()
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "test"}}
	p.Spec.Rego.Main = "package test\n\nimport rego.v1\n\n" + rule
	compiled, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	c := compiled.On(CompiledEngine).Reusing()
	return func(r *policy.Request) [16]byte {
		d, ok := c.digest(&Input{request: r, digests: &facts.Digests{}})
		if !ok {
			t.Fatalf("%s: the request has no digest", rule)
		}
		return d
	}
}

// asked is an update of a Deployment.
func asked() *policy.Request {
	object := map[string]any{"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}},
		"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"hostPID": true}}}}
	r := &policy.Request{UID: "u", Operation: policy.Update, Name: "web", Namespace: "shop", Resource: "deployments",
		Kind: policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Object: object,
		OldObject:       runtime.DeepCopyJSON(object),
		NamespaceObject: map[string]any{"metadata": map[string]any{"name": "shop"}}}
	r.UserInfo = policy.UserInfo{Username: "ann", UID: "1", Groups: []string{"a", "b"}}
	return r
}

// TestADigestIsThatOfWhatIsRead changes one part of a request after the other: the digest must change where rules read
// that part, and what every digest is of aside, nowhere else.
func TestADigestIsThatOfWhatIsRead(t *testing.T) {
	for _, part := range []struct {
		about string
		// reads are conditions that read it; always says that every digest is of it.
		reads  []string
		always bool
		// before is done to both requests.
		before, change func(*policy.Request)
	}{
		{about: "the operation", always: true, change: func(r *policy.Request) { r.Operation = policy.Create }},
		{about: "the group", always: true, change: func(r *policy.Request) { r.Kind.Group = "other" }},
		{about: "the version", always: true, change: func(r *policy.Request) { r.Kind.Version = "v2" }},
		{about: "the kind", always: true, change: func(r *policy.Request) { r.Kind.Kind = "Pod" }},
		{about: "the resource", always: true, change: func(r *policy.Request) { r.Resource = "pods" }},
		{about: "the subresource", always: true, change: func(r *policy.Request) { r.SubResource = "status" }},
		{about: "the UID", reads: []string{"input.request.uid", "input.review.uid"},
			change: func(r *policy.Request) { r.UID = "v" }},
		{about: "the name", reads: []string{"input.request.name", "input.review.name"},
			change: func(r *policy.Request) { r.Name = "other" }},
		{about: "the namespace", reads: []string{"input.request.namespace", "input.review.namespace",
			"input.pod.metadata.namespace", "input.pod.metadata"},
			change: func(r *policy.Request) { r.Namespace = "other" }},
		{about: "the user", reads: []string{"input.request.userInfo.username", "input.review.userInfo"},
			change: func(r *policy.Request) { r.UserInfo.Username = "zoe" }},
		{about: "the user's UID", reads: []string{"input.request.userInfo.uid"},
			change: func(r *policy.Request) { r.UserInfo.UID = "2" }},
		{about: "the user's groups", reads: []string{"input.review.userInfo.groups"},
			change: func(r *policy.Request) { r.UserInfo.Groups = []string{"a"} }},
		{about: "groups that are cut otherwise", reads: []string{"input.review.userInfo.groups"},
			change: func(r *policy.Request) { r.UserInfo.Groups = []string{"ab"} }},
		{about: "that it is a dry run", reads: []string{"input.request.dryRun"},
			change: func(r *policy.Request) { r.DryRun = true }},
		{about: "the Namespace", reads: []string{"input.review.namespaceObject.metadata"},
			change: func(r *policy.Request) { r.NamespaceObject = nil }},
		{about: "the object's name", reads: []string{"input.object.metadata.name", "input.pod.metadata.name",
			"input.pod", "input.review.object.metadata"}, change: func(r *policy.Request) {
			r.Object["metadata"].(map[string]any)["name"] = "other"
		}},
		{about: "that the object has a name, if it has none", reads: []string{"input.object.metadata.name",
			"input.pod.metadata.name"}, before: func(r *policy.Request) {
			r.Object["metadata"].(map[string]any)["name"] = nil
		}, change: func(r *policy.Request) { delete(r.Object["metadata"].(map[string]any), "name") }},
		{about: "the old object", reads: []string{"input.request.oldObject.metadata.labels.app",
			"input.review.oldObject.metadata.labels", "input.review.oldObject"}, change: func(r *policy.Request) {
			r.OldObject["metadata"].(map[string]any)["labels"] = nil
		}},
		{about: "the Pod template", reads: []string{"input.pod.spec.hostPID", "input.object.spec.template",
			"input.object.spec", "input.pod.spec"}, change: func(r *policy.Request) {
			r.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"] = "none"
		}},
		{about: "that there is a Pod template", reads: []string{"input.pod.spec.hostPID", "input.pod"},
			change: func(r *policy.Request) { r.Object["spec"].(map[string]any)["template"] = []any{} }},
	} {
		check := func(reads string, want bool) {
			digest := digests(t, `deny contains "x" if `+reads+compared(reads))
			first, changed := asked(), asked()
			if part.before != nil {
				part.before(first)
				part.before(changed)
			}
			part.change(changed)
			if got := digest(first) != digest(changed); got != want {
				t.Errorf("%s is another, and rules read %s: another digest %v, want %v", part.about, reads, got, want)
			}
		}
		for _, reads := range append(part.reads, "input", `walk(input, [["x"], _])`) {
			check(reads, true)
		}
		check("input.object.kind", part.always)
	}
}

// compared is what makes a reference a comparison, which reads it.
func compared(reads string) string {
	if strings.HasPrefix(reads, "input") {
		return ` == "none"`
	}
	return ""
}

// TestADigestIsOfWhatDecides changes one part of a request after the other, of which a rule asks no more than whether
// it is there, or says it in a message.
func TestADigestIsOfWhatDecides(t *testing.T) {
	metadata := func(r *policy.Request) map[string]any { return r.Object["metadata"].(map[string]any) }
	for name, test := range map[string]struct {
		rule   string
		change func(*policy.Request)
		want   bool
	}{
		"a name that a message tells": {`deny contains sprintf("%v", [input.object.metadata.name]) if ` +
			`input.object.spec.x`, func(r *policy.Request) { metadata(r)["name"] = "other" }, false},
		"that there is that name": {`deny contains sprintf("%v", [input.object.metadata.name]) if ` +
			`input.object.spec.x`, func(r *policy.Request) { delete(metadata(r), "name") }, true},
		"the Pod's name in a message": {`deny contains sprintf("%v", [input.pod.metadata.name]) if input.pod.spec.x`,
			func(r *policy.Request) { metadata(r)["name"] = "other" }, false},
		"that the Pod has a name": {`deny contains sprintf("%v", [input.pod.metadata.name]) if input.pod.spec.x`,
			func(r *policy.Request) { delete(metadata(r), "name") }, true},
		"the request's name in a message": {`deny contains sprintf("%v", [input.review.name]) if input.object.spec.x`,
			func(r *policy.Request) { r.Name = "other" }, false},
		"that the request has a name": {`deny contains sprintf("%v", [input.review.name]) if input.object.spec.x`,
			func(r *policy.Request) { r.Name = "" }, true},
		"what a fix alone reads": {`deny contains "x" if input.object.spec.x` + "\n" +
			`remediation contains {"name": input.object.metadata.labels.app} if input.object.spec.x`,
			func(r *policy.Request) { metadata(r)["labels"] = nil }, false},
		"what is there": {`deny contains "x" if input.object.metadata.labels.app`,
			func(r *policy.Request) { metadata(r)["labels"] = map[string]any{"app": "other"} }, false},
		"what is there and false": {`deny contains "x" if input.object.metadata.labels.app`,
			func(r *policy.Request) { metadata(r)["labels"] = map[string]any{"app": false} }, true},
		"that there is a Pod": {`deny contains "x" if input.pod`, func(r *policy.Request) {
			r.Object["spec"].(map[string]any)["template"] = []any{}
		}, true},
	} {
		digest := digests(t, test.rule)
		first, changed := asked(), asked()
		test.change(changed)
		if got := digest(first) != digest(changed); got != test.want {
			t.Errorf("%s: another digest %v, want %v", name, got, test.want)
		}
	}
}

// A deletion is judged by the object before.
func TestADigestOfADeletionIsOfTheOldObject(t *testing.T) {
	for _, reads := range []string{"input.object.metadata.labels.app", "input.pod.spec.hostPID"} {
		digest := digests(t, `deny contains "x" if `+reads)
		one, other := asked(), asked()
		for _, r := range []*policy.Request{one, other} {
			r.Operation, r.Object = policy.Delete, nil
		}
		if digest(one) != digest(other) {
			t.Errorf("%s: the same deletion has two digests", reads)
		}
		other.OldObject = map[string]any{}
		if digest(one) == digest(other) {
			t.Errorf("%s: deletions of two objects have one digest", reads)
		}
	}
}

// TestWhatGivesAnotherAnswerAnotherTimeIsKnown: of what rules may call, only what asks for the time gives another
// answer to the same question. OPA says so of some; of others it is known from what they do: certificates expire.
func TestWhatGivesAnotherAnswerAnotherTimeIsKnown(t *testing.T) {
	asking := []string{}
	for _, f := range builtins.Permitted().Builtins {
		asks := asksForTime(&ir.Policy{Static: &ir.Static{BuiltinFuncs: []*ir.BuiltinFunc{{Name: f.Name}}}})
		if asks {
			asking = append(asking, f.Name)
		} else if f.IsNondeterministic() {
			t.Errorf("%s isn't among what asks for the time", f.Name)
		}
	}
	slices.Sort(asking)
	want := []string{"crypto.x509.parse_and_verify_certificates",
		"crypto.x509.parse_and_verify_certificates_with_options",
		"crypto.x509.parse_certificate_request", "crypto.x509.parse_certificates", "crypto.x509.parse_keypair",
		"crypto.x509.parse_rsa_private_key", "io.jwt.decode_verify", "time.now_ns"}
	if diff := cmp.Diff(want, asking); diff != "" {
		t.Errorf("what asks for the time (-want +got):\n%s", diff)
	}
}
