// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// origin is why content of a workload's template may stand there.
type origin string

const (
	older      origin = "older than the policy"
	exempted   origin = "by a user that the policy exempts"
	waived     origin = "under a waiver"
	unanswered origin = "never answered for by the policy"
)

// holder is a workload with where its privileged containers come from. The key is
// what a container is: its name and image.
type holder struct {
	object  tree
	origins map[string]origin
}

// history is a namespace with a Deployment, what its controllers make of it, and a
// policy that comes at some time, with every way to concern some and not others.
type history struct {
	t           *rapid.T
	policy      *v1alpha1.ClusterRegoPolicy
	installed   bool
	catalog     *catalog.Catalog
	namespace   string
	env         string
	waiver      string // the kind that is waived, or none
	condition   string // the policy's match condition, or none
	injects     bool   // another webhook injects a privileged container into Pods
	deployment  *holder
	replicaSets []*holder
	uids        int
}

// historiesACheck makes the usual hundred checks of rapid enough to see them all.
const historiesACheck = 10

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// What a Pod's privileged containers are let through for stands at its workload, and
// there the policy has had its say on that very content, or is younger than it.
func TestWhatPassesAtThePodWasJudgedAtTheWorkload(t *testing.T) {
	admitted := map[origin]int{}
	rapid.Check(t, func(rt *rapid.T) {
		for range historiesACheck {
			h := newHistory(rt)
			for range rapid.IntRange(4, 14).Draw(rt, "steps") {
				h.step()
				h.reconcile(admitted)
			}
		}
	})
	t.Log(admitted)
	if admitted[older] == 0 && !testing.Short() { // the few checks of a short run may miss it
		t.Errorf("no history had an old violator's Pod: the property says nothing of it")
	}
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, catalog: catalog.New(catalog.Options{TimeLimit: 5 * time.Second}), namespace: "shop",
		env: "dev"}
	h.policy = webhooktest.NewPolicy(
		"p", rapid.SampledFrom([]string{webhooktest.PrivilegedRego, withoutPath}).Draw(t, "rule"),
		func(p *v1alpha1.ClusterRegoPolicy) {
			m := &p.Spec.Match
			p.Spec.Admission.Operations = rapid.SampledFrom(
				[][]v1alpha1.Operation{{"CREATE"}, {"UPDATE"}, {"CREATE", "UPDATE"}, {"CREATE", "DELETE"},
					{"UPDATE", "DELETE"}}).Draw(t, "operations")
			m.Kinds = append(m.Kinds,
				rapid.SampledFrom([][]v1alpha1.KindMatch{
					nil, nil, {{APIGroups: []string{"apps"}, Kinds: []string{"Deployment"}}},
					{{APIGroups: []string{"apps"}, Kinds: []string{"ReplicaSet"}}}}).Draw(t, "other kinds")...)
			templates := rapid.SampledFrom([]bool{true, true, true, false}).Draw(t, "podTemplates")
			m.PodTemplates = &templates
			p.Spec.Admission.ExistingViolations = rapid.SampledFrom(
				[]v1alpha1.ExistingViolations{v1alpha1.ExistingAllow, v1alpha1.ExistingDeny}).Draw(t,
				"existingViolations")
			m.Namespaces = rapid.SampledFrom([][]string{nil, nil, nil, {"shop"}, {"bank"}}).Draw(t, "namespaces")
			m.ExcludedNamespaces = rapid.SampledFrom([][]string{nil, nil, nil, {"bank"}, {"sh*"}}).Draw(
				t, "excludedNamespaces")
			m.NamespaceSelector = rapid.SampledFrom(
				[]*v1alpha1.LabelSelector{nil, nil, labelsAre("env", "prod"),
					labelsAre("kubernetes.io/metadata.name", "shop")}).Draw(t, "namespaceSelector")
			m.ObjectSelector = rapid.SampledFrom([]*v1alpha1.LabelSelector{nil, nil, labelsAre("tier", "x")}).Draw(
				t, "labelSelector")
			h.condition = rapid.SampledFrom([]string{"", "", "", notByCI, tierless, specChanges}).Draw(
				t, "matchConditions")
			if h.condition != "" {
				p.Spec.Admission.MatchConditions = []v1alpha1.MatchCondition{{Name: "drawn", Expression: h.condition}}
			}
			p.Spec.Admission.Exempt.Users = rapid.SampledFrom([][]string{nil, {"ci"}}).Draw(t, "exemptUsers")
		})
	return h
}

func labelsAre(key, value string) *v1alpha1.LabelSelector {
	return &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{key: v1alpha1.LabelValue(value)}}
}

// step does one thing that somebody may do.
func (h *history) step() {
	user := rapid.SampledFrom([]string{"ann", "ann", "ci"}).Draw(h.t, "user")
	actions := map[string]func(){
		"install the policy":  h.install,
		"label the namespace": func() { h.env = rapid.SampledFrom([]string{"dev", "prod"}).Draw(h.t, "env") },
		"waive":               h.waive,
		"inject":              func() { h.injects = !h.injects },
		"write the Deployment": func() {
			h.deployment = h.write(h.deployment, "Deployment", user)
		},
		"write a ReplicaSet": func() {
			if len(h.replicaSets) > 0 {
				i := rapid.IntRange(0, len(h.replicaSets)-1).Draw(h.t, "which")
				h.replicaSets[i] = h.write(h.replicaSets[i], "ReplicaSet", user)
			}
		},
	}
	names := slices.Sorted(maps.Keys(actions))
	names = append(names, "install the policy", "waive", "write the Deployment", "write the Deployment",
		"write the Deployment")
	actions[rapid.SampledFrom(names).Draw(h.t, "action")]()
}

func (h *history) install() {
	if h.installed {
		return
	}
	h.installed = true
	if err := h.catalog.Set(h.policy); err != nil {
		h.t.Fatal(err)
	}
}

// waive makes, replaces or removes a waiver of what one kind violates.
func (h *history) waive() {
	h.waiver = rapid.SampledFrom([]string{"", "Deployment", "Deployment", "Deployment", "Pod"}).Draw(h.t, "waived kind")
	e := &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "w"}}
	e.Spec.Policies, e.Spec.ExpirationTime = []string{"p"}, metav1.NewTime(noon.Add(time.Hour))
	if h.waiver == "" {
		e.Spec.ExpirationTime = metav1.NewTime(noon.Add(-time.Hour))
	}
	e.Spec.Match.Kinds = []v1alpha1.KindMatch{
		{APIGroups: []string{"", "apps"}, Kinds: []string{max(h.waiver, "Deployment")}}}
	if err := h.catalog.SetWaiver(e); err != nil {
		h.t.Fatal(err)
	}
}

// write has a user create or change a workload, and returns what then stands.
func (h *history) write(old *holder, kind, user string) *holder {
	next := &holder{origins: map[string]origin{}}
	var before tree
	if old == nil {
		h.uids++
		next.object = webhooktest.Set(workload("apps/v1", kind, false, false), fmt.Sprint(h.uids), "metadata", "uid")
	} else {
		before = old.object
		next.object = copied(before)
	}
	h.change(next.object)
	if !h.passes(kind, user, next.object, before) {
		return old
	}
	for _, c := range privilegedIn(next.object) {
		next.origins[c] = h.why(kind, user, next.object, before)
		if old != nil && old.origins[c] != "" && (old.origins[c] != unanswered || next.origins[c] == "") {
			next.origins[c] = old.origins[c]
		}
		if next.origins[c] == "" {
			h.t.Fatalf("%s put %s into a %s that the policy concerns, and wasn't refused", user, c, kind)
		}
	}
	return next
}

// change is what a user may change of a workload.
func (h *history) change(object tree) {
	template := object["spec"].(tree)["template"].(tree)
	for i := range 2 {
		container := template["spec"].(tree)["containers"].([]any)[i].(tree)
		if rapid.Bool().Draw(h.t, "touch") {
			container["securityContext"] = tree{"privileged": rapid.Bool().Draw(h.t, "privileged")}
			container["image"] = rapid.SampledFrom([]string{"one", "two"}).Draw(h.t, "image")
		}
	}
	tiers := []tree{{}, {"tier": "x"}}
	object["metadata"].(tree)["labels"] = rapid.SampledFrom(tiers).Draw(h.t, "labels")
	template["metadata"] = tree{"labels": rapid.SampledFrom(tiers).Draw(h.t, "labels of the template")}
	object["spec"].(tree)["replicas"] = int64(rapid.IntRange(0, 3).Draw(h.t, "replicas"))
}

// why says why a user may put content into a workload; it is empty where only the
// object before the change can say.
func (h *history) why(kind, user string, object, before tree) origin {
	switch {
	case !h.installed:
		return older
	case !h.concerned(kind, operationOf(before), object, before), !h.asked(user, object, before):
		return unanswered
	case slices.Contains(h.policy.Spec.Admission.Exempt.Users, user):
		return exempted
	case h.waiver == kind:
		return waived
	default:
		return ""
	}
}

func operationOf(before tree) policy.Operation {
	if before == nil {
		return policy.Create
	}
	return policy.Update
}

// concerned says by the API's own words whether the policy concerns a change.
func (h *history) concerned(kind string, op policy.Operation, object, before tree) bool {
	m, operations := &h.policy.Spec.Match, h.policy.Spec.Admission.Operations
	creates := slices.Contains(operations, v1alpha1.OperationCreate)
	operation := slices.Contains(operations, v1alpha1.Operation(op)) || kind != "Pod" && op == policy.Update &&
		creates && *m.PodTemplates
	named := kind == "Pod" || *m.PodTemplates || slices.ContainsFunc(m.Kinds, func(r v1alpha1.KindMatch) bool {
		return slices.Contains(r.Kinds, kind)
	})
	namespace := len(m.Namespaces) == 0 || m.Namespaces[0] == h.namespace
	excluded := len(m.ExcludedNamespaces) > 0 && m.ExcludedNamespaces[0] == "sh*"
	inEnv := m.NamespaceSelector == nil || m.NamespaceSelector.MatchLabels["env"] == "" || h.env == "prod"
	labelled := m.ObjectSelector == nil || tierOf(object) || before != nil && tierOf(before)
	return operation && named && namespace && !excluded && inEnv && labelled
}

// The match conditions that are drawn: on the user, on the object, on what changes.
const (
	notByCI     = `request.userInfo.username != "ci"`
	tierless    = `!has(object.metadata.labels) || !("tier" in object.metadata.labels)`
	specChanges = `oldObject == null || object.spec != oldObject.spec`
)

// asked says what the match condition says, in Go.
func (h *history) asked(user string, object, before tree) bool {
	switch h.condition {
	case notByCI:
		return user != "ci"
	case tierless:
		return !tierOf(object)
	case specChanges:
		return before == nil || fmt.Sprint(object["spec"]) != fmt.Sprint(before["spec"])
	default:
		return true
	}
}

func tierOf(object tree) bool {
	labels, _ := policy.Metadata(object)["labels"].(tree)
	return labels["tier"] == "x"
}

// passes asks admission.
func (h *history) passes(kind, user string, object, before tree) bool {
	group := "apps"
	if kind == "Pod" {
		group = ""
	}
	r := &policy.Request{
		UID: "1", Operation: operationOf(before),
		Kind:      policy.GroupVersionKind{Group: group, Version: "v1", Kind: kind},
		Namespace: h.namespace, Name: "web", Object: object, OldObject: before,
		UserInfo: policy.UserInfo{Username: user}, Now: noon,
		NamespaceObject: tree{
			"metadata": tree{"name": h.namespace,
				"labels": tree{"env": h.env, "kubernetes.io/metadata.name": h.namespace}}},
	}
	v := decide(context.Background(), h.catalog.Snapshot(), v1alpha1.FailurePolicyFail, r, h)
	if len(v.failed) > 0 {
		h.t.Fatal(v.failed[0].err)
	}
	return len(v.blocking()) == 0
}

// Get finds a workload by its UID: names don't matter here.
func (h *history) Get(_ context.Context, owner match.Owner, _ string) (map[string]any, error) {
	for _, w := range append([]*holder{h.deployment}, h.replicaSets...) {
		if w != nil && policy.Metadata(w.object)["uid"] == owner.UID {
			return w.object, nil
		}
	}
	return nil, nil
}

// reconcile has the controllers make what they would, and looks at what gets through.
func (h *history) reconcile(admitted map[origin]int) {
	if d := h.deployment; d != nil && !slices.ContainsFunc(h.replicaSets, func(rs *holder) bool {
		return sameTemplate(rs.object, d.object)
	}) {
		h.uids++
		made := copied(d.object)
		made["kind"] = "ReplicaSet"
		labels := made["spec"].(tree)["template"].(tree)["metadata"].(tree)["labels"]
		made["metadata"] = tree{"name": "web", "namespace": h.namespace, "uid": fmt.Sprint(h.uids), "labels": labels,
			"ownerReferences": podOf(d.object)["metadata"].(tree)["ownerReferences"]}
		if h.passes("ReplicaSet", "system:serviceaccount:kube-system:deployment-controller", made, nil) {
			h.replicaSets = append(h.replicaSets, &holder{object: made, origins: maps.Clone(d.origins)})
		}
	}
	for _, rs := range h.replicaSets {
		h.makePod(rs, admitted)
	}
}

func (h *history) makePod(rs *holder, admitted map[origin]int) {
	pod := podOf(rs.object)
	if h.injects {
		pod = copied(pod)
		addPrivileged(pod)
	}
	passed := h.passes("Pod", replicaSetController, pod, nil)
	if !h.installed || !h.concerned("Pod", policy.Create, pod, nil) || !h.asked(replicaSetController, pod, nil) ||
		h.waiver == "Pod" {
		if !passed {
			h.t.Fatal("a Pod that doesn't concern the policy was refused")
		}
		return
	}
	if passed && h.injects {
		h.t.Fatal("a Pod was let through with a privileged container that its workload doesn't have")
	}
	allOlder := true
	for _, content := range privilegedIn(rs.object) {
		allOlder = allOlder && rs.origins[content] == older
		if !passed {
			continue
		}
		if h.condition != "" {
			h.t.Fatalf("a Pod was let through for %s by a policy with a match condition", content)
		}
		admitted[rs.origins[content]]++
		if rs.origins[content] == unanswered {
			h.t.Fatalf("a Pod was let through for %s, which stands in its workload %s", content, unanswered)
		}
	}
	m := &h.policy.Spec.Match
	mustPass := allOlder && !h.injects && h.condition == "" && *m.PodTemplates && m.ObjectSelector == nil &&
		(m.NamespaceSelector == nil || m.NamespaceSelector.MatchLabels["env"] == "")
	if mustPass && !passed {
		h.t.Fatal("an old violator doesn't get its Pod")
	}
}

// privilegedIn lists the privileged containers of a workload, by name and image.
func privilegedIn(object tree) []string {
	var out []string
	for _, element := range object["spec"].(tree)["template"].(tree)["spec"].(tree)["containers"].([]any) {
		container := element.(tree)
		if container["securityContext"].(tree)["privileged"] == true {
			out = append(out, fmt.Sprintf("%s running %s", container["name"], container["image"]))
		}
	}
	return out
}

func sameTemplate(a, b tree) bool {
	return fmt.Sprint(a["spec"].(tree)["template"]) == fmt.Sprint(b["spec"].(tree)["template"])
}

// copied is a deep copy.
func copied(object tree) tree { return copiedValue(object).(tree) }

func copiedValue(value any) any {
	switch v := value.(type) {
	case tree:
		out := tree{}
		for key, element := range v {
			out[key] = copiedValue(element)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copiedValue(v[i])
		}
		return out
	default:
		return value
	}
}
