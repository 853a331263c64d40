// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// ownedServices wants a label of Services, which the manager may read and not write.
const ownedServices = `package fixture.services

import rego.v1

deny contains {"msg": "it has no owner", "path": "/spec/sessionAffinity"} if {
	input.object.spec.sessionAffinity != "ClientIP"
}

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/spec/sessionAffinity", "value": "ClientIP"}]} if {
	input.object.spec.sessionAffinity != "ClientIP"
}
`

func serviceIn(namespace string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}
}

// custom is a custom kind that may hold anything.
func custom(kind, group string) *apiextensionsv1.CustomResourceDefinition {
	yes := true
	title := string(kind[0]-'a'+'A') + kind[1:]
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: kind + "s." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: kind + "s", Singular: kind, Kind: title},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &yes}}}}}}
}

// harm are plans whose fix keeps Pods from being ready.
func (s *stage) harm(ctx context.Context) {
	GinkgoHelper()
	policies := map[string]*v1alpha1.ClusterRegoPolicy{}
	for _, situation := range []string{"rolled back", "failed wave", "failed wave too", "stuck", "incomplete"} {
		namespace := suite.Namespace(ctx, "harm")
		suite.Create(ctx, fixture.Deployment(namespace, "web"))
		policies[situation] = fixture.Policy(namespace, namespace,
			fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"), fixture.Kinds("", "Pod"),
			fixture.Unselected, fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(10*time.Second),
				func(r *fixture.Rollout) {
					if situation == "failed wave" || situation == "failed wave too" {
						r.OnFailure = v1alpha1.FailureHold
					}
				}))
	}
	for _, p := range policies {
		Eventually(ctx, func(g Gomega) {
			web := fixture.Deployment(p.Name, "web")
			g.Expect(suite.Get(ctx, web)).To(Succeed())
			g.Expect(web.Status.AvailableReplicas).To(BeEquivalentTo(1))
		}).Should(Succeed())
	}
	manager.Proxy.Every(func(r faultproxy.Request) bool {
		return r.Namespace == policies["stuck"].Name && r.Query.Get("fieldManager") == v1alpha1.RollbackFieldManager
	}, faultproxy.Fault{Answer: &faultproxy.Answer{Status: http.StatusForbidden}})
	for situation, phase := range map[string]v1alpha1.RemediationPhase{"rolled back": v1alpha1.PhaseRolledBack,
		"failed wave": v1alpha1.PhaseHeld, "failed wave too": v1alpha1.PhaseHeld, "stuck": v1alpha1.PhaseRollingBack,
		"incomplete": v1alpha1.PhaseRollbackIncomplete} {
		s.plan(ctx, situation, phase, policies[situation])
	}
	theirs(ctx, policies["incomplete"].Name)
	s.awaited = append(s.awaited, func(context.Context) {
		s.found["open breaker"] = names{"NAME": v1alpha1.PolicyBreakerPrefix + policies["rolled back"].Name}
	})
}

// theirs changes what a fix has just written, as somebody else does.
func theirs(ctx context.Context, namespace string) {
	GinkgoHelper()
	web := fixture.Deployment(namespace, "web")
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, web)).To(Succeed())
		g.Expect(web.Generation).To(BeNumerically(">", 1))
	}).Should(Succeed())
	Expect(suite.API.Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"template":{"metadata":`+
		`{"labels":{"kwok.evenkeel.dev/ready":"later"}},"spec":{"containers":[{"name":"web",`+
		`"image":"example.com/web:unready"}]}}}}`)))).To(Succeed())
}

// sources are one that is well, and one whose newest commit isn't.
func (s *stage) sources(ctx context.Context, by *person) {
	GinkgoHelper()
	well, failing := suite.Namespace(ctx, "source"), suite.Namespace(ctx, "source")
	suite.NewSource(ctx, well, rig.PolicyFiles(well, well, "bad"))
	suite.NewSource(ctx, failing,
		map[string]string{"policies/broken/broken.rego": "package broken\n\ndeny contains :=\n"})
	s.found["source"] = names{"NAME": well, "NAMESPACE": rig.SystemNamespace, "POLICY": well, "REASON": "INC-42"}
	s.found["failing source"] = names{"NAME": failing, "NAMESPACE": rig.SystemNamespace}
	by.repeats(ctx, "kubectl get rego", well)
}

// demoted is a policy whose breaker has opened three times.
func (s *stage) demoted(ctx context.Context) {
	GinkgoHelper()
	namespaces := []string{suite.Namespace(ctx, "demoted"), suite.Namespace(ctx, "demoted")}
	policy := fixture.Policy(namespaces[0], namespaces[0], fixture.FixState, fixture.InNamespaces(namespaces[1]),
		fixture.Remediated(v1alpha1.RemediationAutomatic, func(r *fixture.Rollout) {
			r.Breaker.Storm.NewViolations, r.Breaker.Cooldown = 2, metav1.Duration{Duration: time.Second}
		}))
	suite.CreatePolicy(ctx, policy)
	cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
	await := func(accept func(v1alpha1.RemediationBreakerStatus) bool) {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) bool {
			g.Expect(suite.Get(ctx, cb)).To(Succeed())
			return accept(cb.Status)
		}).Should(BeTrue())
	}
	await(func(st v1alpha1.RemediationBreakerStatus) bool { return st.Storm != nil })
	for opening := range int32(3) {
		for _, in := range namespaces {
			suite.Create(ctx, fixture.ConfigMap(in, fmt.Sprintf("storm-%d", opening)))
		}
		await(func(st v1alpha1.RemediationBreakerStatus) bool {
			return st.Openings == opening+1 && (opening == 2 || st.State == v1alpha1.BreakerHalfOpen)
		})
	}
	await(func(st v1alpha1.RemediationBreakerStatus) bool { return st.Demoted != nil })
	s.found["demoted"] = names{"POLICY": policy.Name}
}
