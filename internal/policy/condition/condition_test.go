// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

type tree = map[string]any

func conditions(expressions ...string) []v1alpha1.MatchCondition {
	var out []v1alpha1.MatchCondition
	for i, expression := range expressions {
		out = append(out, v1alpha1.MatchCondition{Name: string(rune('a' + i)), Expression: expression})
	}
	return out
}

func update() *policy.Request {
	return &policy.Request{
		Operation: policy.Update, Kind: policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource:  "deployments",
		Namespace: "shop", Name: "web",
		UserInfo: policy.UserInfo{Username: "ann", Groups: []string{"devs", "system:authenticated"}},
		Object: tree{"metadata": tree{"labels": tree{"tier": "x"}},
			"spec": tree{"replicas": int64(3), "share": 0.5}},
		OldObject: tree{"metadata": tree{}, "spec": tree{"replicas": int64(1)}},
	}
}

func TestMatch(t *testing.T) {
	// nested goes through ten values, in each of them through ten, and so on.
	nested := func(deep int) string {
		expression := "true"
		for range deep {
			expression = "[1,2,3,4,5,6,7,8,9,10].all(x, " + expression + ")"
		}
		return expression
	}
	dear := nested(5) + " && " + nested(5)
	tests := map[string]struct {
		expressions []string
		request     func(*policy.Request)
		want        bool
		err         string
	}{
		"no condition asks of everything": {want: true},
		"all that are true ask": {
			expressions: []string{`object.spec.replicas > 2`, `request.operation == "UPDATE"`}, want: true},
		"one that is false doesn't": {expressions: []string{`true`, `object.spec.replicas > 3`}},
		"the user and the groups are known": {
			expressions: []string{`request.userInfo.username == "ann" && "devs" in request.userInfo.groups`},
			want:        true},
		"the kind and the resource are known": {
			expressions: []string{
				`request.kind.kind == "Deployment" && request.resource.group == "apps" && request.resource.resource == "deployments"`}, want: true},
		"what changes can be asked": {expressions: []string{`object.spec == oldObject.spec`}},
		"an object that isn't there is null": {
			expressions: []string{`oldObject == null`}, request: func(r *policy.Request) { r.OldObject = nil },
			want: true},
		"a field that is missing can be asked for": {expressions: []string{`has(object.metadata.annotations)`}},
		"Kubernetes' own libraries are there": {
			expressions: []string{`quantity("1Gi").isGreaterThan(quantity("1Mi")) && "a1".find("[0-9]") == "1"`},
			want:        true},
		"a missing field is an error": {expressions: []string{`object.spec.none == 1`},
			err: "matchConditions: a: no such key: none"},
		"false outweighs an error": {expressions: []string{`object.spec.none == 1`, `false`}},
		"an error outweighs true": {expressions: []string{`true`, `object.spec.none == 1`},
			err: "matchConditions: b: no such key: none"},
		"an expression has a limit of its own": {expressions: []string{nested(7)}, err: "cost limit exceeded"},
		"the conditions of a policy have one in all": {expressions: []string{dear, dear, dear, dear, dear, dear},
			err: "evaluating them costs too much"},
		"an audit is always judged": {
			expressions: []string{`false`}, request: func(r *policy.Request) { r.Audit = true }, want: true},
		"so is an object before its update": {
			expressions: []string{`false`}, request: func(r *policy.Request) { r.Before = true }, want: true},
		"so is what wasn't read": {
			expressions: []string{`false`}, request: func(r *policy.Request) { r.Partial = true }, want: true},
		"a subresource's resource is its parent's": {
			expressions: []string{
				`request.resource.group == "apps" && request.subResource == "scale" && request.kind.group == "autoscaling"`}, want: true,
			request: func(r *policy.Request) {
				r.Kind, r.SubResource = policy.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
					"scale"
			}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			set, err := Compile(conditions(tc.expressions...))
			if err != nil {
				t.Fatal(err)
			}
			r := update()
			if tc.request != nil {
				tc.request(r)
			}
			got, err := set.Match(t.Context(), r)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil &&
				!strings.Contains(err.Error(), tc.err) {
				t.Errorf("Match: %v, %v; want %v, error with %q", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestCompileSaysWhatIsWrongAndWhere(t *testing.T) {
	tests := map[string]struct {
		conditions []v1alpha1.MatchCondition
		want       []string
	}{
		"a variable that there isn't": {conditions("true", `namespaceObject.metadata.name == "x"`),
			[]string{"spec.admission.matchConditions[1].expression:1:1: undeclared reference to 'namespaceObject'"}},
		"the authorizer": {
			conditions(`true && authorizer.group("").resource("pods").check("get").allowed()`),
			[]string{"spec.admission.matchConditions[0].expression:1:9: undeclared reference to 'authorizer'"}},
		"what isn't known of a request": {
			conditions(`request.options.force`),
			[]string{"spec.admission.matchConditions[0].expression:1:8: undefined field 'options'"}},
		"another type than bool": {
			conditions(`"yes"`), []string{
				"spec.admission.matchConditions[0].expression:1:1: it must be true or false, but is of type string"}},
		"a later line": {
			conditions("true &&\n  wrong"),
			[]string{"spec.admission.matchConditions[0].expression:2:3: undeclared reference to 'wrong'"}},
		"a name twice": {append(conditions("true"), conditions("true")...),
			[]string{`spec.admission.matchConditions[1]: the name "a" is missing or another condition's`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(tc.conditions)
			if err == nil {
				t.Fatal("it compiles")
			}
			got := strings.Split(err.Error(), "\n")
			for i := range got {
				if i < len(tc.want) && strings.HasPrefix(got[i], tc.want[i]) {
					got[i] = tc.want[i]
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(conditions(`request.userInfo.username != "ci"`)); err != nil {
			b.Fatal(err)
		}
	}
}
