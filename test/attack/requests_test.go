// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// breakerIn makes a namespace's breaker, which goes with the spec.
func breakerIn(ctx context.Context, namespace string) *v1alpha1.RemediationBreaker {
	GinkgoHelper()
	cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NamespaceBreakerPrefix + namespace},
		Spec: v1alpha1.RemediationBreakerSpec{
			Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: namespace}}}
	suite.Create(ctx, cb)
	DeferCleanup(func(ctx context.Context) { suite.RemoveBreaker(ctx, cb.Name) })
	return cb
}

// editor is a client of a user who may write every kind of Evenkeel's as Kubernetes has
// it, and has the given verbs besides, on the resources of the given names.
func editor(ctx context.Context, name string, rules ...rbacv1.PolicyRule) client.Client {
	GinkgoHelper()
	rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group},
		Resources: []string{"clusterregopolicies", "remediationbreakers", "remediations"},
		Verbs:     []string{"get", "list", "create", "update", "patch", "delete"}})
	return userOf(ctx, name, rules...)
}

func verbOn(verb, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{resource},
		Verbs: []string{verb}, ResourceNames: names}
}

func merge(ctx context.Context, as client.Client, obj client.Object, patch string) error {
	return as.Patch(ctx, obj.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// waysTo are the ways to change the spec of an object, each with a merge patch of it:
// the spec's fields that are null go.
func waysTo(ctx context.Context, as client.Client, obj client.Object) map[string]func(patch string) error {
	changed := func(patch string) (*unstructured.Unstructured, map[string]any) {
		GinkgoHelper()
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(gvkOf(obj))
		Expect(suite.API.Get(ctx, client.ObjectKeyFromObject(obj), now)).To(Succeed())
		var fields map[string]any
		Expect(json.Unmarshal([]byte(patch), &fields)).To(Succeed())
		for field, value := range fields {
			if value == nil {
				unstructured.RemoveNestedField(now.Object, "spec", field)
			} else {
				Expect(unstructured.SetNestedField(now.Object, value, "spec", field)).To(Succeed())
			}
		}
		return now, fields
	}
	return map[string]func(string) error{
		"update": func(patch string) error {
			// The manager writes the status meanwhile.
			return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				now, _ := changed(patch)
				return as.Update(ctx, now)
			})
		},
		"merge patch": func(patch string) error { return merge(ctx, as, obj, `{"spec":`+patch+`}`) },
		"JSON patch": func(patch string) error {
			_, fields := changed(patch)
			var steps []map[string]any
			for field, value := range fields {
				steps = append(steps, map[string]any{"op": "add", "path": "/spec/" + field, "value": value})
				if value == nil {
					steps[len(steps)-1] = map[string]any{"op": "remove", "path": "/spec/" + field}
				}
			}
			raw, err := json.Marshal(steps)
			Expect(err).NotTo(HaveOccurred())
			return as.Patch(ctx, obj.DeepCopyObject().(client.Object), client.RawPatch(types.JSONPatchType, raw))
		},
		"apply": func(patch string) error {
			now, _ := changed(patch)
			now.SetManagedFields(nil)
			now.SetResourceVersion("")
			unstructured.RemoveNestedField(now.Object, "status")
			//nolint:staticcheck // An unstructured object has no apply configuration.
			return as.Patch(ctx, now, client.Apply, client.FieldOwner("attacker"), client.ForceOwnership)
		},
	}
}

func gvkOf(obj client.Object) schema.GroupVersionKind {
	GinkgoHelper()
	gvk, err := suite.API.GroupVersionKindFor(obj)
	Expect(err).NotTo(HaveOccurred())
	return gvk
}

// unhook takes the webhook configurations away.
func unhook(ctx context.Context) {
	GinkgoHelper()
	named := metav1.ObjectMeta{Name: "evenkeel"}
	for _, config := range []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named},
	} {
		Expect(client.IgnoreNotFound(suite.API.Delete(ctx, config))).To(Succeed())
	}
}

// forging is a merge patch of a spec that has bob ask for it.
func forging(spec, action string) string {
	line := fmt.Sprintf(`{"user":"bob","action":%q,"requestTime":"2026-01-01T00:00:00Z"}`, action)
	return fmt.Sprintf(`{"spec":%s,"metadata":{"annotations":{%q:%q}}}`, spec, v1alpha1.AnnotationRequests, line)
}

var _ = Describe("A user who may write breakers", func() {
	var (
		namespace string
		cb        *v1alpha1.RemediationBreaker
	)
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "breakers")
		cb = breakerIn(ctx, namespace)
	})

	It("neither opens, lets go of nor resets one without the verb for it, in any way", func(ctx context.Context) {
		attempt("write a breaker's mode or token with no permission but to write breakers")
		as := editor(ctx, "editor-of-"+namespace)
		for _, how := range waysTo(ctx, as, cb) {
			Expect(how(`{"mode":"ForcedOpen"}`)).To(
				MatchError(ContainSubstring("that needs the verb open on remediationbreakers/" + cb.Name)))
			Expect(how(`{"resetToken":"1","reason":"because"}`)).To(
				MatchError(ContainSubstring("that needs the verb reset on remediationbreakers/" + cb.Name)))
		}
		held := cb.DeepCopy()
		held.ObjectMeta = metav1.ObjectMeta{Name: v1alpha1.NamespaceBreakerPrefix + "new-" + namespace}
		held.Spec.Scope.Namespace, held.Spec.Mode = "new-"+namespace, v1alpha1.BreakerForcedOpen
		Expect(as.Create(ctx, held)).To(MatchError(ContainSubstring("that needs the verb open")),
			"one that is held open from the start")
		held.Spec.Mode, held.Spec.ResetToken = "", "1"
		Expect(as.Create(ctx, held)).To(MatchError(ContainSubstring("that needs the verb reset")),
			"one with a token from the start")

		Expect(merge(ctx, suite.API, cb, `{"spec":{"mode":"ForcedOpen"}}`)).To(Succeed())
		for name, how := range waysTo(ctx, as, cb) {
			Expect(how(`{"mode":"Automatic"}`)).To(
				MatchError(ContainSubstring("that needs the verb reset on remediationbreakers/"+cb.Name)), name)
			if name != "apply" { // which takes away only what the same manager has applied
				Expect(how(`{"mode":null}`)).To(
					MatchError(ContainSubstring("that needs the verb reset on remediationbreakers/"+cb.Name)), name)
			}
		}
		Expect(as.Delete(ctx, cb)).To(MatchError(ContainSubstring("a person holds it open")))
	})

	It("does what the verb is for, on that breaker alone, and is on record with the reason", func(ctx context.Context) {
		attempt("use the verbs open and reset of one breaker on another, or under another name")
		other := breakerIn(ctx, suite.Namespace(ctx, "others"))
		opener := editor(ctx, "opener-of-"+namespace, verbOn("open", "remediationbreakers", cb.Name))
		operator := editor(ctx, "operator-of-"+namespace, verbOn("reset", "remediationbreakers", cb.Name))

		Expect(merge(ctx, opener, other, `{"spec":{"mode":"ForcedOpen"}}`)).To(
			MatchError(ContainSubstring("that needs the verb open on remediationbreakers/" + other.Name)))
		Expect(merge(ctx, opener, cb, forging(`{"mode":"ForcedOpen","reason":"INC-42"}`, "ForceOpen"))).To(Succeed())
		Expect(merge(ctx, opener, cb, `{"spec":{"mode":"Automatic"}}`)).To(
			MatchError(ContainSubstring("that needs the verb reset")))
		Expect(merge(ctx, operator, cb, `{"spec":{"mode":"Automatic","reason":"INC-42 is over"}}`)).To(Succeed())
		Expect(merge(ctx, operator, cb, `{"spec":{"resetToken":"1","reason":null}}`)).To(
			MatchError(ContainSubstring("a reset needs a reason")))
		Expect(merge(ctx, operator, cb, `{"spec":{"resetToken":"1","reason":"the registry is back"}}`)).To(Succeed())
		Expect(merge(ctx, operator, cb, `{"metadata":{"annotations":null}}`)).To(Succeed(), "admission restores them")
		Expect(merge(ctx, operator, cb, forging(`{}`, "ForceOpen"))).To(Succeed(), "admission restores them")

		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, cb)).To(Succeed())
			g.Expect(cb.Status.LastHandledResetToken).To(Equal("1"))
		}).Should(Succeed())
		Expect(cb.Spec.Reason).To(Equal("the registry is back"), "what Git says stays as it is")
		var said []string
		for _, r := range v1alpha1.Requests(cb) {
			said = append(said, fmt.Sprintf("%s by %s", r.Action, &r))
		}
		Expect(said).To(
			Equal([]string{"ForceOpen by opener-of-" + namespace + ": INC-42",
				"Release by operator-of-" + namespace + ": INC-42 is over",
				"Reset by operator-of-" + namespace + ": the registry is back"}))
		Expect(cb.Status.LastReset.By).To(Equal("operator-of-" + namespace))
		suite.AwaitEvent(ctx, "BreakerReset", cb.Name,
			ContainSubstring("operator-of-"+namespace+": the registry is back"))
	})

	It("lets go of one no sooner than it is held open for, without the verb for it, in any way",
		func(ctx context.Context) {
			attempt("shorten the hold of a breaker with the verb open alone, also while nobody answers")
			opener := editor(ctx, "opener-of-"+namespace, verbOn("open", "remediationbreakers", cb.Name))
			stranger := editor(ctx, "stranger-to-"+namespace)
			until := func(at string) string {
				return `{"mode":"ForcedOpen","forcedOpenUntilTime":"` + at + `T08:00:00Z"}`
			}
			reset := MatchError(ContainSubstring("that needs the verb reset on remediationbreakers/" + cb.Name))
			Expect(merge(ctx, opener, cb, `{"spec":{"mode":"ForcedOpen"}}`)).To(Succeed())
			for name, how := range waysTo(ctx, opener, cb) {
				Expect(how(until("2099-01-07"))).To(reset, "an end where there was none, by "+name)
			}
			Expect(merge(ctx, suite.API, cb, `{"spec":`+until("2099-01-07")+`}`)).To(Succeed())
			for name, how := range waysTo(ctx, opener, cb) {
				Expect(how(until("2098-01-07"))).To(reset, "an earlier end by "+name)
			}
			for name, how := range waysTo(ctx, stranger, cb) {
				Expect(how(until("2100-01-07"))).To(MatchError(ContainSubstring("that needs the verb open")), name)
			}
			Expect(merge(ctx, opener, cb, `{"spec":`+until("2100-01-07")+`}`)).To(Succeed(), "for longer")
			Expect(merge(ctx, opener, cb, `{"spec":{"forcedOpenUntilTime":null}}`)).To(Succeed(), "for good")

			Expect(manager.Kill()).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				Expect(manager.Start(ctx)).To(Succeed())
				suite.AwaitAdmission(ctx)
			})
			Expect(merge(ctx, suite.API, cb, `{"spec":`+until("2099-01-07")+`}`)).To(
				MatchError(ContainSubstring("failed calling webhook")), "nobody lets go of it unrecorded")
			unhook(ctx)
			Eventually(ctx, func() error { return merge(ctx, opener, cb, `{"spec":`+until("2099-01-07")+`}`) }).ShouldNot(
				MatchError(ContainSubstring("failed calling webhook")), "the API server goes on asking for a moment")
			Expect(merge(ctx, opener, cb, `{"spec":`+until("2099-01-07")+`}`)).To(reset, "with no webhook at all")
		})

	It("can't close one by deleting it while admission is away; the kill switch works meanwhile",
		func(ctx context.Context) {
			attempt("delete an open breaker while no webhook is there, or while none answers")
			as := editor(ctx, "editor-of-"+namespace, verbOn("open", "remediationbreakers"),
				verbOn("reset", "remediationbreakers"))
			Expect(manager.Kill()).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				Expect(manager.Start(ctx)).To(Succeed())
				suite.AwaitAdmission(ctx)
			})

			Expect(merge(ctx, as, cb, `{"spec":{"mode":"ForcedOpen","reason":"INC-43"}}`)).To(
				Succeed(), "while nobody answers")
			Expect(merge(ctx, as, cb, `{"spec":{"mode":"Automatic"}}`)).To(
				MatchError(ContainSubstring("failed calling webhook")))
			Expect(merge(ctx, as, cb, forging(`{}`, "ForceOpen"))).To(
				MatchError(ContainSubstring("failed calling webhook")), "nobody writes another's name meanwhile")
			Expect(as.Delete(ctx, cb)).To(MatchError(ContainSubstring("a person holds it open")))
			unhook(ctx)
			for _, who := range []client.Client{as, suite.API, suite.AsManager()} {
				Expect(who.Delete(ctx, cb)).To(MatchError(ContainSubstring("a person holds it open")))
			}
			stranger := editor(ctx, "stranger-to-"+namespace)
			Eventually(ctx, func() error {
				return merge(ctx, stranger, cb, `{"spec":{"mode":"Automatic"}}`)
			}).Should(MatchError(ContainSubstring("that needs the verb reset")),
				"with no webhook at all, which the API server goes on asking for a moment")
			for _, spec := range []string{`{}`, `{"resetToken":"7","reason":"INC-43"}`} {
				Expect(merge(ctx, as, cb, forging(spec, "Reset"))).To(
					MatchError(ContainSubstring("may not change who asked for what")), "nor another's name then: "+spec)
			}
		})
})

var _ = Describe("A user who may write plans", func() {
	// awaiting makes a policy whose plan waits for an answer, and returns that plan.
	awaiting := func(ctx context.Context, about string) *v1alpha1.Remediation {
		GinkgoHelper()
		namespace := suite.Namespace(ctx, about)
		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationManual)))
		return suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseAwaitingApproval)
	}
	const yes = `{"approval":{"decision":"Approve"}}`

	It("asks nothing of a plan without the verb on its policy, in any way, nor deletes one at work",
		func(ctx context.Context) {
			attempt("pause, abort, undo, retry, answer or delete a plan, or change the end of a pause, with no " +
				"permission but to write plans")
			rem := awaiting(ctx, "asks")
			other := awaiting(ctx, "asks-other")
			as := editor(ctx, "asker-of-"+rem.Spec.Plan.Policy.Name,
				verbOn("pause", "clusterregopolicies", other.Spec.Plan.Policy.Name),
				verbOn("abort", "clusterregopolicies", other.Spec.Plan.Policy.Name),
				verbOn("undo", "clusterregopolicies", other.Spec.Plan.Policy.Name),
				verbOn("retry", "clusterregopolicies", other.Spec.Plan.Policy.Name),
				verbOn("override-windows", "clusterregopolicies", other.Spec.Plan.Policy.Name),
				verbOn("approve", "clusterregopolicies", other.Spec.Plan.Policy.Name))
			needs := func(verb string) gomegatypes.GomegaMatcher {
				return MatchError(ContainSubstring(
					"that needs the verb " + verb + " on clusterregopolicies/" + rem.Spec.Plan.Policy.Name))
			}
			for name, how := range waysTo(ctx, as, rem) {
				Expect(how(`{"desiredState":"Paused"}`)).To(needs("pause"), name)
				Expect(how(`{"desiredState":"Aborted"}`)).To(needs("abort"), name)
				Expect(how(`{"desiredState":"Undone"}`)).To(needs("undo"), name)
				Expect(how(`{"retryToken":"1"}`)).To(needs("retry"), name)
				Expect(how(`{"windows":"Ignore"}`)).To(needs("override-windows"), name)
				Expect(how(yes)).To(needs("approve"), name)
				Expect(how(`{"approval":{"decision":"Reject"}}`)).To(needs("approve"), name)
			}
			paused := `{"desiredState":"Paused","pausedUntilTime":"2099-01-07T08:00:00Z"}`
			Expect(merge(ctx, suite.API, rem, `{"spec":`+paused+`}`)).To(Succeed())
			for name, how := range waysTo(ctx, as, rem) {
				Expect(how(`{"desiredState":"Paused","pausedUntilTime":"2098-01-07T08:00:00Z"}`)).To(
					needs("pause"), "an earlier end by "+name)
				Expect(how(`{"desiredState":"Paused","pausedUntilTime":"2100-01-07T08:00:00Z"}`)).To(
					needs("pause"), "a later end by "+name)
				if name != "apply" { // which takes away only what the same manager has applied
					Expect(how(`{"pausedUntilTime":null}`)).To(needs("pause"), "no end by "+name)
				}
			}
			Expect(merge(ctx, suite.API, rem, `{"spec":{"desiredState":"Running"}}`)).To(Succeed())
			Expect(as.Delete(ctx, rem)).To(needs("abort"))
			Expect(merge(ctx, suite.API, rem, `{"spec":{"desiredState":"Paused"}}`)).To(Succeed())
			Expect(merge(ctx, as, rem, `{"spec":{"desiredState":"Running"}}`)).To(needs("pause"))
			Expect(merge(ctx, as, rem, `{"spec":{"desiredState":null}}`)).To(needs("pause"))
			Expect(merge(ctx, as, other, forging(yes, "Approve"))).To(Succeed(), "of the policy that they may approve")
			Expect(suite.Get(ctx, other)).To(Succeed())
			Expect(v1alpha1.Requests(other)).To(HaveExactElements(
				HaveField("User", "asker-of-"+rem.Spec.Plan.Policy.Name)), "in their own name")
			for name, how := range waysTo(ctx, as, other) {
				Expect(how(`{"approval":{"decision":"Reject"}}`)).To(
					MatchError(ContainSubstring("an answer can't be changed or taken back")), name)
				if name != "apply" {
					Expect(how(`{"approval":null}`)).To(
						MatchError(ContainSubstring("an answer can't be changed or taken back")), name)
				}
			}
			for _, typo := range []string{"paused", "abort", "undo", "retries"} {
				body := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{%q:true}}`, typo))
				Expect(suite.API.Patch(ctx, rem.DeepCopy(), body,
					client.FieldValidation(metav1.FieldValidationStrict))).To(
					MatchError(ContainSubstring("unknown field")))
			}
		})

	It("does what the verbs are for, is on record, and takes back neither an abort nor an undo",
		func(ctx context.Context) {
			attempt("take an abort or an undo back, or ask in another's name")
			rem := awaiting(ctx, "does")
			name := rem.Spec.Plan.Policy.Name
			as := editor(ctx, "operator-of-"+name, verbOn("pause", "clusterregopolicies", name),
				verbOn("abort", "clusterregopolicies", name), verbOn("undo", "clusterregopolicies", name))
			Expect(merge(ctx, as, rem, forging(`{"desiredState":"Paused","reason":"INC-42"}`, "Pause"))).To(Succeed())
			Expect(merge(ctx, as, rem, `{"spec":{"desiredState":"Running","reason":null}}`)).To(Succeed())
			Expect(merge(ctx, as, rem, `{"spec":{"desiredState":"Aborted","reason":"not today"}}`)).To(Succeed())
			Expect(merge(ctx, suite.API, rem, `{"spec":{"desiredState":"Running"}}`)).To(
				MatchError(ContainSubstring("can't be taken back")))
			ended := suite.AwaitPhase(ctx, name, v1alpha1.PhaseAborted)
			Expect(ended.Status.Message).To(
				ContainSubstring("operator-of-" + name +
					" has ended the rollout (spec.desiredState: Aborted): not today"))
			Expect(merge(ctx, as, rem, `{"spec":{"desiredState":"Undone","reason":null}}`)).To(
				Succeed(), "what was aborted can be undone")
			Expect(merge(ctx, suite.API, rem, `{"spec":{"desiredState":"Aborted"}}`)).To(
				MatchError(ContainSubstring("can't be taken back")))
			Expect(merge(ctx, suite.API, rem, `{"spec":{"desiredState":null}}`)).To(
				MatchError(ContainSubstring("can't be taken back")))

			Expect(suite.Get(ctx, rem)).To(Succeed())
			var said []string
			for _, r := range v1alpha1.Requests(rem) {
				said = append(said, fmt.Sprintf("%s by %s", r.Action, &r))
			}
			who := "operator-of-" + name
			Expect(said).To(
				Equal([]string{"Pause by " + who + ": INC-42", "Resume by " + who, "Abort by " + who + ": not today",
					"Undo by " + who}))
			Expect(as.Delete(ctx, rem)).To(Succeed(), "one that has ended")
		})
})
