// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// migrates runs a command of the migration, which must end with a code.
func migrates(ctx context.Context, code int, args ...string) string {
	GinkgoHelper()
	out, errs, ended := suite.CommandLine(ctx, append([]string{"migrate", "gatekeeper"}, args...)...)
	Expect(ended).To(Equal(code), "%s\n%s\n%s", strings.Join(args, " "), out, errs)
	return out + errs
}

// template is a ConstraintTemplate whose constraints ask for a value of the key state in ConfigMaps.
func template(kind string) string {
	return fmt.Sprintf(`apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: %s}
spec:
  crd: {spec: {names: {kind: %s}, validation: {openAPIV3Schema: {type: object, properties: {state: {type: string}}}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package rule

      violation[{"msg": msg}] {
        not input.review.object.data.state == input.parameters.state
        msg := sprintf("state must be %%v", [input.parameters.state])
      }
`, strings.ToLower(kind), kind)
}

// constraint is one on the ConfigMaps of a namespace.
func constraint(kind, name, namespace, action string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": map[string]any{"name": name},
		"spec": map[string]any{"match": map[string]any{"namespaces": []any{namespace},
			"kinds":         []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{"ConfigMap"}}},
			"labelSelector": map[string]any{"matchLabels": map[string]any{"fixture": "target"}}},
			"parameters": map[string]any{"state": "good"}},
	}}
	if action != "" {
		Expect(unstructured.SetNestedField(object.Object, action, "spec", "enforcementAction")).To(Succeed())
	}
	return object
}

// changes sets a field of a constraint as a person would, whatever Gatekeeper writes to its status.
func changes(ctx context.Context, object *unstructured.Unstructured, value any, field ...string) {
	GinkgoHelper()
	rig.Update(ctx, suite.API, object, func() {
		Expect(unstructured.SetNestedField(object.Object, value, field...)).To(Succeed())
	})
}

// asks has Gatekeeper's webhook asked about some operations, until the end of the spec.
func asks(ctx context.Context, operations ...admissionregistrationv1.OperationType) {
	GinkgoHelper()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "gatekeeper-validating-webhook-configuration"}}
	set := func(ctx context.Context, operations []admissionregistrationv1.OperationType) {
		rig.Update(ctx, suite.API, config, func() { config.Webhooks[0].Rules[0].Operations = operations })
	}
	set(ctx, operations)
	DeferCleanup(func(ctx context.Context) {
		set(ctx, []admissionregistrationv1.OperationType{"CREATE", "UPDATE"})
	})
}

// settled waits until Gatekeeper's audit has looked at what there is, and both find the same.
func settled(ctx context.Context, args ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		out, errs, code := suite.CommandLine(ctx, append([]string{"migrate", "gatekeeper", "compare"}, args...)...)
		g.Expect(code).To(BeZero(), out+errs)
	}).WithPolling(time.Second).Should(Succeed())
}

// patches merges a change into an object by kubectl, as docs/migrate-from-gatekeeper.md has it.
func patches(ctx context.Context, kind, name, change string) {
	GinkgoHelper()
	_, _, err := suite.Kubectl(ctx, "", "patch", kind, name, "--type", "merge", "-p", change)
	Expect(err).NotTo(HaveOccurred())
}

// moves has the policy of a constraint of its name enforce, and then the constraint only record.
func moves(ctx context.Context, kind, name string) {
	GinkgoHelper()
	patches(ctx, "clusterregopolicy", name, `{"spec":{"admission":{"action":"Deny"}}}`)
	Eventually(ctx, func(g Gomega) {
		out, errs, code := suite.CommandLine(ctx, "migrate", "gatekeeper", "status")
		g.Expect(code).To(BeZero(), out+errs)
		g.Expect(out).To(ContainSubstring("both enforce"))
	}).WithPolling(time.Second).Should(Succeed())
	patches(ctx, strings.ToLower(kind), name, `{"spec":{"enforcementAction":"dryrun"}}`)
	Expect(migrates(ctx, 0, "status")).To(ContainSubstring("Evenkeel enforces"))
}

// movesBack has a constraint enforce, and then its policy only record.
func movesBack(ctx context.Context, kind, name string) {
	GinkgoHelper()
	patches(ctx, strings.ToLower(kind), name, `{"spec":{"enforcementAction":"deny"}}`)
	Eventually(ctx, func() string {
		out, _, _ := suite.Kubectl(ctx, "", "get", strings.ToLower(kind), name, "-o",
			"jsonpath={.metadata.generation}: {.status.byPod[*].observedGeneration}")
		return out
	}).Should(Satisfy(sameGeneration))
	patches(ctx, "clusterregopolicy", name, `{"spec":{"admission":{"action":"Audit"}}}`)
	Expect(migrates(ctx, 0, "status")).To(ContainSubstring("Gatekeeper enforces"))
}

// sameGeneration reports that a constraint's generation is the one that Gatekeeper's replica reports.
func sameGeneration(text string) bool {
	generation, observed, found := strings.Cut(text, ": ")
	return found && generation == observed
}

// attempts creates objects that violate until it is stopped, and keeps how each was answered.
type attempts struct {
	stop context.CancelFunc
	done sync.WaitGroup
	// admitted counts those that nobody refused; answers those that each refused.
	admitted int
	answers  map[string]int
}

func attempt(ctx context.Context, object client.Object) *attempts {
	ctx, stop := context.WithCancel(ctx)
	a := &attempts{stop: stop, answers: map[string]int{}}
	a.done.Go(func() {
		for ctx.Err() == nil {
			err := suite.API.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
			switch {
			case ctx.Err() != nil:
			case err == nil:
				a.admitted++
			case strings.Contains(err.Error(), "validation.gatekeeper.sh"):
				a.answers["gatekeeper"]++
			default:
				a.answers["evenkeel"]++
			}
		}
	})
	return a
}

// end stops, and gives what was counted.
func (a *attempts) end() *attempts {
	a.stop()
	a.done.Wait()
	return a
}

var _ = Describe("A cluster with Gatekeeper", func() {
	var namespace, kind string
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "moved")
		kind = "State" + strings.ReplaceAll(namespace, "-", "")
	})

	// enforced has Gatekeeper enforce a constraint of the spec's own kind.
	enforced := func(ctx context.Context, action string) *unstructured.Unstructured {
		GinkgoHelper()
		_, _, err := suite.Kubectl(ctx, template(kind), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred())
		object := constraint(kind, namespace, namespace, action)
		Eventually(ctx, func() error { return suite.API.Create(ctx, object) }).Should(Succeed())
		DeferCleanup(func(ctx context.Context) {
			for _, of := range []string{kind + ".constraints.gatekeeper.sh/" + namespace,
				"constrainttemplate/" + strings.ToLower(kind)} {
				_, _, err := suite.Kubectl(ctx, "", "delete", of)
				Expect(err).NotTo(HaveOccurred())
			}
		})
		suite.CleanUp(namespace)
		return object
	}

	It("is moved constraint by constraint, and back, and is never without enforcement", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMap(namespace, "old"))
		enforced(ctx, "deny")
		bad := fixture.ConfigMap(namespace, "new")
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, bad.DeepCopy(), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("validation.gatekeeper.sh")))

		name := kind + "/" + namespace
		Expect(migrates(ctx, 0, "apply", "--dry-run", "--yes")).To(ContainSubstring("created (dry run)"))
		Expect(migrates(ctx, 0, "status")).To(ContainSubstring("not migrated"))
		Expect(migrates(ctx, 0, "apply", "--yes")).To(ContainSubstring("clusterregopolicy.evenkeel.dev/" + namespace +
			" created"))
		Expect(migrates(ctx, 0, "apply", "--yes")).To(ContainSubstring("clusterregopolicy.evenkeel.dev/" + namespace +
			" unchanged"))
		Expect(suite.Policy(ctx, namespace).Spec.Admission.Action).To(Equal(v1alpha1.AdmissionAudit))

		settled(ctx, name)
		settled(ctx, name, "--admission", "--for=3s", "--every=1s")

		tries := attempt(ctx, bad)
		moves(ctx, kind, namespace)
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, bad.DeepCopy(), client.DryRunAll)
		}).Should(MatchError(Not(ContainSubstring("validation.gatekeeper.sh"))))
		Expect(migrates(ctx, 0, "apply", "--yes")).To(ContainSubstring("unchanged"))
		Expect(suite.Policy(ctx, namespace).Spec.Admission.Action).To(Equal(v1alpha1.AdmissionDeny))
		movesBack(ctx, kind, namespace)
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, bad.DeepCopy(), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("validation.gatekeeper.sh")))
		tries.end()
		Expect(tries.admitted).To(BeZero(), "%v", tries.answers)
		Expect(tries.answers).To(And(HaveKey("gatekeeper"), HaveKey("evenkeel")))
	})

	It("shows by object and message what a policy that was made otherwise finds otherwise",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMap(namespace, "old"))
			enforced(ctx, "")
			name := kind + "/" + namespace
			migrates(ctx, 0, "apply", "--yes")
			settled(ctx, name)
			p := suite.Policy(ctx, namespace)
			suite.UpdatePolicy(ctx, p, func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Parameters.Raw = []byte(`{"state": "better"}`)
			})
			var found struct {
				Constraints []struct {
					Verdict                      string
					OnlyGatekeeper, OnlyEvenkeel []struct{ Kind, Namespace, Name, Message string }
				}
			}
			Eventually(ctx, func(g Gomega) {
				out, errs, code := suite.CommandLine(ctx, "migrate", "gatekeeper", "compare", name, "-o", "json")
				g.Expect(code).To(Equal(1), out+errs)
				g.Expect(json.Unmarshal([]byte(out), &found)).To(Succeed(), out)
			}).WithPolling(time.Second).Should(Succeed())
			Expect(found.Constraints).To(HaveLen(1))
			differs := found.Constraints[0]
			Expect(differs.Verdict).To(Equal("Different"))
			Expect(differs.OnlyGatekeeper).To(HaveLen(1))
			Expect(differs.OnlyEvenkeel).To(HaveLen(1))
			Expect(differs.OnlyGatekeeper[0].Name).To(Equal("old"))
			Expect(differs.OnlyGatekeeper[0].Message).To(Equal("state must be good"))
			Expect(differs.OnlyEvenkeel[0].Message).To(Equal("state must be better"))
			Expect(migrates(ctx, 1, "apply", "--yes")).To(ContainSubstring("somebody else has changed"))
		})

	It("compares a list that Gatekeeper cuts by its number, warnings at admission, and what Config exempts",
		func(ctx context.Context) {
			exempt := suite.Namespace(ctx, "exempt")
			config := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "config.gatekeeper.sh/v1alpha1",
				"kind": "Config", "metadata": map[string]any{"name": "config", "namespace": "gatekeeper-system"},
				"spec": map[string]any{"match": []any{map[string]any{"processes": []any{"*"},
					"excludedNamespaces": []any{exempt}}}}}}
			suite.Create(ctx, config)
			DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, config)).To(Succeed()) })
			for i := range listed + 2 {
				suite.Create(ctx, fixture.ConfigMap(namespace, fmt.Sprintf("old-%d", i)))
			}
			suite.Create(ctx, fixture.ConfigMap(exempt, "old"))
			object := enforced(ctx, "warn")
			name := kind + "/" + namespace
			changes(ctx, object, []any{namespace, exempt}, "spec", "match", "namespaces")
			migrates(ctx, 0, "apply", "--yes")
			Expect(suite.Policy(ctx, namespace).Spec.Match.ExcludedNamespaces).To(ConsistOf(exempt))
			settled(ctx, name, "--admission")
			Expect(migrates(ctx, 0, "compare", name)).To(ContainSubstring("Gatekeeper lists %d of %d "+
				"violations", listed,
				listed+2))

			suite.UpdatePolicy(ctx, suite.Policy(ctx, namespace), func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Parameters.Raw = []byte(`{"state": "better"}`)
			})
			said := migrates(ctx, 1, "compare", name, "--admission", "--admission-limit=1")
			Expect(said).To(And(ContainSubstring("at admission"), ContainSubstring("state must be better"),
				ContainSubstring("more objects concern it than --admission-limit lets be sent")))
		})

	It("has status warn where Evenkeel is never asked: nobody would refuse a Node", func(ctx context.Context) {
		object := enforced(ctx, "deny")
		changes(ctx, object, []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{"ConfigMap", "Node"}}}, "spec",
			"match", "kinds")
		migrates(ctx, 0, "apply", "--yes")
		patches(ctx, "clusterregopolicy", namespace, `{"spec":{"admission":{"action":"Deny"}}}`)
		Expect(migrates(ctx, 1, "status")).To(ContainSubstring("doesn't ask Evenkeel's webhook of Node"))
	})

	It("is asked about the deletions that Gatekeeper's webhook is, though a kind isn't served",
		func(ctx context.Context) {
			object := enforced(ctx, "deny")
			asks(ctx, "CREATE", "UPDATE", "DELETE")
			changes(ctx, object, []any{map[string]any{"apiGroups": []any{"", "extensions", "example.org"},
				"kinds": []any{"ConfigMap", "Ingress", "Thing"}}}, "spec", "match", "kinds")
			old := fixture.ConfigMap(namespace, "old")
			changes(ctx, object, "dryrun", "spec", "enforcementAction")
			Eventually(ctx, func() error { return suite.API.Create(ctx, old.DeepCopy()) }).Should(Succeed())
			changes(ctx, object, "deny", "spec", "enforcementAction")
			refusal := func() string {
				if err := suite.API.Delete(ctx, old.DeepCopy(), client.DryRunAll); err != nil {
					return err.Error()
				}
				return ""
			}
			Eventually(ctx, refusal).Should(ContainSubstring("validation.gatekeeper.sh"))

			name := kind + "/" + namespace
			said := migrates(ctx, 0, "apply", "--yes")
			Expect(said).To(And(ContainSubstring("this cluster doesn't serve Ingress, Thing, "),
				ContainSubstring("webhook isn't asked in gatekeeper-system")))
			Expect(suite.Policy(ctx, namespace).Spec.Admission.Operations).To(ConsistOf(
				v1alpha1.OperationCreate, v1alpha1.OperationUpdate, v1alpha1.OperationDelete))
			settled(ctx, name)
			moves(ctx, kind, namespace)
			Eventually(ctx, refusal).Should(And(ContainSubstring("state must be good"),
				Not(ContainSubstring("validation.gatekeeper.sh"))))
			movesBack(ctx, kind, namespace)
			asks(ctx, "CREATE", "UPDATE")
			Expect(migrates(ctx, 1, "status")).To(ContainSubstring("what its webhook is asked about"))
		})

	It("keeps in a policy that enforces a kind whose definition is gone for the moment", func(ctx context.Context) {
		const crd = "things.gone.example.com"
		_, _, err := suite.Kubectl(ctx, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+crd+`}
spec:
  group: gone.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) {
			_, _, err := suite.Kubectl(ctx, "", "delete", "--ignore-not-found", "crd", crd)
			Expect(err).NotTo(HaveOccurred())
		})
		object := enforced(ctx, "deny")
		changes(ctx, object, []any{map[string]any{"apiGroups": []any{"", "gone.example.com"},
			"kinds": []any{"ConfigMap", "Thing"}}}, "spec", "match", "kinds")
		named := func() string {
			return fmt.Sprint(suite.Policy(ctx, namespace).Spec.Match.Kinds)
		}
		// applied runs apply until it says something, which the cluster's discovery may take a moment for.
		applied := func(says string) {
			GinkgoHelper()
			Eventually(ctx, func() string {
				out, errs, _ := suite.CommandLine(ctx, "migrate", "gatekeeper", "apply", "--yes")
				return out + errs
			}).WithPolling(time.Second).Should(ContainSubstring(says))
		}
		Eventually(ctx, func() string {
			migrates(ctx, 0, "apply", "--yes")
			return named()
		}).WithPolling(time.Second).Should(ContainSubstring("Thing"))
		moves(ctx, kind, namespace)

		_, _, err = suite.Kubectl(ctx, "", "delete", "crd", crd)
		Expect(err).NotTo(HaveOccurred())
		applied("this cluster doesn't serve Thing.gone.example.com just now, or doesn't say so; the policy enforces")
		Expect(named()).To(ContainSubstring("Thing"))
		changes(ctx, object, "better", "spec", "parameters", "state")
		applied("clusterregopolicy.evenkeel.dev/" + namespace + " configured")
		Expect(named()).To(ContainSubstring("Thing"))
		Expect(suite.Policy(ctx, namespace).Spec.Admission.Action).To(Equal(v1alpha1.AdmissionDeny))

		patches(ctx, "clusterregopolicy", namespace, `{"spec":{"admission":{"action":"Audit"}}}`)
		applied("Thing.gone.example.com, which no new policy may name then: left out")
		Expect(named()).NotTo(ContainSubstring("Thing"))
	})

	It("has evictions judged where a constraint names them", func(ctx context.Context) {
		object := enforced(ctx, "deny")
		rig.Update(ctx, suite.API, object, func() {
			unstructured.RemoveNestedField(object.Object, "spec", "match", "labelSelector")
			Expect(unstructured.SetNestedSlice(object.Object, []any{map[string]any{"apiGroups": []any{"policy"},
				"kinds": []any{"Eviction"}}}, "spec", "match", "kinds")).To(Succeed())
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
		suite.Create(ctx, pod)
		refusal := func() string {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name},
				DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}}
			if err := suite.API.SubResource("eviction").Create(ctx, pod.DeepCopy(), eviction,
				client.DryRunAll); err != nil {
				return err.Error()
			}
			return ""
		}
		Eventually(ctx, refusal).Should(ContainSubstring("validation.gatekeeper.sh"))
		name := kind + "/" + namespace
		migrates(ctx, 0, "apply", "--yes")
		settled(ctx, name)
		moves(ctx, kind, namespace)
		Eventually(ctx, refusal).Should(And(ContainSubstring("state must be good"),
			Not(ContainSubstring("validation.gatekeeper.sh"))))
		movesBack(ctx, kind, namespace)
	})
})
