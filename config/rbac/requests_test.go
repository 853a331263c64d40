// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/config/rbac"
	"evenkeel.dev/evenkeel/test/recorded"
)

// guard is a shipped policy of people's requests, its expressions compiled as the API server does.
type guard struct {
	spec     admissionregistrationv1.ValidatingAdmissionPolicySpec
	programs map[string]cel.Program
}

func newGuard(t *testing.T, name string) *guard {
	t.Helper()
	g := &guard{programs: map[string]cel.Program{}}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(rbac.Requests), len(rbac.Requests))
	for g.spec.Validations == nil {
		p := &admissionregistrationv1.ValidatingAdmissionPolicy{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			t.Fatalf("no policy %s", name)
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Name == name {
			g.spec = p.Spec
		}
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: []cel.EnvOption{
			cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
			cel.Variable("request", cel.DynType), cel.Variable("variables", cel.DynType),
			cel.Variable("authorizer", library.AuthorizerType)}},
		environment.StrictCostOpt)
	if err != nil {
		t.Fatal(err)
	}
	var expressions []string
	for _, v := range g.spec.Variables {
		expressions = append(expressions, v.Expression)
	}
	for _, c := range g.spec.MatchConditions {
		expressions = append(expressions, c.Expression)
	}
	for _, v := range g.spec.Validations {
		expressions = append(expressions, v.Expression, v.MessageExpression)
	}
	for _, expression := range expressions {
		ast, issues := set.StoredExpressionsEnv().Compile(expression)
		if issues.Err() != nil {
			t.Fatalf("%v", issues.Err())
		}
		if g.programs[expression], err = set.StoredExpressionsEnv().Program(ast); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// refuses is what a user with some verbs is told who makes old into object; empty when it goes through.
func (g *guard) refuses(t *testing.T, object, old map[string]any, verbs ...string) string {
	t.Helper()
	return g.refusesWith(t, nil, object, old, verbs...)
}

// refusesWith is the same, of a request with options.
func (g *guard) refusesWith(t *testing.T, options, object, old map[string]any, verbs ...string) string {
	t.Helper()
	return g.refusesRequest(t, map[string]any{"options": options}, object, old, verbs...)
}

// refusesRequest is the same, of a request with more fields. Its user is ann unless it names one.
func (g *guard) refusesRequest(t *testing.T, request, object, old map[string]any, verbs ...string) string {
	t.Helper()
	request = maps.Clone(request)
	if request["userInfo"] == nil {
		request["userInfo"] = map[string]any{"username": "ann"}
	}
	may := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string,
		error) {
		if slices.Contains(verbs, a.GetVerb()) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})
	variables := map[string]any{}
	given := map[string]any{"object": orNull(object), "oldObject": orNull(old), "variables": variables,
		"request":    request,
		"authorizer": library.NewAuthorizerVal(&user.DefaultInfo{Name: "ann"}, may)}
	eval := func(expression string) any {
		value, _, err := g.programs[expression].Eval(given)
		if err != nil {
			t.Fatalf("%v of %v in\n%s", err, given, expression)
		}
		return value
	}
	for _, c := range g.spec.MatchConditions {
		if yes, ok := eval(c.Expression).(interface{ Value() any }); !ok || yes.Value() != true {
			return ""
		}
	}
	for _, v := range g.spec.Variables {
		variables[v.Name] = eval(v.Expression)
	}
	var told []string
	for _, v := range g.spec.Validations {
		if yes, ok := eval(v.Expression).(interface{ Value() any }); !ok || yes.Value() != true {
			told = append(told, eval(v.MessageExpression).(interface{ Value() any }).Value().(string))
		}
	}
	return strings.Join(told, "\n")
}

// TestWindowsAreIgnoredByAVerbAndNeverFromABackup: who restores a plan has every verb, and no plan may ignore its
// windows because another one did.
func TestWindowsAreIgnoredByAVerbAndNeverFromABackup(t *testing.T) {
	type spec = map[string]any
	plan := func(windows ...any) spec {
		s := spec{"plan": spec{"policy": spec{"name": "tags"}}}
		for _, w := range windows {
			s["windows"] = w
		}
		return spec{"spec": s, "metadata": spec{"name": "tags-1"}}
	}
	g := newGuard(t, "evenkeel-plans")
	all := []string{"pause", "abort", "undo", "retry", "override-windows", "restore", "record"}
	for name, tc := range map[string]struct {
		before, after spec
		needs         bool
		refused       bool
	}{
		"ignore":               {before: plan(), after: plan("Ignore"), needs: true},
		"respect again":        {before: plan("Ignore"), after: plan(), needs: true},
		"respect, by its name": {before: plan("Ignore"), after: plan("Respect"), needs: true},
		"the default, spelled": {before: plan(), after: plan("Respect")},
		"ignore as before":     {before: plan("Ignore"), after: plan("Ignore")},
		"create":               {after: plan()},
		"create, and respect":  {after: plan("Respect")},
		"restore, and ignore":  {after: plan("Ignore"), needs: true, refused: true},
		"delete what ignores":  {before: plan("Ignore")},
	} {
		t.Run(name, func(t *testing.T) {
			told := g.refuses(t, tc.after, tc.before, all...)
			if (told != "") != tc.refused || tc.refused &&
				!strings.Contains(told, "can't be created with windows Ignore") {
				t.Errorf("with every verb: %q", told)
			}
			others := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v == "override-windows" })
			told = g.refuses(t, tc.after, tc.before, others...)
			if strings.Contains(told, "the verb override-windows") != tc.needs {
				t.Errorf("without the verb: %q", told)
			}
		})
	}
}

// Whoever changes when a pause or a hold ends, ends it or makes it last: an end is asked for like the thing itself.
func TestTheEndOfAPauseAsksForTheVerbOfThePause(t *testing.T) {
	type spec = map[string]any
	plan := func(s spec) map[string]any {
		s["plan"] = spec{"policy": spec{"name": "tags"}}
		return spec{"spec": s, "metadata": spec{"name": "tags-1"}}
	}
	const soon, late = "2027-01-07T08:00:00Z", "2027-01-08T08:00:00Z"
	paused := func(until string) spec { return plan(spec{"desiredState": "Paused", "pausedUntilTime": until}) }
	forGood, running := plan(spec{"desiredState": "Paused"}), plan(spec{})
	cases := map[string]struct {
		before, after spec
		needs         string // empty: nothing
	}{
		"pause until a time":       {running, paused(soon), "pause"},
		"end the pause sooner":     {paused(late), paused(soon), "pause"},
		"end the pause later":      {paused(soon), paused(late), "pause"},
		"give a pause an end":      {forGood, paused(soon), "pause"},
		"pause for good":           {paused(soon), forGood, "pause"},
		"resume":                   {paused(soon), running, "pause"},
		"an end without a pause":   {running, plan(spec{"pausedUntilTime": soon}), "pause"},
		"abort what is paused":     {paused(soon), plan(spec{"desiredState": "Aborted"}), "abort"},
		"nothing of the sort":      {paused(soon), paused(soon), ""},
		"the same end, other text": {paused(soon), paused("2027-01-07T09:00:00+01:00"), "pause"},
	}
	g := newGuard(t, "evenkeel-plans")
	all := []string{"pause", "abort", "undo", "retry", "override-windows"}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			others := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v == tc.needs })
			told := g.refuses(t, tc.after, tc.before, others...)
			if (told != "") != (tc.needs != "") || !strings.Contains(told, "the verb "+tc.needs) && tc.needs != "" {
				t.Errorf("without the verb %q: %q", tc.needs, told)
			}
			if told := g.refuses(t, tc.after, tc.before, tc.needs); told != "" {
				t.Errorf("with the verb %q: %q", tc.needs, told)
			}
		})
	}
}

// An answer needs the verb approve, whatever it says, and so does the record of one.
func TestAnAnswerAsksForTheVerbApprove(t *testing.T) {
	type spec = map[string]any
	plan := func(approval any, lines ...string) spec {
		s := spec{"plan": spec{"policy": spec{"name": "tags"}}}
		if approval != nil {
			s["approval"] = approval
		}
		metadata := spec{"name": "tags-1"}
		if len(lines) > 0 {
			metadata["annotations"] = spec{"evenkeel.dev/requests": strings.Join(lines, "\n")}
		}
		return spec{"spec": s, "metadata": metadata}
	}
	yes, no, maybe := spec{"decision": "Approve"}, spec{"decision": "Reject"}, spec{"decision": "Maybe"}
	line := recorded.Lines(v1alpha1.RequestRecord{User: "ann", Action: v1alpha1.ActionApprove})
	paused := recorded.Lines(v1alpha1.RequestRecord{User: "ann", Action: v1alpha1.ActionPause,
		Reason: `"action":"Approve"`})
	cases := map[string]struct {
		before, after spec
		needs, says   string // needs is empty where nothing is asked for
	}{
		"a yes":                       {plan(nil), plan(yes), "approve", "that needs the verb approve"},
		"a no":                        {plan(nil), plan(no), "approve", "that needs the verb approve"},
		"another one":                 {plan(no), plan(yes), "approve", "that needs the verb approve"},
		"a plan with one":             {nil, plan(yes), "approve", "that needs the verb approve"},
		"the record of one":           {plan(yes), plan(yes, line), "approve", "that needs the verb approve"},
		"one more record":             {plan(yes, paused), plan(yes, paused, line), "approve", "the verb approve"},
		"nothing of the sort":         {plan(yes, line), plan(yes, line), "", ""},
		"what only looks like one":    {plan(nil), plan(nil, paused), "", ""},
		"a decision that isn't known": {plan(nil), plan(maybe), "never", "the decision Approve or Reject"},
	}
	g := newGuard(t, "evenkeel-plans")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			told := g.refuses(t, tc.after, tc.before, "pause", "abort", "undo", "retry", "override-windows", "record")
			if (told != "") != (tc.needs != "") || !strings.Contains(told, tc.says) {
				t.Errorf("without the verb: %q", told)
			}
			if told := g.refuses(t, tc.after, tc.before, "approve"); (told != "") != (tc.needs == "never") {
				t.Errorf("with the verb: %q", told)
			}
		})
	}
}

// Nobody writes the record of requests in another's name, or takes one away, where no webhook does it.
func TestTheRecordOfRequestsIsInOnesOwnName(t *testing.T) {
	type tree = map[string]any
	object := func(mode string, lines ...string) tree {
		metadata := tree{"name": "global"}
		if len(lines) > 0 {
			metadata["annotations"] = tree{"evenkeel.dev/requests": strings.Join(lines, "\n")}
		}
		return tree{"spec": tree{"mode": mode}, "metadata": metadata}
	}
	by := func(user string) string {
		return recorded.Lines(v1alpha1.RequestRecord{User: user, Action: v1alpha1.ActionForceOpen, Reason: `a "quote"`})
	}
	full := slices.Repeat([]string{by("bob")}, v1alpha1.MaxRequests)
	const off, on, odd = "Automatic", "ForcedOpen", `o"ne\<two>`
	cases := map[string]struct {
		user          string // ann where it is empty
		before, after tree
		refused       bool
	}{
		"in one's own name":          {before: object(off), after: object(on, by("ann"))},
		"of a new object":            {after: object(on, by("ann"))},
		"after others":               {before: object(off, by("bob")), after: object(on, by("bob"), by("ann"))},
		"two at once":                {before: object(off), after: object(on, by("ann"), by("ann"))},
		"by a user with an odd name": {user: odd, before: object(off), after: object(on, by(odd))},
		"the oldest of ten goes": {before: object(off, full...),
			after: object(on, append(slices.Clone(full[1:]), by("ann"))...)},
		"nothing is recorded":             {before: object(off, by("bob")), after: object(on, by("bob"))},
		"in another's name":               {before: object(off), after: object(on, by("bob")), refused: true},
		"in another's name, of a new one": {after: object(on, by("bob")), refused: true},
		"with one in another's name": {before: object(off), after: object(on, by("bob"), by("ann")),
			refused: true},
		"as if it were one's own": {before: object(off),
			after: object(on, `{"user":"ann", "user":"bob","action":"Reset"}`), refused: true},
		"no record at all":            {before: object(off), after: object(on, "ann"), refused: true},
		"without asking for anything": {before: object(off), after: object(off, by("ann")), refused: true},
		"one is taken away":           {before: object(off, by("bob")), after: object(on, by("ann")), refused: true},
		"all are taken away":          {before: object(off, by("bob")), after: object(on), refused: true},
	}
	g := newGuard(t, "evenkeel-requests")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request := tree{"userInfo": tree{"username": cmp.Or(tc.user, "ann")}}
			told := g.refusesRequest(t, request, tc.after, tc.before, "open", "reset", "record", "restore")
			if (told != "") != tc.refused ||
				tc.refused && !strings.Contains(told, "may not change who asked for what") {
				t.Errorf("told %q", told)
			}
		})
	}
}

func TestAnEarlierEndOfAHoldLetsGoOfIt(t *testing.T) {
	type spec = map[string]any
	breaker := func(s spec, status ...spec) map[string]any {
		b := spec{"spec": s, "metadata": spec{"name": "global", "generation": int64(3)}}
		for _, one := range status {
			b["status"] = one
		}
		return b
	}
	const soon, late = "2027-01-07T08:00:00Z", "2027-01-08T08:00:00Z"
	held := func(until string, status ...spec) spec {
		return breaker(spec{"mode": "ForcedOpen", "forcedOpenUntilTime": until}, status...)
	}
	forGood, automatic := breaker(spec{"mode": "ForcedOpen"}), breaker(spec{"mode": "Automatic"})
	seen := spec{"mode": "Automatic", "observedGeneration": int64(3), "state": "Closed"}
	never := "can't be deleted"
	cases := map[string]struct {
		before, after spec
		needs         string // a verb, nothing, or never
	}{
		"hold it open until a time":            {automatic, held(soon), "open"},
		"a new one, held open until a time":    {nil, held(soon), "open"},
		"hold it open for longer":              {held(soon), held(late), "open"},
		"hold it open for good":                {held(soon), forGood, "open"},
		"let go of it sooner":                  {held(late), held(soon), "reset"},
		"let go of it at some time":            {forGood, held(late), "reset"},
		"let go of it":                         {held(late), automatic, "reset"},
		"let go of it, of an end that is none": {held("soon"), automatic, "reset"},
		"the same end, in another zone":        {held(soon), held("2027-01-07T09:00:00+01:00"), "open"},
		"an earlier end, in another zone":      {held(soon), held("2027-01-07T08:59:59+01:00"), "reset"},
		"nothing of the sort":                  {held(soon), held(soon), ""},
		"delete it":                            {held(soon), nil, never},
		"delete one that is held for good, of which its status says nothing yet": {
			breaker(spec{"mode": "ForcedOpen"}, seen), nil, never},
		"delete it before the manager has seen its end": {
			held(soon, spec{"mode": "ForcedOpen", "observedGeneration": int64(3)}), nil, never},
		"delete it before the manager has seen a later end": {
			held(soon, spec{"mode": "Automatic", "observedGeneration": int64(2)}), nil, never},
		"delete it after its end": {held(soon, seen), nil, ""},
		"delete it after its end, while it is open": {
			held(soon, spec{"mode": "Automatic", "observedGeneration": int64(3), "state": "Open"}), nil, never},
	}
	g := newGuard(t, "evenkeel-breakers")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			others := slices.DeleteFunc([]string{"open", "reset"}, func(v string) bool { return v == tc.needs })
			told := g.refuses(t, tc.after, tc.before, others...)
			if (told != "") != (tc.needs != "") || !strings.Contains(told, tc.needs) {
				t.Errorf("without the verb %q: %q", tc.needs, told)
			}
			told = g.refuses(t, tc.after, tc.before, tc.needs)
			if (told != "") != (tc.needs == never) {
				t.Errorf("with the verb %q: %q", tc.needs, told)
			}
		})
	}
}

// TestWhatDecidesWhenItGoesAwayIsAskedForLikeItsDeletion has finalizers and owners of breakers and plans be changed: by
// them one goes away later, when nobody is asked any more.
func TestWhatDecidesWhenItGoesAwayIsAskedForLikeItsDeletion(t *testing.T) {
	type spec = map[string]any
	keep := []any{"example.com/keep"}
	owned := []any{spec{"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "1"}}
	with := func(metadata spec) spec {
		metadata["name"] = "one"
		return spec{"metadata": metadata, "spec": spec{"mode": "Automatic",
			"plan": spec{"policy": spec{"name": "tags"}}}}
	}
	plain, now := func() spec { return with(spec{}) }, "2027-01-07T08:00:00Z"
	type needs struct{ breaker, plan string } // empty: nothing
	cases := map[string]struct {
		before, after spec
		needs         needs
	}{
		"nothing of the sort":      {plain(), plain(), needs{}},
		"another label":            {plain(), with(spec{"labels": spec{"a": "b"}}), needs{}},
		"a finalizer is added":     {plain(), with(spec{"finalizers": keep}), needs{"reset", "abort"}},
		"a finalizer is taken off": {with(spec{"finalizers": keep}), plain(), needs{"reset", "abort"}},
		"an owner is added":        {plain(), with(spec{"ownerReferences": owned}), needs{"reset", "abort"}},
		"an owner is taken off":    {with(spec{"ownerReferences": owned}), plain(), needs{"reset", "abort"}},
		"all as it was": {with(spec{"finalizers": keep, "ownerReferences": owned}),
			with(spec{"finalizers": keep, "ownerReferences": owned}), needs{}},
		"it is made with an owner":    {nil, with(spec{"ownerReferences": owned}), needs{"reset", ""}},
		"it is made with a finalizer": {nil, with(spec{"finalizers": keep}), needs{"reset", ""}},
		"it is made":                  {nil, plain(), needs{}},
		"one that is being deleted is let go of": {with(spec{"finalizers": keep, "deletionTimestamp": now}),
			with(spec{"deletionTimestamp": now}), needs{"reset", "abort"}},
		"one that is being deleted is given an owner": {with(spec{"finalizers": keep, "deletionTimestamp": now}),
			with(spec{"finalizers": keep, "deletionTimestamp": now, "ownerReferences": owned}),
			needs{"reset", "abort"}},
	}
	for name, tc := range cases {
		for policy, verb := range map[string]string{
			"evenkeel-breakers": tc.needs.breaker, "evenkeel-plans": tc.needs.plan} {
			t.Run(policy+": "+name, func(t *testing.T) {
				g := newGuard(t, policy)
				all := []string{"open", "reset", "pause", "abort", "undo", "retry", "override-windows"}
				others := slices.DeleteFunc(all, func(v string) bool { return v == verb })
				told := g.refuses(t, tc.after, tc.before, others...)
				if (told != "") != (verb != "") || verb != "" && !strings.Contains(told, "the verb "+verb) {
					t.Errorf("without the verb %q: %q", verb, told)
				}
				for _, enough := range []string{verb, "record"} { // the manager may record
					if told := g.refuses(t, tc.after, tc.before, enough); told != "" {
						t.Errorf("with the verb %q: %q", enough, told)
					}
				}
			})
		}
	}
}

// TestADeletionThatIsDoneLaterIsNoWayRound has the garbage collector delete a breaker when it may be no longer closed, and
// a plan's records while its writes are undone.
func TestADeletionThatIsDoneLaterIsNoWayRound(t *testing.T) {
	type spec = map[string]any
	object := spec{"metadata": spec{"name": "one"}, "spec": spec{"plan": spec{"policy": spec{"name": "tags"}}}}
	ended := spec{"metadata": spec{"name": "one"}, "spec": object["spec"],
		"status": spec{"conditions": []any{spec{"type": "Ended", "status": "True"}}}}
	cases := map[string]struct {
		policy  string
		old     spec
		options spec
		verbs   []string
		want    string // empty: it is deleted
	}{
		"a breaker at once": {policy: "evenkeel-breakers", old: object,
			options: spec{"propagationPolicy": "Background"}},
		"a breaker by default": {policy: "evenkeel-breakers", old: object, options: spec{}},
		"a breaker after what it owns": {policy: "evenkeel-breakers", old: object,
			options: spec{"propagationPolicy": "Foreground"}, want: "that needs the verb reset"},
		"a breaker once nothing has it as owner": {policy: "evenkeel-breakers", old: object,
			options: spec{"propagationPolicy": "Orphan"}, want: "that needs the verb reset"},
		"a breaker, by the older option": {policy: "evenkeel-breakers", old: object,
			options: spec{"orphanDependents": true}, want: "that needs the verb reset"},
		"a breaker, with the verb": {policy: "evenkeel-breakers", old: object,
			options: spec{"propagationPolicy": "Foreground"}, verbs: []string{"reset"}},
		"a plan at work at once": {policy: "evenkeel-plans", old: object, options: spec{}, verbs: []string{"abort"}},
		"a plan at work after its records": {policy: "evenkeel-plans", old: object, verbs: []string{"abort"},
			options: spec{"propagationPolicy": "Foreground"}, want: "delete it with --cascade=background"},
		"a plan that has ended": {policy: "evenkeel-plans", old: ended,
			options: spec{"propagationPolicy": "Foreground"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			told := newGuard(t, tc.policy).refusesWith(t, tc.options, nil, tc.old, tc.verbs...)
			if (told != "") != (tc.want != "") || !strings.Contains(told, tc.want) {
				t.Errorf("want %q, got %q", tc.want, told)
			}
		})
	}
}

// TestAnOverrideIsEndedByWhoMayMakeIt has people create, change and delete a PolicyOverride.
func TestAnOverrideIsEndedByWhoMayMakeIt(t *testing.T) {
	type spec = map[string]any
	override := func(until string, labels ...string) spec {
		o := spec{"metadata": spec{"name": "p", "creationTimestamp": "2026-03-01T12:00:00Z"},
			"spec": spec{"policyUID": "1", "admissionAction": "Warn", "expirationTime": until}}
		for _, l := range labels {
			o["metadata"].(spec)["labels"] = spec{l: "x"}
		}
		return o
	}
	soon, week, later := "2026-03-01T14:00:00Z", "2026-03-08T12:00:30Z", "2026-03-08T13:00:00Z"
	cases := map[string]struct {
		object, old spec
		user        string
		verbs       []string
		refused     string
	}{
		"created without the verb": {object: override(soon), refused: "that needs the verb override"},
		"created":                  {object: override(soon), verbs: []string{"override"}},
		"created for a week":       {object: override(week), verbs: []string{"override"}},
		"created for longer":       {object: override(later), verbs: []string{"override"}, refused: "7 days at most"},
		"extended beyond a week": {object: override(later), old: override(soon), verbs: []string{"override"},
			refused: "7 days at most"},
		"labelled without the verb": {object: override(soon, "a"), old: override(soon)},
		"deleted without the verb": {old: override(soon),
			refused: "that needs the verb override on clusterregopolicies/p"},
		"deleted": {old: override(soon), verbs: []string{"override"}},
		"deleted with its policy": {old: override(soon),
			user: "system:serviceaccount:kube-system:generic-garbage-collector"},
	}
	g := newGuard(t, "evenkeel-overrides")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			request := spec{}
			if tc.user != "" {
				request["userInfo"] = spec{"username": tc.user}
			}
			got := g.refusesRequest(t, request, tc.object, tc.old, tc.verbs...)
			if (got != "") != (tc.refused != "") || !strings.Contains(got, tc.refused) {
				t.Errorf("got %q, want %q", got, tc.refused)
			}
		})
	}
}
