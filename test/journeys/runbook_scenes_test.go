// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// stage collects the situations that runbooks are about.
type stage struct {
	found map[string]names
	// awaited are the plans that are on their way, in turns: all go on meanwhile.
	awaited []func(context.Context)
}

// scenes brings about what the runbooks are about. What opens breakers comes last: three that are open hold every plan.
func scenes(ctx context.Context, by *person) map[string]names {
	GinkgoHelper()
	s := &stage{found: map[string]names{}}
	DeferCleanup(manager.Proxy.Reset)
	s.installation(ctx)
	s.policies(ctx, by)
	s.waiting(ctx)
	s.sources(ctx, by)
	s.settle(ctx)
	s.harm(ctx)
	s.settle(ctx)
	s.demoted(ctx)
	narrowed(ctx)
	contested()
	unguarded(ctx)
	return s.found
}

func (s *stage) settle(ctx context.Context) {
	GinkgoHelper()
	for _, await := range s.awaited {
		await(ctx)
	}
	s.awaited = nil
}

// plan applies a policy in a namespace of its own, and gives its plan and itself once the plan is in the phase.
func (s *stage) plan(ctx context.Context, situation string, phase v1alpha1.RemediationPhase,
	policy *v1alpha1.ClusterRegoPolicy) {
	GinkgoHelper()
	suite.CreatePolicy(ctx, policy)
	s.awaited = append(s.awaited, func(ctx context.Context) {
		GinkgoHelper()
		By(situation)
		s.found[situation] = names{"NAME": suite.AwaitPhase(ctx, policy.Name, phase).Name, "POLICY": policy.Name,
			"REASON": "INC-42"}
	})
}

// over is a policy over two ConfigMaps in a namespace of its own.
func over(ctx context.Context, about, rego string, mode v1alpha1.RemediationMode,
	strategy ...func(*fixture.Rollout)) *v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	namespace := suite.Namespace(ctx, about)
	suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
	return fixture.Policy(namespace, namespace, rego, fixture.Remediated(mode, strategy...))
}

// installation is that of config/, whose Pods KWOK runs in name, beside the suite's manager.
func (s *stage) installation(ctx context.Context) {
	GinkgoHelper()
	for _, kind := range []string{"certificate", "issuer"} {
		suite.Create(ctx, custom(kind, "cert-manager.io"))
		DeferCleanup(func(ctx context.Context) {
			Expect(suite.API.Delete(ctx, custom(kind, "cert-manager.io"))).To(Succeed())
		})
	}
	Expect(suite.Install(ctx, "manager", "certmanager")).To(Succeed())
	named := metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: "evenkeel"}
	holder, lasts, renewed := "evenkeel-0", int32(15), metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: named.Namespace, Name: "evenkeel-leader"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts, RenewTime: &renewed}}
	suite.Create(ctx, lease)
	DeferCleanup(func(ctx context.Context) {
		for _, o := range []client.Object{lease, &appsv1.Deployment{ObjectMeta: named}} {
			Expect(suite.API.Delete(ctx, o)).To(Succeed())
		}
	})
	manager.Proxy.Nth(1, func(r faultproxy.Request) bool { return r.Method == http.MethodGet && r.Name != "" },
		faultproxy.Fault{Answer: &faultproxy.Answer{Status: http.StatusUnauthorized}})
}

// policies are those that are at fault themselves.
func (s *stage) policies(ctx context.Context, by *person) {
	GinkgoHelper()
	endless := over(ctx, "endless", fixture.Loop, v1alpha1.RemediationDisabled)
	fixture.Enforced(v1alpha1.AdmissionDeny)(endless)
	suite.CreatePolicy(ctx, endless)
	for i := range 3 {
		by.types(ctx, fmt.Sprintf("kubectl create cm dry-%d -n %s --dry-run=client -o yaml | "+
			"kubectl label -f - --local fixture=target -o yaml | kubectl create -f - --dry-run=server", i,
			endless.Name))
	}
	orphan := fixture.Policy("orphan", "orphan", "", fixture.FromTemplate("nowhere", `{}`),
		fixture.Enforced(v1alpha1.AdmissionDeny))
	suite.CreatePolicy(ctx, orphan)
	unserved := fixture.Policy("unserved", "unserved", fixture.FixState, fixture.Kinds("nowhere.example.com", "Widget"))
	widgets := custom("widget", "nowhere.example.com")
	suite.Create(ctx, widgets)
	Eventually(ctx, func() error {
		return suite.API.Create(ctx, unserved.DeepCopy(), client.DryRunAll)
	}).Should(Succeed())
	suite.CreatePolicy(ctx, unserved)
	Expect(suite.API.Delete(ctx, widgets)).To(Succeed())
	blind := fixture.Policy("blind", "blind", fixture.FixState, fixture.Enforced(v1alpha1.AdmissionDeny),
		func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.References = []v1alpha1.ReferencedKind{{APIGroup: "nowhere.example.com", Kind: "Gadget"}}
		})
	suite.CreatePolicy(ctx, blind)
	softened := over(ctx, "softened", fixture.FixState, v1alpha1.RemediationDisabled)
	fixture.Enforced(v1alpha1.AdmissionDeny)(softened)
	suite.CreatePolicy(ctx, softened)
	by.succeeds(ctx, "evenkeel policy override "+softened.Name+" --enforcement Warn --for 2h --reason INC-42")
	for situation, p := range map[string]*v1alpha1.ClusterRegoPolicy{"endless": endless, "no template": orphan,
		"unserved": unserved, "unknown reference": blind, "overridden": softened} {
		s.found[situation] = names{"NAME": p.Name}
	}
	by.writes("broken/policies/broken/broken.rego", "# METADATA\n# title: x\npackage broken\n\ndeny contains := 1\n")
	s.found["broken directory"] = names{"DIRECTORY": by.dir + "/broken/policies"}
}

// waiting are plans that wait for something.
func (s *stage) waiting(ctx context.Context) {
	GinkgoHelper()
	const automatic, held = v1alpha1.RemediationAutomatic, v1alpha1.PhaseHeld
	s.plan(ctx, "unmeasured", held, over(ctx, "unmeasured", fixture.FixState, automatic,
		fixture.Metric("errors", "errors", "sample < 1.0")))
	s.plan(ctx, "unanswered", v1alpha1.PhaseAwaitingApproval, over(ctx, "unanswered", fixture.FixState,
		v1alpha1.RemediationManual))
	s.plan(ctx, "unanswered too", v1alpha1.PhaseAwaitingApproval, over(ctx, "unanswered", fixture.FixState,
		v1alpha1.RemediationManual))
	s.plan(ctx, "outside its window", held, over(ctx, "window", fixture.FixState, automatic,
		func(r *fixture.Rollout) {
			r.Windows = []v1alpha1.MaintenanceWindow{{Kind: v1alpha1.WindowDeny, Schedule: "0 0 * * *",
				Duration: metav1.Duration{Duration: 25 * time.Hour}}}
		}))
	objective := over(ctx, "objective", fixture.FixState, automatic, func(r *fixture.Rollout) {
		r.Breaker.SLO = &v1alpha1.SLOStrategy{Query: "errors", Objective: "99.9"}
	})
	s.plan(ctx, "no objective", held, objective)
	s.plan(ctx, "failed", v1alpha1.PhaseAborted, over(ctx, "failed",
		fixture.Fix(`[{"op": "replace", "path": "/data/state", "value": "worse"}]`), automatic))
	managed := over(ctx, "managed", fixture.FixState, automatic)
	suite.Create(ctx, fixture.ConfigMap(managed.Name, "argo", fixture.Annotated("argocd.argoproj.io/tracking-id",
		"shop:/ConfigMap:"+managed.Name+"/argo")))
	s.plan(ctx, "managed", v1alpha1.PhaseSucceeded, managed)
	unlucky := over(ctx, "unlucky", fixture.FixState, automatic, func(r *fixture.Rollout) {
		r.RetryLimit = ptr.To[int32](20) // it must still be trying when its page is followed
	})
	manager.Proxy.Every(func(r faultproxy.Request) bool {
		return r.IsDryRun() && r.Namespace == unlucky.Name
	}, faultproxy.Fault{Answer: &faultproxy.Answer{Status: http.StatusServiceUnavailable}})
	s.plan(ctx, "retrying", v1alpha1.PhaseApplying, unlucky)
	s.services(ctx)
	s.held(ctx)
	s.awaited = append(s.awaited, func(context.Context) {
		s.found["no objective"]["NAME"] = v1alpha1.PolicyBreakerPrefix + objective.Name
		s.found["managed"] = names{"POLICY": managed.Name, "KIND": "configmap", "NAME": "argo",
			"NAMESPACE": managed.Name}
	})
}

// services is a policy over what the manager may read and not write.
func (s *stage) services(ctx context.Context) {
	GinkgoHelper()
	namespace := suite.Namespace(ctx, "services")
	suite.Create(ctx, serviceIn(namespace))
	s.plan(ctx, "no permission", v1alpha1.PhaseHeld, fixture.Policy(namespace, namespace, ownedServices,
		fixture.Kinds("", "Service"), fixture.Unselected, fixture.Remediated(v1alpha1.RemediationAutomatic)))
}

// held are plans and breakers that a person holds.
func (s *stage) held(ctx context.Context) {
	GinkgoHelper()
	for _, situation := range []string{"forced", "forced too"} {
		p := over(ctx, "forced", fixture.FixState, v1alpha1.RemediationAutomatic)
		name := v1alpha1.PolicyBreakerPrefix + p.Name
		suite.Create(ctx, &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.RemediationBreakerSpec{Mode: v1alpha1.BreakerForcedOpen,
				Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: p.Name}}})
		s.plan(ctx, situation, v1alpha1.PhaseHeld, p)
		s.awaited = append(s.awaited, func(context.Context) { s.found[situation]["NAME"] = name })
	}
	s.awaited = append(s.awaited, func(ctx context.Context) {
		GinkgoHelper()
		paused := suite.Plans(ctx, s.found["forced"]["POLICY"])[0]
		Expect(suite.API.Patch(ctx, &paused, client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"desiredState":"Paused","reason":"INC-42"}}`)))).To(Succeed())
		s.found["paused"] = names{"NAME": paused.Name, "POLICY": s.found["forced"]["POLICY"]}
	})
}
